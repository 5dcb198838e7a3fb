// Absorbed attention of every level: against a softmax in double precision, with the same bits for
// a query whoever its neighbours are, and blind to rows that it may not see.
#include <algorithm>

#include "support/kernel_cases.h"

namespace trine::testing {
namespace {

using kernels::kMlaPageRows;
using kernels::LatentType;

struct Shape {
  int64_t row_dim;
  int64_t value_dim;
  int64_t stride() const { return (row_dim + 31) / 32 * 32; }
  int64_t acc_stride() const { return (value_dim + 15) / 16 * 16; }
};

/// Latent rows of one sequence in pages of both types (the same numbers), zero padded.
class Cache {
 public:
  Cache(const Shape& shape, int64_t pages, Random* random)
      : shape_(shape), wide_(pages * kMlaPageRows * shape.stride()), half_(wide_.size()) {
    for (int64_t row = 0; row < pages * kMlaPageRows; ++row) {
      for (int64_t i = 0; i < shape.row_dim; ++i) {
        set(row, i, random->normal());
      }
    }
  }

  /// Sets one value, rounded to bf16 so that both types hold the same.
  void set(int64_t row, int64_t i, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits &= 0xffff0000U;
    std::memcpy(&wide_[row * shape_.stride() + i], &bits, sizeof(bits));
    half_[row * shape_.stride() + i] = static_cast<uint16_t>(bits >> 16);
  }
  void fill_row(int64_t row, float value) {
    for (int64_t i = 0; i < shape_.stride(); ++i) {
      set(row, i, value);
    }
  }
  double at(int64_t row, int64_t i) const {
    return static_cast<double>(wide_[row * shape_.stride() + i]);
  }
  std::vector<const void*> pages(LatentType type) const {
    std::vector<const void*> pages;
    const int64_t size = kMlaPageRows * shape_.stride();
    for (int64_t begin = 0; begin < wide_.size(); begin += size) {
      if (type == LatentType::kF32) {
        pages.push_back(wide_.data() + begin);
      } else {
        pages.push_back(half_.data() + begin);
      }
    }
    return pages;
  }

