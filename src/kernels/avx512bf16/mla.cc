// Absorbed attention over bf16 latent pages with the BF16 dot product (spec section 6).
//
// Queries and probabilities are rounded to bf16 (the sum of the probabilities is taken of the
// rounded ones), products are summed in fp32. Scores: lanes along the row, two values per lane.
// Weighted sums: lanes along the values, rows in pairs (2r, 2r+1), ascending. As in
// generic/mla.inl.h queries share loads and never sums.
#include <math.h>
#include <stddef.h>

#include "kernels/avx512/ops.h"
#include "kernels/avx512/vec.h"
#include "kernels/avx512bf16/ops.h"

namespace trine::kernels::avx512bf16 {
namespace {

constexpr int64_t kGroupQueries = 32;
constexpr int64_t kRowValuesMax = 1024;
constexpr int64_t kPairs = kMlaPageRows / 2;
constexpr int64_t kColumns = 32;  ///< values of a row that are summed together

using avx512::abs;
using avx512::add;  // NOLINT(misc-unused-using-decls): found by the vector overload alone
using avx512::div;
using avx512::fma;
using avx512::keep_first;
using avx512::kLanes;
using avx512::load;
using avx512::max;
using avx512::max_of;
using avx512::min;
using avx512::mul;
using avx512::round;
using avx512::scale_by_pow2;
using avx512::set;
using avx512::store;
using avx512::sub;
using avx512::sum;
using avx512::sum4;
using avx512::Vec;
using avx512::where_less;
using avx512::zero;

// Uses the names above.
#include "kernels/generic/math.inl.h"

#include "kernels/generic/ahead.inl.h"

/// Queries [first, first + n) at one page.
struct Group {
  int64_t first;
  int64_t n;
  int64_t limit;                 ///< most rows that any of them sees
  int64_t count[kGroupQueries];  ///< rows that each of them sees
  float keep[kGroupQueries];     ///< exp(old max - new max)
  alignas(64) float scores[kGroupQueries][kMlaPageRows];
  alignas(64) uint32_t p[kGroupQueries][kPairs];  ///< probabilities, the even row in the low half
  alignas(64) uint16_t q[kGroupQueries * kRowValuesMax];
};

inline int64_t clamp_rows(int64_t seen) {
  return seen < 0 ? 0 : (seen < kMlaPageRows ? seen : kMlaPageRows);
}

inline __m512bh as_bf16(__m512i words) { return reinterpret_cast<__m512bh>(words); }

void round_queries(const MlaArgs& args, Group* group) {
  for (int64_t i = 0; i < group->n; ++i) {
    const float* q = args.q + (group->first + i) * args.q_stride;
    uint16_t* rounded = group->q + i * args.row_stride;
    for (int64_t at = 0; at < args.row_stride; at += 2 * kLanes) {
      const __m512bh both = _mm512_cvtne2ps_pbh(load(q + at + kLanes).v, load(q + at).v);
      _mm512_storeu_si512(rounded + at, reinterpret_cast<__m512i>(both));
    }
  }
}

/// scores[query][row .. row+4) of Q queries.
template <int Q>
[[gnu::noinline]] void score_tile(const uint16_t* q, const uint16_t* rows, int64_t stride,
                                  float (*scores)[kMlaPageRows], int64_t row) {
  __m512 acc[size_t{Q}][4];
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = _mm512_setzero_ps();
  }
  for (int64_t at = 0; at < stride; at += 2 * kLanes) {
    const __m512bh a = as_bf16(_mm512_loadu_si512(rows + at));
    const __m512bh b = as_bf16(_mm512_loadu_si512(rows + stride + at));
    const __m512bh c = as_bf16(_mm512_loadu_si512(rows + 2 * stride + at));
    const __m512bh d = as_bf16(_mm512_loadu_si512(rows + 3 * stride + at));
#pragma GCC unroll 16
    for (int i = 0; i < Q; ++i) {
      const __m512bh x = as_bf16(_mm512_loadu_si512(q + i * stride + at));
      acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, a);
      acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, b);
      acc[i][2] = _mm512_dpbf16_ps(acc[i][2], x, c);
      acc[i][3] = _mm512_dpbf16_ps(acc[i][3], x, d);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    sum4({acc[i][0]}, {acc[i][1]}, {acc[i][2]}, {acc[i][3]}, scores[i] + row);
  }
}

