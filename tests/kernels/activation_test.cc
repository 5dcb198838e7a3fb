// Gates and activations of every level against double precision, over their whole range.
#include "support/kernel_cases.h"

namespace trine::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// Results below this may be flushed: the smallest normal number.
constexpr double kTiny = 1.2e-38;

/// Points over [-limit, limit], dense around zero, with zeros and the smallest and largest numbers.
Floats sweep(float limit) {
  std::vector<float> points = {0.0F, -0.0F, 1e-45F, -1e-45F, 1e-38F, 3e38F, -3e38F, 1e10F, -1e10F};
  for (float size = 1e-7F; size < limit; size *= 1.013F) {
    points.push_back(size);
    points.push_back(-size);
  }
  Floats x(static_cast<int64_t>(points.size()));
  std::copy(points.begin(), points.end(), x.data());
  return x;
}

double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

TEST(Activation, SigmoidIsWithinFourUlpOverItsRange) {
  const Floats points = sweep(120.0F);
  for (const Level& level : kernel_levels()) {
    Floats x = points;
    level.table->sigmoid({x.data(), x.size()});
    for (int64_t i = 0; i < x.size(); ++i) {
      const double wanted = logistic(static_cast<double>(points[i]));
      ASSERT_TRUE(close(x[i], wanted, 8 * kEps, kTiny)) << level.name << " of " << points[i];
    }
    ASSERT_TRUE(x.check());
  }
}

TEST(Activation, SigmoidSaturatesAtInfinityAndKeepsNan) {
  for (const Level& level : kernel_levels()) {
    Floats x(3);
    x[0] = kInf;
    x[1] = -kInf;
    x[2] = kNan;
    level.table->sigmoid({x.data(), 3});
    EXPECT_EQ(x[0], 1.0F) << level.name;
    EXPECT_EQ(x[1], 0.0F) << level.name;
    EXPECT_TRUE(std::isnan(x[2])) << level.name;
  }
}

TEST(Activation, SituIsThatOfTheReferenceWithAndWithoutALinearBound) {
  const Floats g = sweep(60.0F);
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const float linear_beta : {25.0F, 0.0F}) {
      Floats u(g.size());
      random.fill_normal(&u, 20.0F);
      Floats y = g;
      level.table->situ({y.data(), u.data(), 4.0F, linear_beta, y.size(), y.data()});
      for (int64_t i = 0; i < y.size(); ++i) {
        const double gate = static_cast<double>(g[i]);
        const double up = static_cast<double>(u[i]);
        const double bound = static_cast<double>(linear_beta);
        const double bounded = bound > 0.0 ? bound * std::tanh(up / bound) : up;
        const double wanted = 4.0 * std::tanh(gate / 4.0) * logistic(gate) * bounded;
        ASSERT_TRUE(close(y[i], wanted, 24 * kEps, 100 * kTiny)) << level.name << " of " << g[i];
      }
      ASSERT_TRUE(y.check() && u.check());
    }
  }
}

TEST(Activation, SiluAndSigmoidMulAreThoseOfTheReference) {
  const Floats g = sweep(60.0F);
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    Floats u(g.size());
    for (int64_t i = 0; i < u.size(); ++i) {
      u[i] = random.uniform(-1.0F, 1.0F);  // so that the product with 3e38 stays finite
    }
    Floats silu = g;
    level.table->silu_mul({silu.data(), u.data(), g.size(), silu.data()});
    Floats gated = u;
    level.table->sigmoid_mul({gated.data(), g.data(), g.size(), gated.data()});
    for (int64_t i = 0; i < g.size(); ++i) {
      const double gate = static_cast<double>(g[i]);
      const double up = static_cast<double>(u[i]);
      const double open = logistic(gate);
      ASSERT_TRUE(close(silu[i], gate * open * up, 12 * kEps, 100 * kTiny))
          << level.name << " of " << g[i];
      ASSERT_TRUE(close(gated[i], up * open, 10 * kEps, 10 * kTiny))
          << level.name << " of " << g[i];
    }
    ASSERT_TRUE(silu.check() && gated.check());
  }
}

TEST(Activation, BoundedGateIsAFactorOfASigmoidAndNotAClamp) {
  const Floats z = sweep(60.0F);
  for (const Level& level : kernel_levels()) {
    const Floats bias(z.size(), 0.25F);
    Floats y = z;
    level.table->kda_gate_bounded({y.data(), bias.data(), 1.5F, -5.0F, y.size(), y.data()});
    for (int64_t i = 0; i < y.size(); ++i) {
      const float inside = 1.5F * (z[i] + 0.25F);
      const double wanted = -5.0 * logistic(static_cast<double>(inside));
      ASSERT_TRUE(close(y[i], wanted, 10 * kEps, 10 * kTiny)) << level.name << " of " << z[i];
      ASSERT_LE(y[i], 0.0F);
    }
    Floats half(1, -0.25F);
    level.table->kda_gate_bounded({half.data(), bias.data(), 1.5F, -5.0F, 1, half.data()});
    EXPECT_EQ(half[0], -2.5F) << level.name << ": half of the bound at zero";
  }
}

TEST(Activation, SoftplusGateIsPreciseFromDeepDecayToNearlyNone) {
  const Floats z = sweep(90.0F);
  for (const Level& level : kernel_levels()) {
    const Floats bias(z.size(), -0.5F);
    Floats y(z.size());
    level.table->kda_gate_softplus({z.data(), bias.data(), 2.5F, 0.0F, y.size(), y.data()});
    for (int64_t i = 0; i < y.size(); ++i) {
      const double wanted = -2.5 * softplus(static_cast<double>(z[i] - 0.5F));
      if (std::fabs(wanted) > 3.4e38) {
        ASSERT_EQ(y[i], -kInf) << level.name;
        continue;
      }
      ASSERT_TRUE(close(y[i], wanted, 12 * kEps, 10 * kTiny)) << level.name << " of " << z[i];
      ASSERT_LE(y[i], 0.0F);
    }
  }
}

TEST(Activation, AValueDoesNotDependOnItsPlaceInTheRow) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    const int64_t n = 53;
    Floats g(n);
    Floats u(n);
    random.fill_normal(&g, 4.0F);
    random.fill_normal(&u, 4.0F);
    Floats whole(n);
    level.table->situ({g.data(), u.data(), 4.0F, 25.0F, n, whole.data()});
    for (int64_t i = 0; i < n; ++i) {
      float alone = 0.0F;
      level.table->situ({g.data() + i, u.data() + i, 4.0F, 25.0F, 1, &alone});
      ASSERT_TRUE(same_bits(&alone, whole.data() + i, 1)) << level.name << " at " << i;
    }
  }
}

}  // namespace
}  // namespace trine::testing