 private:
  Shape shape_;
  Floats wide_;
  Guarded<uint16_t> half_;
};

/// Queries and their running results.
struct Queries {
  Queries(const Shape& of, int64_t m, Random* random, float size)
      : shape(of), q(m * of.stride()), visible(static_cast<size_t>(m)) {
    for (int64_t r = 0; r < m; ++r) {
      for (int64_t i = 0; i < shape.row_dim; ++i) {
        q[r * shape.stride() + i] = random->normal(size);
      }
    }
  }
  int64_t m() const { return static_cast<int64_t>(visible.size()); }
  Shape shape;
  Floats q;
  std::vector<int64_t> visible;
};

struct Result {
  explicit Result(const Queries& queries)
      : max(queries.m(), -std::numeric_limits<float>::infinity()),
        sum(queries.m()),
        acc(queries.m() * queries.shape.acc_stride()) {}
  Floats max;
  Floats sum;
  Floats acc;
  bool check() const { return max.check() && sum.check() && acc.check(); }
};

constexpr float kScale = 0.11F;

/// Queries [first, first + m) over pages [begin, end), continuing `result`.
void attend(const Level& level, const Queries& queries, int64_t first, int64_t m,
            const Cache& cache, LatentType type, int64_t begin, int64_t end, Result* result) {
  const Shape& shape = queries.shape;
  const std::vector<const void*> pages = cache.pages(type);
  level.table->mla({queries.q.data() + first * shape.stride(), shape.stride(), m,
                    queries.visible.data() + first, kScale, type, pages.data(), shape.stride(),
                    shape.row_dim, shape.value_dim, begin, end, result->max.data() + first,
                    result->sum.data() + first, result->acc.data() + first * shape.acc_stride(),
                    shape.acc_stride()});
}

Floats finish(const Level& level, const Queries& queries, const Result& result, int64_t query) {
  Floats y(queries.shape.value_dim);
  level.table->mla_finish({result.acc.data() + query * queries.shape.acc_stride(),
                           result.sum[query], queries.shape.value_dim, y.data()});
  EXPECT_TRUE(y.check());
  return y;
}

/// Softmax attention of one query in double precision over rows [0, visible).
struct Oracle {
  std::vector<double> y;
  double terms = 0.0;       ///< largest sum of sizes of the terms of a score, scale included
  double value_size = 0.0;  ///< largest value seen
};

Oracle softmax_attention(const Queries& queries, int64_t query, const Cache& cache) {
  const Shape& shape = queries.shape;
  const int64_t rows = queries.visible[static_cast<size_t>(query)];
  Oracle oracle;
  oracle.y.assign(static_cast<size_t>(shape.value_dim), 0.0);
  std::vector<double> p;
  double max = -1e300;
  for (int64_t row = 0; row < rows; ++row) {
    double score = 0.0;
    double terms = 0.0;
    for (int64_t i = 0; i < shape.row_dim; ++i) {
      const double term = static_cast<double>(queries.q[query * shape.stride() + i]) *
                          cache.at(row, i) * static_cast<double>(kScale);
      score += term;
      terms += std::fabs(term);
    }
    p.push_back(score);
    max = std::fmax(max, score);
    oracle.terms = std::fmax(oracle.terms, terms);
  }
  double sum = 0.0;
  for (double& value : p) {
    value = std::exp(value - max);
    sum += value;
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < shape.value_dim; ++i) {
      oracle.y[static_cast<size_t>(i)] += p[static_cast<size_t>(row)] / sum * cache.at(row, i);
      oracle.value_size = std::fmax(oracle.value_size, std::fabs(cache.at(row, i)));
    }
  }
  return oracle;
}

/// The level whose bf16 kernel rounds queries and probabilities to 16 bits.
bool rounds_inputs(const Level& level, LatentType type) {
  return type == LatentType::kBf16 && level.table->mla != kernels::kernel_table(Isa::kScalar).mla &&
         (level.name == "avx512_bf16" || level.name == "amx");
}

/// Largest error of a result: a score off by d moves a weight by exp(d) - 1, on both sides of the
/// quotient, and every weight is rounded once more. `terms` is a sum of absolute values: roundings
/// of the sum, of random sign, reach about eps of it, and those of 16-bit inputs (2^-9 each, of
/// random sign too) stay below a quarter of 2^-9 of it.
double bound_of(const Oracle& oracle, bool rounded) {
  const double score = oracle.terms * (rounded ? 0x1p-11 : 2 * kEps);
  return (2 * std::expm1(score) + (rounded ? 0x1p-8 : 16 * kEps)) * oracle.value_size;
}

void expect_close(const Level& level, const Queries& queries, const Cache& cache, LatentType type,
                  const Result& result) {
  for (int64_t r = 0; r < queries.m(); ++r) {
    if (queries.visible[static_cast<size_t>(r)] == 0) {
      EXPECT_EQ(result.sum[r], 0.0F) << level.name << ": nothing to see";
      continue;
    }
    const Oracle oracle = softmax_attention(queries, r, cache);
    const double bound = bound_of(oracle, rounds_inputs(level, type));
    const Floats y = finish(level, queries, result, r);
    for (int64_t i = 0; i < y.size(); ++i) {
      ASSERT_TRUE(close(y[i], oracle.y[static_cast<size_t>(i)], 0, bound))
          << level.name << " query " << r << " of " << queries.m() << " value " << i << ": " << y[i]
          << " for " << oracle.y[static_cast<size_t>(i)] << " within " << bound;
    }
  }
}

std::vector<LatentType> both_types() { return {LatentType::kF32, LatentType::kBf16}; }

TEST(Mla, IsSoftmaxAttentionForAnyShapeAndNumberOfQueries) {
  Random random(seed_of_test());
  for (const Shape& shape :
       {Shape{576, 512}, Shape{40, 32}, Shape{24, 16}, Shape{97, 80}, Shape{5, 1}}) {
    const int64_t pages = 3;
    const Cache cache(shape, pages, &random);
    for (const int64_t m : {1, 2, 3, 4, 5, 8, 9, 31, 33, 70}) {
      if (shape.row_dim > 500 && m > 9) {
        continue;
      }
      Queries queries(shape, m, &random, 1.0F);
      for (int64_t& visible : queries.visible) {
        visible = random.integer(0, pages * kMlaPageRows);
      }
      for (const LatentType type : both_types()) {
        for (const Level& level : kernel_levels()) {
          Result result(queries);
          attend(level, queries, 0, m, cache, type, 0, pages, &result);
          expect_close(level, queries, cache, type, result);
          ASSERT_TRUE(result.check()) << level.name;
        }
      }
    }
  }
}

TEST(Mla, AQueryHasTheSameBitsAloneAndAmongOthersAndInAnyCutOfPages) {
  Random random(seed_of_test());
  for (const Shape& shape : {Shape{576, 512}, Shape{97, 80}}) {
    const int64_t pages = 4;
    const int64_t m = 41;
    const Cache cache(shape, pages, &random);
    Queries queries(shape, m, &random, 1.0F);
    for (int64_t r = 0; r < m; ++r) {
      queries.visible[static_cast<size_t>(r)] = r < 17 ? 130 + r / 4 : random.integer(0, 256);
    }
    for (const LatentType type : both_types()) {
      for (const Level& level : kernel_levels()) {
        Result whole(queries);
        attend(level, queries, 0, m, cache, type, 0, pages, &whole);
        Result alone(queries);
        for (int64_t r = 0; r < m; ++r) {
          attend(level, queries, r, 1, cache, type, 0, pages, &alone);
        }
        Result cut(queries);
        for (int64_t first = 0; first < m;) {
          const int64_t n = random.integer(1, m - first);
          for (int64_t page = 0; page < pages; ++page) {
            attend(level, queries, first, n, cache, type, page, page + 1, &cut);
          }
          first += n;
        }
        for (const Result* other : {&alone, &cut}) {
          ASSERT_TRUE(same_bits(other->max, whole.max)) << level.name;
          ASSERT_TRUE(same_bits(other->sum, whole.sum)) << level.name;
          for (int64_t r = 0; r < m; ++r) {
            const int64_t at = r * shape.acc_stride();
            ASSERT_TRUE(same_bits(other->acc.data() + at, whole.acc.data() + at, shape.value_dim))
                << level.name << " query " << r;
          }
        }
      }
    }
  }
}

TEST(Mla, RowsThatAQueryDoesNotSeeHaveNoPartInItWhateverTheyHold) {
  Random random(seed_of_test());
  const Shape shape = {72, 64};
  const Cache clean(shape, 2, &random);
  Cache poisoned = clean;
  for (const int64_t row : {33, 70, 71, 100, 127}) {
    poisoned.fill_row(row, std::numeric_limits<float>::quiet_NaN());
  }
  const int64_t m = 24;
  Queries queries(shape, m, &random, 1.0F);
  const int64_t sights[] = {33, 33, 33, 128, 5, 32, 31, 33, 33, 33, 33, 33, 33, 33, 33, 33};
  for (int64_t r = 0; r < m; ++r) {
    queries.visible[static_cast<size_t>(r)] = sights[r % 16];
  }
  for (const LatentType type : both_types()) {
    for (const Level& level : kernel_levels()) {
      Result wanted(queries);
      attend(level, queries, 0, m, clean, type, 0, 2, &wanted);
      Result found(queries);
      attend(level, queries, 0, m, poisoned, type, 0, 2, &found);
      for (int64_t r = 0; r < m; ++r) {
        const Floats y = finish(level, queries, found, r);
        if (queries.visible[static_cast<size_t>(r)] == 128) {
          EXPECT_TRUE(std::isnan(y[0])) << level.name << ": a NaN that is seen must show";
        } else {
          ASSERT_TRUE(same_bits(y, finish(level, queries, wanted, r))) << level.name << " " << r;
        }
      }
    }
  }
}

TEST(Mla, HugeScoresOfRisingAndFallingPagesDoNotOverflow) {
  Random random(seed_of_test());
  const Shape shape = {32, 16};
  for (const float direction : {1.0F, -1.0F}) {
    Cache cache(shape, 3, &random);
    for (int64_t row = 0; row < 3 * kMlaPageRows; ++row) {
      cache.set(row, 31, direction * static_cast<float>(row));
    }
    Queries queries(shape, 6, &random, 0.1F);
    for (int64_t r = 0; r < queries.m(); ++r) {
      queries.q[r * shape.stride() + 31] = 512.0F;  // exact in bf16: scores up to 1e4
      queries.visible[static_cast<size_t>(r)] = 3 * kMlaPageRows - r;
    }
    for (const LatentType type : both_types()) {
      for (const Level& level : kernel_levels()) {
        Result result(queries);
        attend(level, queries, 0, queries.m(), cache, type, 0, 3, &result);
        for (int64_t r = 0; r < queries.m(); ++r) {
          // Neighbouring rows are 56 apart in score: the first or the last row is all there is.
          const int64_t row = direction < 0 ? 0 : queries.visible[static_cast<size_t>(r)] - 1;
          const Floats y = finish(level, queries, result, r);
          for (int64_t i = 0; i < shape.value_dim; ++i) {
            ASSERT_TRUE(close(y[i], cache.at(row, i), 1e-6, 1e-6)) << level.name;
          }
        }
      }
    }
  }
}

TEST(Mla, SpansComputedApartMergeIntoTheWhole) {
  Random random(seed_of_test());
  const Shape shape = {97, 80};
  const int64_t pages = 6;
  const Cache cache(shape, pages, &random);
  Queries queries(shape, 5, &random, 1.0F);
  queries.visible = {384, 200, 64, 1, 300};
  for (const LatentType type : both_types()) {
    for (const Level& level : kernel_levels()) {
      Result merged(queries);
      for (int64_t begin = 0; begin < pages; begin += 2) {
        Result part(queries);
        attend(level, queries, 0, queries.m(), cache, type, begin, begin + 2, &part);
        for (int64_t r = 0; r < queries.m(); ++r) {
          const int64_t at = r * shape.acc_stride();
          level.table->mla_merge({merged.max.data() + r, merged.sum.data() + r,
                                  merged.acc.data() + at, part.max[r], part.sum[r],
                                  part.acc.data() + at, shape.value_dim});
        }
      }
      expect_close(level, queries, cache, type, merged);
      ASSERT_TRUE(merged.check());
    }
  }
}

TEST(Mla, LatentRowsLongerThanTheKernelsScratchAreTaken) {
  Random random(seed_of_test());
  const Shape shape = {2100, 2048};
  const Cache cache(shape, 1, &random);
  Queries queries(shape, 5, &random, 0.2F);
  queries.visible = {64, 1, 63, 20, 33};
  for (const LatentType type : both_types()) {
    for (const Level& level : kernel_levels()) {
      Result result(queries);
      attend(level, queries, 0, queries.m(), cache, type, 0, 1, &result);
      expect_close(level, queries, cache, type, result);
    }
  }
}

}  // namespace
}  // namespace trine::testing