void score_page(const MlaArgs& args, Group* group, const uint16_t* page, Ahead* ahead) {
  const int64_t stride = args.row_stride;
  for (int64_t row = 0; row < group->limit; row += 4) {
    ahead->fetch(4 * stride);  // half of as much as is read: the other half is left for the sums
    const uint16_t* rows = page + row * stride;
    int64_t i = 0;
    for (; i + 4 <= group->n; i += 4) {
      score_tile<4>(group->q + i * stride, rows, stride, group->scores + i, row);
    }
    for (; i < group->n; ++i) {
      score_tile<1>(group->q + i * stride, rows, stride, group->scores + i, row);
    }
  }
}

/// Turns the scores of query i of the group into probabilities; moves its maximum and its sum on.
void online_softmax(const MlaArgs& args, Group* group, int64_t i) {
  float* scores = group->scores[i];
  const int64_t count = group->count[i];
  const Vec scale = set(args.scale);
  const Vec nothing = set(-INFINITY);
  Vec top = nothing;
  for (int64_t row = 0; row < kMlaPageRows; row += kLanes) {
    const Vec score = keep_first(mul(load(scores + row), scale), clamp_rows(count - row), nothing);
    store(scores + row, score);
    top = max(top, score);
  }
  const int64_t query = group->first + i;
  const float old_max = args.max[query];
  const float page_max = max_of(top);
  const float new_max = page_max > old_max ? page_max : old_max;
  Vec total = zero();
  for (int64_t row = 0; row < kMlaPageRows; row += 2 * kLanes) {
    const Vec low = exp(sub(load(scores + row), set(new_max)));
    const Vec high = exp(sub(load(scores + row + kLanes), set(new_max)));
    const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.v, low.v));
    _mm512_storeu_si512(group->p[i] + row / 2, both);
    const __m512i even = _mm512_slli_epi32(both, 16);
    const __m512i odd = _mm512_and_si512(both, _mm512_set1_epi32(-65536));
    const __m512 pairs = _mm512_add_ps(_mm512_castsi512_ps(even), _mm512_castsi512_ps(odd));
    total = add(total, {pairs});
  }
  group->keep[i] = exp_of(old_max - new_max);
  args.max[query] = new_max;
  args.sum[query] = args.sum[query] * group->keep[i] + sum(total);
}

/// Values of 32 columns in pairs of rows: word i of [pair][half] is one column, its even row in the
/// low half. The order of the columns is that of unpacking (see Columns).
struct PairedRows {
  alignas(64) uint32_t words[kPairs][2][16];
};

void pair_rows(const uint16_t* page, int64_t stride, int64_t rows, PairedRows* paired) {
  for (int64_t row = 0; row < rows; row += 2) {
    const __m512i even = _mm512_loadu_si512(page + row * stride);
    const __m512i odd = _mm512_loadu_si512(page + (row + 1) * stride);
    uint32_t* words = paired->words[row / 2][0];
    _mm512_store_si512(words, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(words + 16, _mm512_unpackhi_epi16(even, odd));
  }
}

/// 32 sums in the order of unpacking: columns 0-3, 8-11, 16-19, 24-27 in `low`, the others in
/// `high`.
struct Columns {
  __m512 low;
  __m512 high;
};

inline Columns load_columns(const float* acc, bool both) {
  const __m512 a = _mm512_loadu_ps(acc);
  const __m512 b = both ? _mm512_loadu_ps(acc + 16) : _mm512_setzero_ps();
  return {_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd)};
}

inline void store_columns(float* acc, const Columns& sums, bool both) {
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  _mm512_storeu_ps(acc, _mm512_permutex2var_ps(sums.low, first, sums.high));
  if (both) {
    _mm512_storeu_ps(acc + 16, _mm512_permutex2var_ps(sums.low, second, sums.high));
  }
}

/// Rows [begin, end) of a page; begin is even.
struct Span {
  int64_t begin;
  int64_t end;
};

