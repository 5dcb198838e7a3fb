// Matmul of every level this machine has, every weight format: against double, against the scalar
// kernel to the bit (fp32), and against itself to the bit for any number of rows, gather, and range
// of panels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "kernels/matmul_data.h"
#include "kernels/matmul_inputs.h"
#include "kernels/matmul_levels.h"

namespace trine::kernels {
namespace {

constexpr float kCanary = 12345.5f;

template <typename X>
auto matmul_of(Isa isa) {
  if constexpr (sizeof(X) == 2)
    return table_under_test(isa).matmul_bf16;
  else
    return table_under_test(isa).matmul_f32;
}

struct Output {
  std::vector<float> values;
  int64_t stride;
  float at(int64_t r, int64_t o) const { return values[static_cast<size_t>(r * stride + o)]; }
};

template <typename X>
Output run(Isa isa, const PackedView& w, const Inputs<X>& in, const std::vector<int32_t>& rows,
           int64_t panel_begin, int64_t panel_end) {
  Output y{{}, w.n + 3};
  y.values.assign(rows.size() * static_cast<size_t>(y.stride), kCanary);
  matmul_of<X>(isa)({in.data(), in.stride, rows.data(), static_cast<int64_t>(rows.size()), w,
                     panel_begin, panel_end, y.values.data(), y.stride});
  return y;
}

std::vector<int32_t> iota_rows(int64_t count) {
  std::vector<int32_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

class Matmul : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    seed_ = std::random_device{}();
    random_.seed(seed_);
    RecordProperty("seed", static_cast<int>(seed_));
  }
  std::string where(const Storage& s, int64_t n, int64_t k) const {
    return std::string(isa_name(GetParam())) + " " + s.name + " n " + std::to_string(n) + " k " +
           std::to_string(k) + " seed " + std::to_string(seed_);
  }
  int64_t pick(std::initializer_list<int64_t> of) { return *(of.begin() + random_() % of.size()); }

  template <typename X>
  void compare_with_oracle() {
    for (const Storage& s : kStorages)
      for (int64_t n : {1, 15, 16, 17, 31, 33, 70}) {
        const int64_t k =
            pick({1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 257, 600, 1100, 2100});
        const int64_t m = pick({1, 2, 3, 5, 13, 14, 15, 29});
        SCOPED_TRACE(where(s, n, k) + " m " + std::to_string(m));
        const RandomWeights w = random_weights(s, n, k, random_);
        const Inputs<X> in = random_inputs<X>(m, k, random_);
        const Output y = run(GetParam(), w.view, in, iota_rows(m), 0, panel_count(n));
        const Output reference = run(Isa::kScalar, w.view, in, iota_rows(m), 0, panel_count(n));
        for (int64_t r = 0; r < m; ++r) {
          for (int64_t o = 0; o < n; ++o) {
            const Expected e = oracle(w.view, in.data() + r * in.stride, o);
            ASSERT_NEAR(static_cast<double>(y.at(r, o)), e.value,
                        static_cast<double>(k + 4) * 0x1p-24 * e.magnitude);
            if constexpr (sizeof(X) == 4) {
              ASSERT_PRED2(same_bits, y.at(r, o), reference.at(r, o))
                  << "row " << r << " output " << o;
            }
          }
          for (int64_t o = n; o < y.stride; ++o) ASSERT_EQ(y.at(r, o), kCanary) << "beyond n";
        }
      }
  }

  /// Each row alone must give the bits that it has in any batch, order, and range of panels.
  template <typename X>
  void compare_with_itself() {
    for (const Storage& s : kStorages) {
      const int64_t n = pick({17, 40, 64, 100});
      const int64_t k = pick({31, 96, 300, 513, 1100});
      SCOPED_TRACE(where(s, n, k));
      const RandomWeights w = random_weights(s, n, k, random_);
      const Inputs<X> in = random_inputs<X>(90, k, random_);
      std::vector<Output> alone;
      for (int32_t r = 0; r < in.rows; ++r)
        alone.push_back(run(GetParam(), w.view, in, {r}, 0, panel_count(n)));
      for (int trial = 0; trial < 12 / slowness(); ++trial) {
        std::vector<int32_t> rows = iota_rows(in.rows);
        std::shuffle(rows.begin(), rows.end(), random_);
        rows.resize(static_cast<size_t>(
            trial == 0 ? in.rows : pick({1, 2, 3, 4, 7, 8, 13, 16, 17, 28, 70, 85})));
        const int64_t begin = pick({0, 0, 1});
        const int64_t end = std::max<int64_t>(begin, panel_count(n) - pick({0, 0, 1}));
        const Output y = run(GetParam(), w.view, in, rows, begin, end);
        for (size_t r = 0; r < rows.size(); ++r)
          for (int64_t o = 0; o < n; ++o) {
            const bool inside = o >= begin * kPanelOutputs && o < end * kPanelOutputs;
            const float expected = inside ? alone[static_cast<size_t>(rows[r])].at(0, o) : kCanary;
            ASSERT_PRED2(same_bits, y.at(static_cast<int64_t>(r), o), expected)
                << rows.size() << " rows, row " << rows[r] << " output " << o;
          }
      }
    }
  }

