// MXFP4 as operands of the int8 matmul: values within half a step of an int8 group, exact where
// scales lie close, and every level equal to the scalar kernel to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "kernels/pack.h"
#include "kernels/table.h"
#include "platform/cpu.h"

namespace trine::kernels {
namespace {

struct Aligned {
  explicit Aligned(int64_t bytes) : storage(static_cast<size_t>(bytes + 64)) {}
  uint8_t* data() {
    const auto at = reinterpret_cast<uintptr_t>(storage.data());
    return storage.data() + (64 - at % 64) % 64;
  }
  std::vector<uint8_t> storage;
};

struct Fp4 {
  Aligned codes{0};
  std::vector<uint8_t> exponents;
  PackedView view{};
};

/// Random codes, exponents from [least, least + range], some blocks of zeros with any exponent.
Fp4 random_fp4(std::mt19937& random, int64_t n, int64_t k, int32_t least, int32_t range) {
  Fp4 w;
  const int64_t blocks = pad_k(k) / kFp4Group;
  const int64_t row_bytes = (k + 1) / 2;
  w.codes = Aligned(packed_bytes(WeightFormat::kE2m1, n, k));
  for (int64_t panel = 0; panel < panel_count(n); ++panel) {
    const int64_t outputs = std::min(kPanelOutputs, n - panel * kPanelOutputs);
    std::vector<uint8_t> rows(static_cast<size_t>(outputs * row_bytes));
    for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t b = 0; b < blocks; ++b) {
        if (random() % 5 != 0) continue;
        for (int64_t i = b * 16; i < std::min(row_bytes, b * 16 + 16); ++i)
          rows[static_cast<size_t>(o * row_bytes + i)] = 0x80;  // zero and minus zero
      }
    }
    pack_panel({WeightFormat::kE2m1, rows.data(), row_bytes, outputs, k, false,
                w.codes.data() + panel * panel_bytes(WeightFormat::kE2m1, pad_k(k))});
    for (int64_t i = 0; i < blocks * kPanelOutputs; ++i) {
      const int32_t offset = static_cast<int32_t>(random() % static_cast<uint32_t>(range + 1));
      w.exponents.push_back(static_cast<uint8_t>(least + offset));
    }
  }
  w.view = {WeightFormat::kE2m1, ScaleKind::kE8m0,  n, k, pad_k(k), kFp4Group,
            w.codes.data(),      w.exponents.data()};
  return w;
}

struct Int8 {
  Aligned codes{0};
  std::vector<float> scales;
  std::vector<int32_t> offsets;
  PackedView view{};
};

Int8 convert(Isa isa, const PackedView& w, int64_t begin, int64_t end, int64_t group) {
  Int8 out;
  const int64_t panels = end - begin;
  const int64_t scales = scale_count(panels * kPanelOutputs, w.k_padded, group);
  out.codes = Aligned(panels * panel_bytes(WeightFormat::kInt8, w.k_padded));
  out.scales.resize(static_cast<size_t>(scales));
  out.offsets.resize(static_cast<size_t>(scales));
  kernel_table(isa).int8_from_fp4(
      {w, begin, end, group, out.codes.data(), out.scales.data(), out.offsets.data()});
  out.view = {WeightFormat::kInt8, ScaleKind::kF32, panels * kPanelOutputs, w.k,
              w.k_padded,          group,           out.codes.data(),       out.scales.data()};
  return out;
}

class Int8FromFp4 : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    seed_ = std::random_device{}();
    random_.seed(seed_);
  }
  uint32_t seed_ = 0;
  std::mt19937 random_;
};

TEST_P(Int8FromFp4, ExactWhereScalesLieCloseAndWithinHalfAStepElsewhere) {
  for (const int32_t range : {0, 3, 12}) {
    for (const int64_t group : {32, 96, 128, 1024}) {
      const int64_t k = 1 + static_cast<int64_t>(random_() % 700);
      SCOPED_TRACE("seed " + std::to_string(seed_) + " k " + std::to_string(k) + " group " +
                   std::to_string(group) + " range " + std::to_string(range));
      const Fp4 w = random_fp4(random_, 37, k, 118, range);
      const Int8 got = convert(GetParam(), w.view, 1, 3, group);
      for (int64_t o = 0; o < 32; ++o) {
        for (int64_t i = 0; i < w.view.k_padded; ++i) {
          const float step = unpack_scale(got.view, o, i);
          const float tolerance = range <= 3 ? 0.0f : step / 2;
          ASSERT_NEAR(unpack_weight(got.view, o, i), unpack_weight(w.view, kPanelOutputs + o, i),
                      tolerance)
              << o << ", " << i;
        }
      }
    }
  }
}

TEST_P(Int8FromFp4, EqualsTheScalarKernelToTheBitForEveryScale) {
  for (int round = 0; round < 20; ++round) {
    const int64_t k = 1 + static_cast<int64_t>(random_() % 2000);
    const int64_t n = 1 + static_cast<int64_t>(random_() % 60);
    const int64_t group = std::vector<int64_t>{32, 64, 96, 128, 256, 1024}[random_() % 6];
    SCOPED_TRACE("seed " + std::to_string(seed_) + " n " + std::to_string(n) + " k " +
                 std::to_string(k) + " group " + std::to_string(group));
    const bool any = round % 2 == 0;
    const Fp4 w = random_fp4(random_, n, k, any ? 0 : 110, any ? 254 : 9);
    const int64_t panels = panel_count(n);
    Int8 got = convert(GetParam(), w.view, panels / 2, panels, group);
    Int8 expected = convert(Isa::kScalar, w.view, panels / 2, panels, group);
    EXPECT_EQ(got.scales, expected.scales);
    EXPECT_EQ(got.offsets, expected.offsets);
    const int64_t bytes = (panels - panels / 2) * panel_bytes(WeightFormat::kInt8, w.view.k_padded);
    EXPECT_TRUE(std::equal(got.codes.data(), got.codes.data() + bytes, expected.codes.data()));
  }
}

TEST_P(Int8FromFp4, OffsetsAreThoseOfTheCodes) {
  const Fp4 w = random_fp4(random_, 16, 300, 110, 9);
  Int8 got = convert(GetParam(), w.view, 0, 1, 128);
  std::vector<int32_t> offsets(got.offsets.size());
  int8_offsets(got.codes.data(), w.view.k_padded, 128, offsets.data());
  EXPECT_EQ(got.offsets, offsets) << "seed " << seed_;
}

std::string level_name(const testing::TestParamInfo<Isa>& level) { return isa_name(level.param); }

INSTANTIATE_TEST_SUITE_P(EveryLevel, Int8FromFp4, testing::ValuesIn(supported_isas()), level_name);

}  // namespace
}  // namespace trine::kernels
