// The short convolution of every level against double precision, and cut into calls anywhere.
#include "support/kernel_cases.h"

namespace trine::testing {
namespace {

struct Case {
  int64_t taps;
  int64_t rows;
  int64_t n;
};

/// Rows before the first and the rows themselves: z[(taps - 1) + rows][n].
struct Input {
  Floats z;
  Floats w;
};

Input make_input(const Case& c, Random* random) {
  Input input = {Floats((c.taps - 1 + c.rows) * c.n), Floats(c.taps * c.n)};
  random->fill_normal(&input.z);
  random->fill_normal(&input.w);
  return input;
}

/// Runs rows [begin, begin + rows) with the history that lies before them.
void run(const Level& level, const Case& c, const Input& input, int64_t begin, int64_t rows,
         Floats* y) {
  const float* history = input.z.data() + begin * c.n;
  const float* x = history + (c.taps - 1) * c.n;
  level.table->short_conv_silu(
      {x, c.n, history, c.n, input.w.data(), c.n, c.taps, rows, c.n, y->data() + begin * c.n, c.n});
}

TEST(ShortConv, IsACausalSumOfAnyWidthFollowedBySilu) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    for (const int64_t taps : {1, 2, 3, 4, 5, 8}) {
      for (const int64_t n : {1, 15, 16, 17, 100}) {
        const Case c = {taps, 9, n};
        const Input input = make_input(c, &random);
        Floats y(c.rows * n);
        run(level, c, input, 0, c.rows, &y);
        for (int64_t i = 0; i < c.rows * n; ++i) {
          double sum = 0.0;
          double size = 0.0;
          for (int64_t j = 0; j < taps; ++j) {
            const double term = static_cast<double>(input.w[j * n + i % n]) *
                                static_cast<double>(input.z[(i / n + j) * n + i % n]);
            sum += term;
            size += std::fabs(term);
          }
          // silu has a slope of at most 1.1; the sum has at most `taps` roundings, silu a few more.
          const double bound = (2 * static_cast<double>(taps) + 12) * kEps * size;
          ASSERT_TRUE(close(y[i], sum * logistic(sum), 0, bound)) << level.name << " taps " << taps;
        }
        ASSERT_TRUE(y.check() && input.z.check() && input.w.check());
      }
    }
  }
}

TEST(ShortConv, HasTheSameBitsHoweverTheRowsAreCutIntoCalls) {
  Random random(seed_of_test());
  for (const Level& level : kernel_levels()) {
    const Case c = {4, 23, 37};
    const Input input = make_input(c, &random);
    Floats whole(c.rows * c.n);
    run(level, c, input, 0, c.rows, &whole);
    for (int trial = 0; trial < 20; ++trial) {
      Floats cut(c.rows * c.n);
      for (int64_t begin = 0; begin < c.rows;) {
        const int64_t rows = trial == 0 ? 1 : random.integer(1, c.rows - begin);
        run(level, c, input, begin, rows, &cut);
        begin += rows;
      }
      ASSERT_TRUE(same_bits(cut, whole)) << level.name << " trial " << trial;
    }
  }
}

}  // namespace
}  // namespace trine::testing
