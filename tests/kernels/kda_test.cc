// KDA of every level: against the step-by-step recurrence in double precision, under every kind of
// decay, and with the same bits however the tokens are cut into calls.
#include <algorithm>
#include <string>

#include "support/kernel_cases.h"

namespace trine::testing {
namespace {

using kernels::kKdaChunk;

int64_t padded(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

/// Inputs of one head for `tokens` tokens, as they lie between other heads: kBeside floats of NaN
/// follow each row.
struct Inputs {
  static constexpr int64_t kBeside = 5;
  Inputs(int64_t dim, int64_t tokens)
      : head_dim(dim),
        rows(tokens),
        stride(dim + kBeside),
        q(rows * stride),
        k(rows * stride),
        v(rows * stride),
        g(rows * stride),
        beta(rows) {}
  int64_t head_dim;
  int64_t rows;
  int64_t stride;
  Floats q;
  Floats k;
  Floats v;
  Floats g;
  Floats beta;
};

void fill_direction(float* x, int64_t n, float size, Random* random) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = random->normal();
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    x[i] *= size / static_cast<float>(std::sqrt(sum + 1e-6));
  }
}

/// Random q (of length D^-1/2), k (of length 1), v and beta as the layer makes them; `decay` gives
/// g.
template <typename Decay>
Inputs make_inputs(int64_t head_dim, int64_t rows, Random* random, const Decay& decay) {
  Inputs in(head_dim, rows);
  const float q_size = 1.0F / std::sqrt(static_cast<float>(head_dim));
  for (int64_t t = 0; t < rows; ++t) {
    const int64_t at = t * in.stride;
    for (Floats* x : {&in.q, &in.k, &in.v, &in.g}) {
      std::fill(x->data() + at, x->data() + at + in.stride, NAN);
    }
    fill_direction(in.q.data() + at, head_dim, q_size, random);
    fill_direction(in.k.data() + at, head_dim, 1.0F, random);
    in.beta[t] = random->uniform(0.05F, 0.98F);
    for (int64_t i = 0; i < head_dim; ++i) {
      in.v[at + i] = random->normal();
      in.g[at + i] = decay(t, i);
    }
  }
  return in;
}

/// What a sequence keeps for one head. Open rows are NaN until they are written.
struct State {
  explicit State(int64_t dim)
      : head_dim(dim),
        s(dim * padded(dim)),
        open_k(kKdaChunk * padded(dim), NAN),
        open_u(kKdaChunk * padded(dim), NAN),
        open_g(padded(dim)) {}
  int64_t head_dim;
  Floats s;
  Floats open_k;
  Floats open_u;
  Floats open_g;
  bool check() const { return s.check() && open_k.check() && open_u.check() && open_g.check(); }
};

/// Runs rows [begin, begin + rows) of the inputs at their absolute positions.
void run(const Level& level, const Inputs& in, int64_t begin, int64_t rows, State* state,
         Floats* out) {
  const int64_t at = begin * in.stride;
  level.table->kda({in.head_dim, rows, begin, in.q.data() + at, in.k.data() + at, in.v.data() + at,
                    in.g.data() + at, in.stride, in.beta.data() + begin, 1, state->s.data(),
                    state->open_k.data(), state->open_u.data(), state->open_g.data(),
                    out->data() + begin * in.stride, in.stride});
}

/// The recurrence of the specification in double precision.
struct Oracle {
  std::vector<double> out;    ///< [rows][head_dim]
  std::vector<double> state;  ///< [head_dim][head_dim]
  double out_size = 0.0;      ///< largest sum of the sizes of an output's terms
  double state_size = 0.0;    ///< largest value of the state at any time
};

Oracle recurrence(const Inputs& in) {
  const int64_t n = in.head_dim;
  Oracle oracle;
  std::vector<double> s(static_cast<size_t>(n * n), 0.0);
  std::vector<double> r(static_cast<size_t>(n));
  for (int64_t t = 0; t < in.rows; ++t) {
    const int64_t at = t * in.stride;
    for (int64_t j = 0; j < n; ++j) {
      r[static_cast<size_t>(j)] = static_cast<double>(in.v[at + j]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double decay = std::exp(static_cast<double>(in.g[at + i]));
      const double k = static_cast<double>(in.k[at + i]);
      for (int64_t j = 0; j < n; ++j) {
        double& value = s[static_cast<size_t>(i * n + j)];
        value *= decay;
        r[static_cast<size_t>(j)] -= k * value;
      }
    }
    std::vector<double> o(static_cast<size_t>(n), 0.0);
    std::vector<double> size(static_cast<size_t>(n), 0.0);
    const double beta = static_cast<double>(in.beta[t]);
    for (int64_t i = 0; i < n; ++i) {
      const double k = beta * static_cast<double>(in.k[at + i]);
      const double q = static_cast<double>(in.q[at + i]);
      for (int64_t j = 0; j < n; ++j) {
        double& value = s[static_cast<size_t>(i * n + j)];
        value += k * r[static_cast<size_t>(j)];
        o[static_cast<size_t>(j)] += q * value;
        size[static_cast<size_t>(j)] += std::fabs(q * value);
        oracle.state_size = std::fmax(oracle.state_size, std::fabs(value));
      }
    }
    oracle.out.insert(oracle.out.end(), o.begin(), o.end());
    oracle.out_size = std::fmax(oracle.out_size, *std::max_element(size.begin(), size.end()));
  }
  oracle.state = s;
  return oracle;
}

/// Largest differences in units of eps times the sizes above.
struct Errors {
  double out = 0.0;
  double state = 0.0;
};

Errors errors_of(const Level& level, const Inputs& in, const Oracle& oracle) {
  const int64_t n = in.head_dim;
  State state(n);
  Floats out(in.rows * in.stride);
  run(level, in, 0, in.rows, &state, &out);
  Floats s(n * n);
  level.table->kda_state({n, in.rows % kKdaChunk, state.s.data(), state.open_k.data(),
                          state.open_u.data(), state.open_g.data(), s.data()});
  EXPECT_TRUE(state.check() && out.check() && s.check()) << level.name;
  Errors errors;
  for (int64_t t = 0; t < in.rows; ++t) {
    for (int64_t j = 0; j < in.stride; ++j) {
      const double found = static_cast<double>(out[t * in.stride + j]);
      if (j >= n) {
        EXPECT_EQ(found, 0.0) << level.name << ": wrote into the next head";
        continue;
      }
      const double error = std::fabs(found - oracle.out[static_cast<size_t>(t * n + j)]);
      EXPECT_FALSE(std::isnan(error)) << level.name << " token " << t;
      errors.out = std::fmax(errors.out, error / (kEps * oracle.out_size));
    }
  }
  for (int64_t i = 0; i < n * n; ++i) {
    const double error =
        std::fabs(static_cast<double>(s[i]) - oracle.state[static_cast<size_t>(i)]);
    EXPECT_FALSE(std::isnan(error)) << level.name;
    errors.state = std::fmax(errors.state, error / (kEps * oracle.state_size));
  }
  return errors;
}

/// Bound in eps of the sizes above, which are sums of absolute values: roundings of random sign in
/// a sum of n terms reach about eps of that, and as one step is a contraction (|k| = 1, 0 < beta <
/// 1) what is wrong in the state does not grow. Four times that is seen over 4,096 steps.
constexpr double kBound = 16.0;

void expect_close(const Inputs& in, const std::string& what) {
  const Oracle oracle = recurrence(in);
  for (const Level& level : kernel_levels()) {
    const Errors errors = errors_of(level, in, oracle);
    EXPECT_LE(errors.out, kBound) << level.name << ": " << what;
    EXPECT_LE(errors.state, kBound) << level.name << ": " << what;
  }
}

TEST(Kda, IsTheRecurrenceForAnyHeadDim) {
  Random random(seed_of_test());
  for (const int64_t head_dim : {1, 8, 16, 24, 64, 100, 128, 140, 256}) {
    const Inputs in = make_inputs(head_dim, 77, &random, [&](int64_t, int64_t) {
      return -5.0F * static_cast<float>(logistic(static_cast<double>(random.normal(2.0F))));
    });
    expect_close(in, "head_dim " + std::to_string(head_dim));
  }
}

TEST(Kda, ForgetsThroughAnySpanOfDecay) {
  Random random(seed_of_test());
  for (const double span : {1.0, 60.0, 119.0, 120.0, 126.0, 127.5, 180.0, 600.0}) {
    // A chunk of 16 tokens decays by 2^-span; each channel a little differently.
    const double step = -span * std::log(2.0) / 16.0;
    const Inputs in = make_inputs(64, 100, &random, [&](int64_t, int64_t i) {
      return static_cast<float>(step * (1.0 - 0.002 * static_cast<double>(i)));
    });
    expect_close(in, "span " + std::to_string(span));
  }
}

TEST(Kda, StaysFiniteAndRightWithAllGatesAtTheBound) {
  Random random(seed_of_test());
  const Inputs in = make_inputs(128, 300, &random, [](int64_t, int64_t) { return -5.0F; });
  expect_close(in, "all gates at -5 for 300 tokens");
}

TEST(Kda, TakesSoftplusGatesOfAnyDepth) {
  Random random(seed_of_test());
  for (const float mean : {-5.5F, -6.0F, -20.0F, -55.0F, -104.0F, -1e4F}) {
    const Inputs in = make_inputs(
        64, 129, &random, [&](int64_t, int64_t) { return mean * random.uniform(0.5F, 1.5F); });
    expect_close(in, "mean decay " + std::to_string(mean));
  }
  const Inputs mixed = make_inputs(64, 129, &random, [&](int64_t t, int64_t i) {
    return (t * 7 + i) % 11 == 0 ? -60.0F : (i % 3 == 0 ? -1e-6F : -0.3F);
  });
  expect_close(mixed, "one step in eleven below -50");
  const Inputs infinite = make_inputs(24, 40, &random, [](int64_t t, int64_t i) {
    return (t + i) % 5 == 0 ? -std::numeric_limits<float>::infinity() : -0.1F;
  });
  expect_close(infinite, "a gate of minus infinity forgets a channel");
}

TEST(Kda, RemembersThroughFourThousandStepsOfSlowDecay) {
  Random random(seed_of_test());
  const float g = static_cast<float>(std::log(0.99992));
  const Inputs in = make_inputs(32, 4096, &random, [&](int64_t, int64_t) { return g; });
  expect_close(in, "decay 0.99992 for 4,096 steps");
}

TEST(Kda, WithoutKeysTheStateIsDecayedAndNothingElse) {
  for (const Level& level : kernel_levels()) {
    const int64_t n = 16;
    Inputs in(n, 4096);
    const float g = static_cast<float>(std::log(0.99992));
    std::fill(in.g.data(), in.g.data() + in.g.size(), g);
    State state(n);
    std::fill(state.s.data(), state.s.data() + state.s.size(), 1.0F);
    Floats out(in.rows * in.stride);
    run(level, in, 0, in.rows, &state, &out);
    const double wanted = std::exp(4096.0 * static_cast<double>(g));
    // 256 chunks: exp and a product each.
    EXPECT_TRUE(close(state.s[37], wanted, 256 * 3 * kEps, 0)) << level.name << state.s[37];
  }
}

TEST(Kda, HasTheSameBitsHoweverTheTokensAreCutIntoCalls) {
  Random random(seed_of_test());
  for (const int64_t head_dim : {1, 24, 100, 128, 140}) {
    const Inputs in = make_inputs(head_dim, 83, &random,
                                  [&](int64_t, int64_t) { return random.uniform(-3.0F, 0.0F); });
    for (const Level& level : kernel_levels()) {
      State whole(head_dim);
      Floats out(in.rows * in.stride);
      run(level, in, 0, in.rows, &whole, &out);
      for (int trial = 0; trial < 12; ++trial) {
        State state(head_dim);
        Floats cut(in.rows * in.stride);
        for (int64_t begin = 0; begin < in.rows;) {
          const int64_t rows = trial == 0 ? 1 : random.integer(1, in.rows - begin);
          run(level, in, begin, rows, &state, &cut);
          begin += rows;
        }
        ASSERT_TRUE(same_bits(cut, out)) << level.name << " head_dim " << head_dim;
        ASSERT_TRUE(same_bits(state.s, whole.s) && same_bits(state.open_g, whole.open_g));
        const int64_t open = in.rows % kKdaChunk * padded(head_dim);
        ASSERT_TRUE(same_bits(state.open_k.data(), whole.open_k.data(), open)) << level.name;
        ASSERT_TRUE(same_bits(state.open_u.data(), whole.open_u.data(), open)) << level.name;
      }
    }
  }
}

TEST(Kda, AReadStateIsThatWhichTheChunkLeavesBehind) {
  Random random(seed_of_test());
  const int64_t n = 100;
  const Inputs in =
      make_inputs(n, 32, &random, [&](int64_t, int64_t) { return random.uniform(-1.0F, 0.0F); });
  for (const Level& level : kernel_levels()) {
    State state(n);
    Floats out(in.rows * in.stride);
    run(level, in, 0, 31, &state, &out);
    State full = state;
    run(level, in, 31, 1, &full, &out);
    // The last token's row is open in `full`'s arrays too; they hold what the border folded.
    Floats before(n * n);
    State last = state;
    last.open_k = full.open_k;
    last.open_u = full.open_u;
    for (int64_t i = 0; i < n; ++i) {
      last.open_g[i] += in.g[31 * in.stride + i];
    }
    level.table->kda_state({n, kKdaChunk, last.s.data(), last.open_k.data(), last.open_u.data(),
                            last.open_g.data(), before.data()});
    Floats after(n * n);
    level.table->kda_state({n, 0, full.s.data(), full.open_k.data(), full.open_u.data(),
                            full.open_g.data(), after.data()});
    EXPECT_TRUE(same_bits(before, after)) << level.name;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = n; j < padded(n); ++j) {
        ASSERT_EQ(full.s[i * padded(n) + j], 0.0F) << level.name << ": padding must stay zero";
      }
    }
  }
}

TEST(Kda, ANanTokenReachesLaterTokensAndNotEarlierOnes) {
  Random random(seed_of_test());
  Inputs in = make_inputs(24, 20, &random, [](int64_t, int64_t) { return -0.1F; });
  in.v[7 * in.stride + 3] = NAN;
  for (const Level& level : kernel_levels()) {
    State state(24);
    Floats out(in.rows * in.stride);
    run(level, in, 0, in.rows, &state, &out);
    EXPECT_FALSE(std::isnan(out[6 * in.stride + 3])) << level.name;
    EXPECT_TRUE(std::isnan(out[7 * in.stride + 3])) << level.name;
    EXPECT_TRUE(std::isnan(out[19 * in.stride + 3])) << level.name;
    EXPECT_FALSE(std::isnan(out[19 * in.stride + 4])) << level.name;
  }
}

}  // namespace
}  // namespace trine::testing
