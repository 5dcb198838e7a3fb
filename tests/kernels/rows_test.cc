// Row kernels of every level against double precision: odd lengths, misaligned, guarded, hostile
// values.
#include <algorithm>

#include "support/kernel_cases.h"

namespace trine::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double mean_of_squares(const Floats& x) {
  double sum = 0.0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return sum / static_cast<double>(x.size());
}

TEST(Rows, RmsNormIsThatOfDoublePrecision) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      Floats x(n);
      Floats w(n);
      Floats y(n);
      random.fill_normal(&x, 3.0F);
      random.fill_normal(&w);
      level.table->rms_norm({x.data(), w.data(), n, 1e-5F, y.data()});
      const double root = std::sqrt(mean_of_squares(x) + static_cast<double>(1e-5F));
      for (int64_t i = 0; i < n; ++i) {
        const double wanted = static_cast<double>(x[i]) / root * static_cast<double>(w[i]);
        ASSERT_TRUE(close(y[i], wanted, 4 * kEps, 0)) << level.name << " n " << n << " at " << i;
      }
      ASSERT_TRUE(x.check() && w.check() && y.check()) << level.name << " n " << n;
    }
  }
}

TEST(Rows, RmsNormOfHugeAndTinyRowsNeitherOverflowsNorVanishes) {
  for (const Level& level : kernel_levels()) {
    for (const float size : {1e30F, 3e38F, 1e-3F}) {
      Floats x(100, size);
      Floats w(100, 2.0F);
      Floats y(100);
      level.table->rms_norm({x.data(), w.data(), 100, 1e-12F, y.data()});
      ASSERT_TRUE(close(y[99], 2.0, 1e-5, 0)) << level.name << " size " << size << ": " << y[99];
    }
  }
}

TEST(Rows, L2NormDividesByTheRootAndLeavesZeroAtZero) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      Floats x(n);
      random.fill_normal(&x);
      const Floats before = x;
      level.table->l2_norm({x.data(), n, 1e-6F, 0.25F});
      const double root = n == 0 ? 1.0
                                 : std::sqrt(mean_of_squares(before) * static_cast<double>(n) +
                                             static_cast<double>(1e-6F));
      for (int64_t i = 0; i < n; ++i) {
        const double wanted = static_cast<double>(before[i]) / root * 0.25;
        ASSERT_TRUE(close(x[i], wanted, 4 * kEps, 0)) << level.name << " n " << n;
      }
      ASSERT_TRUE(x.check());
      std::fill(x.data(), x.data() + n, 0.0F);
      level.table->l2_norm({x.data(), n, 1e-6F, 0.25F});
      ASSERT_TRUE(same_bits(x, Floats(n))) << level.name;
    }
  }
}

TEST(Rows, SoftmaxIsThatOfDoublePrecisionForAnyShift) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      for (const float shift : {0.0F, 1e4F, -1e4F}) {
        Floats x(n);
        random.fill_normal(&x, 5.0F);
        for (int64_t i = 0; i < n; ++i) {
          x[i] += shift;
        }
        const Floats before = x;
        level.table->softmax({x.data(), n});
        ASSERT_TRUE(x.check());
        const double max =
            n == 0 ? 0.0 : static_cast<double>(*std::max_element(before.data(), before.data() + n));
        double sum = 0.0;
        for (int64_t i = 0; i < n; ++i) {
          sum += std::exp(static_cast<double>(before[i]) - max);
        }
        for (int64_t i = 0; i < n; ++i) {
          const double from_max = static_cast<double>(before[i]) - max;
          const double wanted = std::exp(from_max) / sum;
          // The difference is exact or rounded once; exp, its sum and the quotient add a few more.
          const double relative = (8 + std::fabs(from_max)) * kEps;
          ASSERT_TRUE(close(x[i], wanted, relative, 1e-37)) << level.name << " n " << n;
        }
      }
    }
  }
}

TEST(Rows, SoftmaxTakesMinusInfinityAsNothingAndKeepsNan) {
  for (const Level& level : kernel_levels()) {
    Floats x(19, -kInf);
    x[18] = 3.0F;
    level.table->softmax({x.data(), 19});
    EXPECT_EQ(x[18], 1.0F) << level.name;
    EXPECT_EQ(x[0], 0.0F) << level.name;
    x[3] = kNan;
    level.table->softmax({x.data(), 19});
    EXPECT_TRUE(std::isnan(x[18])) << level.name << ": a NaN must not be lost";
  }
}

/// The value that AttnRes must give at one place, and the sum of the sizes of its terms.
struct Mixed {
  double value;
  double size;
};

std::vector<double> attn_res_weights(const std::vector<Floats>& values, const Floats& w) {
  std::vector<double> weights;
  double max = -1e300;
  for (const Floats& v : values) {
    double dot = 0.0;
    for (int64_t i = 0; i < v.size(); ++i) {
      dot += static_cast<double>(v[i]) * static_cast<double>(w[i]);
    }
    weights.push_back(dot / std::sqrt(mean_of_squares(v) + static_cast<double>(1e-5F)));
    max = std::fmax(max, weights.back());
  }
  double sum = 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - max);
    sum += weight;
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

Mixed mix(const std::vector<Floats>& values, const std::vector<double>& weights, int64_t i) {
  Mixed mixed = {0.0, 0.0};
  auto weight = weights.begin();
  for (const Floats& v : values) {
    const double term = *weight++ * static_cast<double>(v[i]);
    mixed.value += term;
    mixed.size += std::fabs(term);
  }
  return mixed;
}

