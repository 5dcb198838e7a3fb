// Absorbed attention over latent pages in fp32 (spec section 6), for the namespace it is included
// in.
//
// A page is visited once for all queries, in groups whose probabilities fit the first cache level.
// A score is one chain per lane along the row, then the tree of sum4; the weighted sum is one chain
// per value over the rows, ascending. Queries share loads, never sums: what a query gets does not
// depend on its neighbours. bf16 rows are widened once for a group.

namespace {

constexpr int64_t kGroupQueries = 32;
constexpr int64_t kBlockRows = 8;      ///< latent rows that meet all queries at a time
constexpr int64_t kWideValues = 1024;  ///< longest bf16 row that is widened
constexpr int64_t kSumValues = kManyVecs * kLanes;

/// Queries [first, first + n) at one page.
struct Group {
  int64_t first;
  int64_t n;
  int64_t limit;                                     ///< most rows that any of them sees
  int64_t count[kGroupQueries];                      ///< rows that each of them sees
  float keep[kGroupQueries];                         ///< exp(old max - new max)
  alignas(64) float p[kGroupQueries][kMlaPageRows];  ///< scores, then probabilities
};

inline int64_t clamp_rows(int64_t seen) {
  return seen < 0 ? 0 : (seen < kMlaPageRows ? seen : kMlaPageRows);
}

/// p[query][row ..row+4) of Q queries: products with four rows.
template <int Q>
[[gnu::noinline]] void score_tile(const float* q, int64_t q_stride, const float* rows,
                                  int64_t row_stride, int64_t values, float (*p)[kMlaPageRows],
                                  int64_t row) {
  Vec acc[size_t{Q}][4];
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = zero();
  }
  for (int64_t at = 0; at < values; at += kLanes) {
    Vec x[size_t{Q}];
#pragma GCC unroll 16
    for (int i = 0; i < Q; ++i) {
      x[i] = in_register(load(q + i * q_stride + at));
    }
#pragma GCC unroll 16
    for (int r = 0; r < 4; ++r) {
      const Vec value = in_register(load(rows + r * row_stride + at));
#pragma GCC unroll 16
      for (int i = 0; i < Q; ++i) {
        acc[i][r] = fma(x[i], value, acc[i][r]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
    sum4(acc[i][0], acc[i][1], acc[i][2], acc[i][3], p[i] + row);
  }
}

/// Scores of the group with rows [row, row + n), n a multiple of 4, which lie at `rows`.
inline void score_rows(const MlaArgs& args, Group* group, const float* rows, int64_t row,
                       int64_t n) {
  const int64_t values = (args.row_dim + kLanes - 1) / kLanes * kLanes;
  int64_t i = 0;
  for (; i + kScoreQueries <= group->n; i += kScoreQueries) {
    const float* q = args.q + (group->first + i) * args.q_stride;
    for (int64_t r = 0; r < n; r += 4) {
      score_tile<kScoreQueries>(q, args.q_stride, rows + r * args.row_stride, args.row_stride,
                                values, group->p + i, row + r);
    }
  }
  for (; i < group->n; ++i) {
    const float* q = args.q + (group->first + i) * args.q_stride;
    for (int64_t r = 0; r < n; r += 4) {
      score_tile<1>(q, args.q_stride, rows + r * args.row_stride, args.row_stride, values,
                    group->p + i, row + r);
    }
  }
}

/// A few rows at a time, which stay in the first cache level while all queries meet them.
inline void score_page(const MlaArgs& args, Group* group, const void* page, Ahead* ahead) {
  alignas(64) float wide[kBlockRows * kWideValues];
  const int64_t limit = (group->limit + 3) / 4 * 4;
  for (int64_t row = 0; row < limit; row += kBlockRows) {
    const int64_t n = limit - row < kBlockRows ? limit - row : kBlockRows;
    const int64_t at = row * args.row_stride;
    ahead->fetch(kBlockRows * args.row_stride * (args.type == LatentType::kF32 ? 2 : 1));
    if (args.type == LatentType::kF32) {
      score_rows(args, group, static_cast<const float*>(page) + at, row, n);
      continue;
    }
    for (int64_t i = 0; i < n * args.row_stride; i += kLanes) {
      store(wide + i, load_bf16(static_cast<const uint16_t*>(page) + at + i));
    }
    score_rows(args, group, wide, row, n);
  }
}

/// Turns the scores of query i of the group into probabilities; moves its maximum and its sum on.
inline void online_softmax(const MlaArgs& args, Group* group, int64_t i) {
  float* p = group->p[i];
  const int64_t count = group->count[i];
  const Vec scale = set(args.scale);
  const Vec nothing = set(-INFINITY);
  Vec top = nothing;
  for (int64_t row = 0; row < kMlaPageRows; row += kLanes) {
    const Vec score = keep_first(mul(load(p + row), scale), clamp_rows(count - row), nothing);
    store(p + row, score);
    top = max(top, score);
  }
  const int64_t query = group->first + i;
  const float old_max = args.max[query];
  const float page_max = max_of(top);
  const float new_max = page_max > old_max ? page_max : old_max;
  Vec total = zero();
  for (int64_t row = 0; row < kMlaPageRows; row += kLanes) {
    const Vec e = exp(sub(load(p + row), set(new_max)));
    store(p + row, e);
    total = add(total, e);
  }
  group->keep[i] = exp_of(old_max - new_max);
  args.max[query] = new_max;
  args.sum[query] = args.sum[query] * group->keep[i] + sum(total);
}

/// Latent rows as the weighted sum reads them: C vectors of row r at values + r * stride.
struct ValueRows {
  const float* values;
  int64_t stride;
};

/// acc[q] (+)= sum over rows [begin, end) of p[q][row] * values[row], for Q queries and C vectors.
template <int Q, int C>
[[gnu::noinline]] void sum_tile(const ValueRows& rows, const float (*p)[kMlaPageRows],
                                const float* keep, int64_t begin, int64_t end, float* acc,
                                int64_t acc_stride) {
  Vec total[size_t{Q}][size_t{C}];
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      const Vec old = load(acc + i * acc_stride + c * kLanes);
      total[i][c] = begin == 0 ? mul(old, set(keep[i])) : old;
    }
  }
  for (int64_t row = begin; row < end; ++row) {
    Vec v[size_t{C}];
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      v[c] = in_register(load(rows.values + row * rows.stride + c * kLanes));
    }
#pragma GCC unroll 16
    for (int i = 0; i < Q; ++i) {
      const Vec weight = set(p[i][row]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        total[i][c] = fma(weight, v[c], total[i][c]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Q; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      store(acc + i * acc_stride + c * kLanes, total[i][c]);
    }
  }
}

/// Q queries from i on: together over the rows all of them see, then each alone over the rest, so
/// that a row that a query does not see has no part in its result, whatever it holds.
template <int Q, int C>
inline void sum_queries(const MlaArgs& args, const Group& group, int64_t i, const ValueRows& rows,
                        int64_t column) {
  int64_t common = group.count[i];
  for (int64_t k = i + 1; k < i + Q; ++k) {
    common = group.count[k] < common ? group.count[k] : common;
  }
  float* acc = args.acc + (group.first + i) * args.acc_stride + column;
  if (common > 0) {
    sum_tile<Q, C>(rows, group.p + i, group.keep + i, 0, common, acc, args.acc_stride);
  }
  for (int64_t k = 0; k < Q; ++k) {
    if (group.count[i + k] > common) {
      sum_tile<1, C>(rows, group.p + i + k, group.keep + i + k, common, group.count[i + k],
                     acc + k * args.acc_stride, args.acc_stride);
    }
  }
}

/// C vectors of values from `column` on, for all queries of the group.
template <int C>
inline void sum_columns(const MlaArgs& args, const Group& group, const void* page, int64_t column) {
  alignas(64) float wide[kMlaPageRows * kSumValues];
  ValueRows rows = {nullptr, args.row_stride};
  if (args.type == LatentType::kF32) {
    rows.values = static_cast<const float*>(page) + column;
  } else {
    const uint16_t* from = static_cast<const uint16_t*>(page) + column;
    for (int64_t row = 0; row < group.limit; ++row) {
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        store(wide + row * kSumValues + c * kLanes,
              load_bf16(from + row * args.row_stride + c * kLanes));
      }
    }
    rows = {wide, kSumValues};
  }
  int64_t i = 0;
  for (; i + kManyRows <= group.n; i += kManyRows) {
    sum_queries<kManyRows, C>(args, group, i, rows, column);
  }
  for (; i + kSomeRows <= group.n; i += kSomeRows) {
    sum_queries<kSomeRows, C>(args, group, i, rows, column);
  }
  for (; i < group.n; ++i) {
    sum_queries<1, C>(args, group, i, rows, column);
  }
}

inline void attend(const MlaArgs& args, Group* group, const void* page, Ahead* ahead) {
  score_page(args, group, page, ahead);
  for (int64_t i = 0; i < group->n; ++i) {
    if (group->count[i] > 0) {
      online_softmax(args, group, i);
    }
  }
  const int64_t columns = (args.value_dim + 15) / 16 * 16;
  int64_t column = 0;
  for (; column + kSumValues <= columns; column += kSumValues) {
    ahead->fetch(kMlaPageRows * kSumValues * (args.type == LatentType::kF32 ? 2 : 1));
    sum_columns<kManyVecs>(args, *group, page, column);
  }
  for (; column < columns; column += kLanes) {
    sum_columns<1>(args, *group, page, column);
  }
}

}  // namespace

void mla(const MlaArgs& args) {
  if (args.type == LatentType::kBf16 && args.row_stride > kWideValues) {
    scalar::mla(args);  // by the shape alone: the same way for every query and page
    return;
  }
  Group group;
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
      if (group.limit > 0) {
        attend(args, &group, args.pages[page], &ahead);
      }
    }
  }
}

void mla_merge(const MlaMergeArgs& args) {
  if (args.other_sum == 0.0F) {
    return;  // the other saw no row: its maximum is -inf
  }
  const float max = args.other_max > *args.max ? args.other_max : *args.max;
  const float keep = exp_of(*args.max - max);
  const float take = exp_of(args.other_max - max);
  for_each_vec(args.n, [&](auto at) {
    const Vec kept = mul(at.load_from(args.acc), set(keep));
    at.store_to(args.acc, fma(at.load_from(args.other_acc), set(take), kept));
  });
  *args.sum = *args.sum * keep + args.other_sum * take;
  *args.max = max;
}

void mla_finish(const MlaFinishArgs& args) {
  const Vec inverse = set(1.0F / args.sum);
  for_each_vec(args.n, [&](auto at) { at.store_to(args.y, mul(at.load_from(args.acc), inverse)); });
}
