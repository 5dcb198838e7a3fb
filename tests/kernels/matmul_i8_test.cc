// The int8 path of every level: rounding of rows and weights, and products equal to the scalar
// kernel to the bit for any number of rows, order and range of panels.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/matmul_data.h"
#include "kernels/matmul_levels.h"

namespace trine::kernels {
namespace {

constexpr float kCanary = 12345.5f;

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

struct Int8Weights {
  AlignedBytes codes{0};
  std::vector<float> scales;
  std::vector<int32_t> offsets;
  PackedView view{};
};

Int8Weights quantised(const std::vector<float>& rows, int64_t n, int64_t k, int64_t group) {
  Int8Weights out;
  const int64_t panel_scales = scale_count(1, pad_k(k), group);
  out.codes = AlignedBytes(packed_bytes(WeightFormat::kInt8, n, k));
  out.scales.resize(static_cast<size_t>(scale_count(n, pad_k(k), group)));
  out.offsets.resize(out.scales.size());
  for (int64_t panel = 0; panel < panel_count(n); ++panel)
    quantise_panel_int8({rows.data() + panel * kPanelOutputs * k, k,
                         std::min(kPanelOutputs, n - panel * kPanelOutputs), k, group,
                         out.codes.data() + panel * panel_bytes(WeightFormat::kInt8, pad_k(k)),
                         out.scales.data() + panel * panel_scales,
                         out.offsets.data() + panel * panel_scales});
  out.view = {WeightFormat::kInt8, ScaleKind::kF32,  n, k, pad_k(k), group,
              out.codes.data(),    out.scales.data()};
  return out;
}

struct Int8Rows {
  std::vector<uint8_t> bytes;
  std::vector<float> scales;
  int64_t stride, scale_stride;
};

Int8Rows quantise(Isa isa, const float* x, int64_t x_stride, int64_t rows, int64_t k,
                  int64_t group) {
  Int8Rows out{{}, {}, pad_k(k) + 5, (pad_k(k) + group - 1) / group + 1};
  out.bytes.assign(static_cast<size_t>(rows * out.stride), 0xA5);
  out.scales.assign(static_cast<size_t>(rows * out.scale_stride), kCanary);
  table_under_test(isa).quantise_rows({x, x_stride, rows, k, group, out.bytes.data(), out.stride,
                                       out.scales.data(), out.scale_stride});
  return out;
}

class MatmulI8 : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    seed_ = std::random_device{}();
    random_.seed(seed_);
  }
  std::vector<float> normals(int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random_);
    return values;
  }
  uint32_t seed_ = 0;
  std::mt19937 random_;
};

TEST_P(MatmulI8, RowsAreRoundedAsTheScalarKernelDoesAndWithinHalfAStep) {
  for (int64_t k : {1, 31, 32, 33, 100, 257, 1030})
    for (int64_t group : {32, 64, 128, 1024}) {
      SCOPED_TRACE("seed " + std::to_string(seed_) + " k " + std::to_string(k) + " group " +
                   std::to_string(group));
      std::vector<float> x = normals(3 * (k + 2));
      x[0] = 0x1p-140f;  // a group may be subnormal throughout
      const Int8Rows got = quantise(GetParam(), x.data(), k + 2, 3, k, group);
      const Int8Rows expected = quantise(Isa::kScalar, x.data(), k + 2, 3, k, group);
      EXPECT_EQ(got.bytes, expected.bytes);
      EXPECT_EQ(got.scales, expected.scales);
      for (int64_t r = 0; r < 3; ++r)
        for (int64_t i = 0; i < k; ++i) {
          const int64_t place = i / 4 * 4 + (i % 2) * 2 + i % 4 / 2;
          const float scale = got.scales[static_cast<size_t>(r * got.scale_stride + i / group)];
          const float value =
              static_cast<float>(got.bytes[static_cast<size_t>(r * got.stride + place)] - 128) *
              scale;
          ASSERT_NEAR(value, x[static_cast<size_t>(r * (k + 2) + i)], scale * 0.5001f + 0x1p-126f);
        }
    }
}