/// acc[q] (+)= sum over the span's rows of p[q][row] * values[row], for Q queries and 32 columns.
template <int Q>
[[gnu::noinline]] void sum_tile(const PairedRows& paired, const uint32_t (*p)[kPairs],
                                const float* keep, const Span& span, bool both, float* acc,
                                int64_t acc_stride) {
  Columns total[size_t{Q}];
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    total[i] = load_columns(acc + i * acc_stride, both);
    const __m512 factor = _mm512_set1_ps(span.begin == 0 ? keep[i] : 1.0F);
    total[i].low = _mm512_mul_ps(total[i].low, factor);
    total[i].high = _mm512_mul_ps(total[i].high, factor);
  }
  const int64_t pairs_end = span.end / 2;
  for (int64_t pair = span.begin / 2; pair < pairs_end; ++pair) {
    const __m512bh low = as_bf16(_mm512_load_si512(paired.words[pair][0]));
    const __m512bh high = as_bf16(_mm512_load_si512(paired.words[pair][1]));
#pragma GCC unroll 16
    for (int i = 0; i < Q; ++i) {
      const __m512bh weight = as_bf16(_mm512_set1_epi32(static_cast<int>(p[i][pair])));
      total[i].low = _mm512_dpbf16_ps(total[i].low, low, weight);
      total[i].high = _mm512_dpbf16_ps(total[i].high, high, weight);
    }
  }
  if (span.end % 2 != 0) {  // the odd row of the last pair is not seen, whatever it holds
    const __m512i even = _mm512_set1_epi32(0xffff);
    const __m512i low = _mm512_and_si512(even, _mm512_load_si512(paired.words[pairs_end][0]));
    const __m512i high = _mm512_and_si512(even, _mm512_load_si512(paired.words[pairs_end][1]));
#pragma GCC unroll 16
    for (int i = 0; i < Q; ++i) {
      const __m512bh weight =
          as_bf16(_mm512_set1_epi32(static_cast<int>(p[i][pairs_end] & 0xffffU)));
      total[i].low = _mm512_dpbf16_ps(total[i].low, as_bf16(low), weight);
      total[i].high = _mm512_dpbf16_ps(total[i].high, as_bf16(high), weight);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    store_columns(acc + i * acc_stride, total[i], both);
  }
}

/// Q queries from i on: together over what all of them see, then each alone over the rest.
template <int Q>
inline void sum_queries(const MlaArgs& args, const Group& group, int64_t i,
                        const PairedRows& paired, int64_t column, bool both) {
  int64_t least = group.count[i];
  int64_t most = least;
  for (int64_t k = i + 1; k < i + Q; ++k) {
    least = group.count[k] < least ? group.count[k] : least;
    most = group.count[k] > most ? group.count[k] : most;
  }
  const int64_t common = least == most ? most : least / 2 * 2;
  float* acc = args.acc + (group.first + i) * args.acc_stride + column;
  if (common > 0) {
    sum_tile<Q>(paired, group.p + i, group.keep + i, {0, common}, both, acc, args.acc_stride);
  }
  for (int64_t k = 0; k < Q; ++k) {
    if (group.count[i + k] > common) {
      sum_tile<1>(paired, group.p + i + k, group.keep + i + k, {common, group.count[i + k]}, both,
                  acc + k * args.acc_stride, args.acc_stride);
    }
  }
}

void sum_page(const MlaArgs& args, const Group& group, const uint16_t* page, Ahead* ahead) {
  const int64_t columns = (args.value_dim + kLanes - 1) / kLanes * kLanes;
  PairedRows paired;
  for (int64_t column = 0; column < columns; column += kColumns) {
    const bool both = column + kLanes < columns;
    ahead->fetch(kMlaPageRows * kColumns);
    pair_rows(page + column, args.row_stride, group.limit, &paired);
    int64_t i = 0;
    for (; i + 8 <= group.n; i += 8) {
      sum_queries<8>(args, group, i, paired, column, both);
    }
    for (; i + 4 <= group.n; i += 4) {
      sum_queries<4>(args, group, i, paired, column, both);
    }
    for (; i < group.n; ++i) {
      sum_queries<1>(args, group, i, paired, column, both);
    }
  }
}

}  // namespace

void mla(const MlaArgs& args) {
  if (args.type != LatentType::kBf16 || args.row_stride > kRowValuesMax) {
    avx512::mla(args);  // by the type and shape alone: the same way for every query and page
    return;
  }
  Group group;
  bool rounded = false;
  for (int64_t page = args.page_begin; page < args.page_end; ++page) {
    Ahead ahead = ahead_of(args, page);
    for (group.first = 0; group.first < args.m; group.first += kGroupQueries) {
      const int64_t left = args.m - group.first;
      group.n = left < kGroupQueries ? left : kGroupQueries;
      group.limit = 0;
      for (int64_t i = 0; i < group.n; ++i) {
        group.count[i] = clamp_rows(args.visible[group.first + i] - page * kMlaPageRows);
        group.limit = group.count[i] > group.limit ? group.count[i] : group.limit;
      }
      if (group.limit == 0) {
        continue;
      }
      if (!rounded || args.m > kGroupQueries) {
        round_queries(args, &group);
        rounded = true;
      }
      const uint16_t* rows = static_cast<const uint16_t*>(args.pages[page]);
      score_page(args, &group, rows, &ahead);
      for (int64_t i = 0; i < group.n; ++i) {
        if (group.count[i] > 0) {
          online_softmax(args, &group, i);
        }
      }
      sum_page(args, group, rows, &ahead);
    }
  }
}

}  // namespace trine::kernels::avx512bf16