void check_attn_res(const Level& level, int64_t n, int64_t count, Random* random) {
  std::vector<Floats> values;
  Floats w(n);
  random->fill_normal(&w, 0.1F);
  for (int64_t j = 0; j < count; ++j) {
    values.emplace_back(n);
    random->fill_normal(&values.back(), 1.0F + static_cast<float>(j));
  }
  std::vector<const float*> rows;
  for (const Floats& v : values) {
    rows.push_back(v.data());
  }
  Floats y(n);
  level.table->attn_res({rows.data(), count, w.data(), n, 1e-5F, y.data()});
  const std::vector<double> weights = attn_res_weights(values, w);
  for (int64_t i = 0; i < n; ++i) {
    const Mixed wanted = mix(values, weights, i);
    // Scores are below 16 in size: their rounding moves a weight by at most 16 * eps.
    ASSERT_TRUE(close(y[i], wanted.value, 0, 40 * kEps * wanted.size)) << level.name << " n " << n;
  }
  ASSERT_TRUE(y.check() && w.check());
}

TEST(Rows, AttnResMixesRawValuesByScoresOfNormalisedOnes) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : {1, 15, 48, 257, 2048}) {
      for (const int64_t count : {1, 2, 5, 9}) {
        check_attn_res(level, n, count, &random);
      }
    }
  }
}

TEST(Rows, AddAndWeightedSumAreExactToRounding) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      Floats a(n);
      Floats b(n);
      Floats y(n);
      random.fill_normal(&a);
      random.fill_normal(&b);
      const float* rows[] = {a.data(), b.data()};
      const float weights[] = {0.3F, -1.7F};
      level.table->weighted_sum({rows, weights, 2, n, y.data()});
      for (int64_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(a[i]) * static_cast<double>(weights[0]);
        const double z = static_cast<double>(b[i]) * static_cast<double>(weights[1]);
        ASSERT_TRUE(close(y[i], x + z, 0, 3 * kEps * (std::fabs(x) + std::fabs(z)))) << level.name;
      }
      Floats in_place = b;
      const float* own_rows[] = {a.data(), in_place.data()};
      level.table->weighted_sum({own_rows, weights, 2, n, in_place.data()});
      ASSERT_TRUE(same_bits(in_place, y)) << level.name << ": y may be one of the rows";
      Floats none(n, 5.0F);
      level.table->weighted_sum({nullptr, nullptr, 0, n, none.data()});
      ASSERT_TRUE(same_bits(none, Floats(n))) << level.name << ": the sum of no rows is zero";
      Floats total = a;
      level.table->add({b.data(), n, total.data()});
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(total[i], a[i] + b[i]) << level.name;
      }
      ASSERT_TRUE(y.check() && total.check() && in_place.check());
    }
  }
}

/// The nearer of the two bf16 around x, the even one of two equally near ones.
uint16_t nearest_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  const uint16_t toward_zero = static_cast<uint16_t>(bits >> 16);
  const uint32_t rest = bits & 0xffffU;
  if (rest == 0x8000U) {
    return static_cast<uint16_t>(toward_zero + (toward_zero & 1U));
  }
  return static_cast<uint16_t>(toward_zero + (rest > 0x8000U ? 1U : 0U));
}

TEST(Rows, EveryFloatIsRoundedToTheNearestBf16AndNanStaysNan) {
  for (const Level& level : kernel_levels()) {
    for (const uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      constexpr int64_t kCodes = 65536;
      Floats x(kCodes);
      for (uint32_t high = 0; high < kCodes; ++high) {
        const uint32_t bits = high << 16 | low;
        std::memcpy(&x[high], &bits, sizeof(bits));
      }
      Guarded<uint16_t> y(kCodes);
      level.table->to_bf16({x.data(), kCodes, kCodes, y.data()});
      for (int64_t i = 0; i < kCodes; ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE((y[i] & 0x7f80) == 0x7f80 && (y[i] & 0x7f) != 0) << level.name << " " << i;
          ASSERT_EQ(y[i] & 0x8000, (i & 0x8000)) << level.name;
        } else {
          ASSERT_EQ(y[i], nearest_bf16(x[i])) << level.name << " code " << i << " low " << low;
        }
      }
      ASSERT_TRUE(y.check());
    }
  }
}

TEST(Rows, Bf16RowsArePaddedWithZerosAndComeBackExactly) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      const int64_t padded = (n + 31) / 32 * 32;
      Floats x(n);
      random.fill_normal(&x);
      Guarded<uint16_t> y(padded, uint16_t{0xffff});
      level.table->to_bf16({x.data(), n, padded, y.data()});
      for (int64_t i = 0; i < padded; ++i) {
        ASSERT_EQ(y[i], i < n ? nearest_bf16(x[i]) : 0) << level.name << " n " << n;
      }
      Floats back(n);
      level.table->from_bf16({y.data(), n, back.data()});
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t bits = static_cast<uint32_t>(y[i]) << 16;
        ASSERT_EQ(std::memcmp(&bits, &back[i], sizeof(bits)), 0) << level.name;
      }
      ASSERT_TRUE(x.check() && y.check() && back.check()) << level.name << " n " << n;
    }
  }
}

TEST(Rows, OneValueThatIsNotFiniteIsFoundAnywhere) {
  for (const Level& level : kernel_levels()) {
    for (const int64_t n : odd_lengths()) {
      Floats x(n, std::numeric_limits<float>::max());
      EXPECT_TRUE(level.table->all_finite({x.data(), n})) << level.name;
      for (int64_t i = 0; i<n; i += n> 70 ? 13 : 1) {
        for (const float bad : {kInf, -kInf, kNan}) {
          x[i] = bad;
          ASSERT_FALSE(level.table->all_finite({x.data(), n})) << level.name << " at " << i;
        }
        x[i] = std::numeric_limits<float>::denorm_min();
        ASSERT_TRUE(level.table->all_finite({x.data(), n})) << level.name;
      }
    }
  }
}

}  // namespace
}  // namespace trine::testing