TEST_P(MatmulI8, AValueThatIsNotFiniteMakesItsRowsOutputsNaNAndNoOthers) {
  const int64_t k = 200;
  const Int8Weights w = quantised(normals(20 * k), 20, k, 64);
  for (float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> x = normals(3 * k);
    x[k + 130] = bad;
    const Int8Rows in = quantise(GetParam(), x.data(), k, 3, k, 64);
    std::vector<float> y(3 * 20);
    table_under_test(GetParam())
        .matmul_i8({in.bytes.data(), in.stride, in.scales.data(), in.scale_stride, nullptr, 3,
                    w.view, w.offsets.data(), 0, 2, y.data(), 20});
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 20 == 1) << i;
  }
}

TEST_P(MatmulI8, ProductsEqualTheScalarKernelToTheBitForAnyRowsAndPanels) {
  for (int64_t m : {1, 2, 3, 4, 5, 13, 14, 15, 28, 29, 43, 61, 85, 90}) {
    const int64_t n = 1 + static_cast<int64_t>(random_() % 120);
    const int64_t k = 1 + static_cast<int64_t>(random_()) % (2400 / slowness());
    const int64_t group = std::vector<int64_t>{32, 64, 96, 128, 256, 1024}[random_() % 6];
    SCOPED_TRACE("seed " + std::to_string(seed_) + " m " + std::to_string(m) + " n " +
                 std::to_string(n) + " k " + std::to_string(k) + " group " + std::to_string(group));
    const Int8Weights w = quantised(normals(n * k), n, k, group);
    const std::vector<float> x = normals(m * k);
    const Int8Rows in = quantise(GetParam(), x.data(), k, m, k, group);
    std::vector<int32_t> rows(static_cast<size_t>(m));
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), random_);
    const int64_t begin = panel_count(n) > 2 ? 1 : 0;
    const int64_t stride = n + 2;
    std::vector<float> got(static_cast<size_t>(m * stride), kCanary);
    std::vector<float> expected = got;
    MatmulI8Args args{
        in.bytes.data(),  in.stride, in.scales.data(), in.scale_stride, rows.data(), m, w.view,
        w.offsets.data(), begin,     panel_count(n),   got.data(),      stride};
    table_under_test(GetParam()).matmul_i8(args);
    args.y = expected.data();
    table_under_test(Isa::kScalar).matmul_i8(args);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_PRED2(same_bits, got[i], expected[i]) << "at " << i;
  }
}

TEST_P(MatmulI8, ErrorIsWhatTwoRoundingsToEightBitsCost) {
  const int64_t n = 32;
  const int64_t k = 512;
  const std::vector<float> weights = normals(n * k);
  const Int8Weights w = quantised(weights, n, k, 64);
  const std::vector<float> x = normals(k);
  const Int8Rows in = quantise(GetParam(), x.data(), k, 1, k, 64);
  std::vector<float> y(static_cast<size_t>(n));
  table_under_test(GetParam())
      .matmul_i8({in.bytes.data(), in.stride, in.scales.data(), in.scale_stride, nullptr, 1, w.view,
                  w.offsets.data(), 0, 2, y.data(), n});
  double error = 0;
  double norm = 0;
  for (int64_t o = 0; o < n; ++o) {
    double exact = 0;
    for (int64_t i = 0; i < k; ++i)
      exact += static_cast<double>(x[static_cast<size_t>(i)]) *
               static_cast<double>(weights[static_cast<size_t>(o * k + i)]);
    error += std::pow(static_cast<double>(y[static_cast<size_t>(o)]) - exact, 2);
    norm += exact * exact;
  }
  // Steps of 2.5 sigma / 127 in both factors: rms 2 * (2.5 / 127)^2 / 12, so a relative error near
  // 0.8 %.
  EXPECT_LT(std::sqrt(error / norm), 0.02);
  EXPECT_GT(std::sqrt(error / norm), 0.001);
}

INSTANTIATE_TEST_SUITE_P(AllLevels, MatmulI8, testing::ValuesIn(levels_under_test()),
                         [](const auto& level) { return std::string(isa_name(level.param)); });

}  // namespace
}  // namespace trine::kernels