  uint32_t seed_ = 0;
  std::mt19937 random_;
};

TEST_P(Matmul, Fp32AgreesWithDoubleAndWithScalarToTheBit) { compare_with_oracle<float>(); }
TEST_P(Matmul, Bf16AgreesWithDouble) { compare_with_oracle<uint16_t>(); }
TEST_P(Matmul, Fp32RowsHaveTheSameBitsInAnyBatch) { compare_with_itself<float>(); }
TEST_P(Matmul, Bf16RowsHaveTheSameBitsInAnyBatch) { compare_with_itself<uint16_t>(); }

/// Groups longer than a block along k keep chains and totals apart; also groups that blocks do not
/// divide.
TEST_P(Matmul, LongAndOddGroupsAgreeWithDoubleForAnyNumberOfRows) {
  for (int64_t group : {96, 160, 288, 544, 1024}) {
    const Storage s{"int4", WeightFormat::kInt4, ScaleKind::kF32, group};
    const int64_t n = 49;
    const int64_t k = 2100;
    const RandomWeights w = random_weights(s, n, k, random_);
    const Inputs<uint16_t> in = random_inputs<uint16_t>(40, k, random_);
    const Output all = run(GetParam(), w.view, in, iota_rows(in.rows), 0, panel_count(n));
    for (int64_t m : {1, 4, 5, 14, 15, 17, 28, 29}) {
      SCOPED_TRACE(where(s, n, k) + " group " + std::to_string(group) + " m " + std::to_string(m));
      const Output y = run(GetParam(), w.view, in, iota_rows(m), 0, panel_count(n));
      for (int64_t r = 0; r < m; ++r)
        for (int64_t o = 0; o < n; ++o) ASSERT_PRED2(same_bits, y.at(r, o), all.at(r, o));
    }
    for (int64_t o = 0; o < n; ++o) {
      const Expected e = oracle(w.view, in.data(), o);
      ASSERT_NEAR(static_cast<double>(all.at(0, o)), e.value,
                  static_cast<double>(k + 4) * 0x1p-24 * e.magnitude);
    }
  }
}

TEST_P(Matmul, NoRowsAndNoPanelsWriteNothing) {
  const RandomWeights w = random_weights(kStorages[2], 40, 64, random_);
  const Inputs<float> in = random_inputs<float>(2, 64, random_);
  EXPECT_EQ(run(GetParam(), w.view, in, {}, 0, 3).values.size(), 0u);
  const Output y = run(GetParam(), w.view, in, {0, 1}, 2, 2);
  for (float value : y.values) EXPECT_EQ(value, kCanary);
}

/// Every code through a row of one-hot inputs: decoding is exact, special values included.
template <typename X>
void check_every_code(Isa isa, const Storage& s) {
  const int64_t codes =
      s.format == WeightFormat::kInt4 || s.format == WeightFormat::kE2m1 ? 16 : 256;
  const int64_t n = codes;
  const int64_t k = 40;
  const RandomWeights w = [&] {
    RandomWeights packed = pack_codes(
        s, n, k, [&](int64_t o, int64_t i) { return static_cast<uint32_t>((o + i) % codes); });
    const auto count = static_cast<size_t>(scale_count(n, packed.view.k_padded, packed.view.group));
    packed.scales_f32.assign(count, 1.0f);
    packed.scales_e8m0.assign(count, 127);
    packed.view.scales = s.scale_kind == ScaleKind::kF32
                             ? static_cast<void*>(packed.scales_f32.data())
                             : static_cast<void*>(packed.scales_e8m0.data());
    return packed;
  }();
  for (int64_t hot = 0; hot < k; ++hot)
    for (int64_t m : {1, 2}) {
      Inputs<X> in{{}, m, k, pad_k(k)};
      in.values.assign(static_cast<size_t>(m * in.stride + 1), X{});
      for (int64_t r = 0; r < m; ++r) store(1.0f, in.values.data() + 1 + r * in.stride + hot);
      const Output y = run(isa, w.view, in, iota_rows(m), 0, panel_count(n));
      for (int64_t o = 0; o < n; ++o) {
        // A NaN or infinity elsewhere in the output's row makes 0 * it NaN in any order.
        bool finite = true;
        for (int64_t i = 0; i < k; ++i) finite = finite && std::isfinite(unpack_code(w.view, o, i));
        const float expected = unpack_code(w.view, o, hot);
        if (finite)
          ASSERT_EQ(y.at(m - 1, o), expected) << s.name << " output " << o << " k " << hot;
        else
          ASSERT_TRUE(std::isnan(y.at(m - 1, o)) || !std::isfinite(expected))
              << s.name << " output " << o;
      }
    }
}

TEST_P(Matmul, EveryCodeIsDecodedExactly) {
  for (const Storage& s : kStorages)
    if (per_word(s.format) >= 4) {
      check_every_code<float>(GetParam(), s);
      check_every_code<uint16_t>(GetParam(), s);
    }
}

TEST_P(Matmul, NotANumberInWeightsIsNotLost) {
  for (WeightFormat format : {WeightFormat::kE4m3, WeightFormat::kE5m2}) {
    const Storage s{"nan", format, ScaleKind::kNone, 0};
    const RandomWeights w = pack_codes(
        s, 20, 64, [](int64_t o, int64_t k) { return o == 7 && k == 33 ? 0xFFu : 0x30u; });
    for (int64_t m : {1, 3}) {
      const Inputs<uint16_t> narrow = random_inputs<uint16_t>(m, 64, random_);
      const Inputs<float> wide = random_inputs<float>(m, 64, random_);
      const Output a = run(GetParam(), w.view, narrow, iota_rows(m), 0, 2);
      const Output b = run(GetParam(), w.view, wide, iota_rows(m), 0, 2);
      for (int64_t o = 0; o < 20; ++o) {
        EXPECT_EQ(std::isnan(a.at(m - 1, o)), o == 7);
        EXPECT_EQ(std::isnan(b.at(m - 1, o)), o == 7);
      }
    }
  }
}

/// Scales at both ends of E8M0: exact in fp32; in bf16 only weights below 2^-126 may count as zero.
TEST_P(Matmul, ExtremeE8m0ScalesAreExact) {
  const Storage s{"mxfp4", WeightFormat::kE2m1, ScaleKind::kE8m0, 32};
  const int64_t n = 32;
  const int64_t k = 32 * 8;
  const uint8_t extremes[8] = {0, 1, 2, 3, 4, 127, 250, 251};
  for (int which = 0; which < 8; ++which) {
    RandomWeights w = pack_codes(
        s, n, k, [](int64_t o, int64_t i) { return static_cast<uint32_t>((o + i) % 16); });
    w.scales_e8m0.assign(static_cast<size_t>(scale_count(n, k, 32)), extremes[which]);
    w.view.scales = w.scales_e8m0.data();
    // 2^62 brings the least scales into range, 2^-60 the greatest; one k at a time keeps sums
    // exact.
    const float x = extremes[which] < 127 ? 0x1p62f : 0x1p-60f;
    for (int64_t hot : {0, 5, 77, 255})
      for (int64_t m : {1, 2}) {
        Inputs<float> wide{std::vector<float>(static_cast<size_t>(m * k + 1)), m, k, k};
        Inputs<uint16_t> narrow{std::vector<uint16_t>(static_cast<size_t>(m * k + 1)), m, k, k};
        for (int64_t r = 0; r < m; ++r) {
          store(x, wide.values.data() + 1 + r * k + hot);
          store(x, narrow.values.data() + 1 + r * k + hot);
        }
        const Output a = run(GetParam(), w.view, wide, iota_rows(m), 0, 2);
        const Output b = run(GetParam(), w.view, narrow, iota_rows(m), 0, 2);
        for (int64_t o = 0; o < n; ++o) {
          const float weight = unpack_weight(w.view, o, hot);
          ASSERT_EQ(a.at(m - 1, o), weight * x)
              << "scale " << int{extremes[which]} << " output " << o;
          if (std::fabs(weight) >= 0x1p-126f || weight == 0.0f)
            ASSERT_EQ(b.at(m - 1, o), weight * x)
                << "scale " << int{extremes[which]} << " output " << o;
          else
            ASSERT_LE(std::fabs(b.at(m - 1, o) - weight * x), 0x1p-126f * x);
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(AllLevels, Matmul, testing::ValuesIn(levels_under_test()),
                         [](const auto& level) { return std::string(isa_name(level.param)); });

}  // namespace
}  // namespace trine::kernels
