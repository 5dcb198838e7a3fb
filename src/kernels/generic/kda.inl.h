// KDA of one head (spec section 5; the formulas stand in args.h), for the namespace it is included
// in.
//
// Tokens of one chunk are computed together, so that the state is streamed once per chunk and not
// once per token; every number keeps the order of the one-token path: sums over the key axis ascend
// in one chain (blocks of kKeyBlock: dot products one block after the other), then the open rows
// ascend.

namespace {

constexpr int64_t kKeyBlock = 128;
constexpr int64_t kStateAlign = 16;

inline int64_t padded(int64_t head_dim) {
  return (head_dim + kStateAlign - 1) / kStateAlign * kStateAlign;
}

/// The tokens of one call that lie in one chunk: open rows [slot, slot + count).
struct Segment {
  int64_t first;  ///< row of the call
  int64_t slot;
  int64_t count;
};

/// What the tokens of a segment need besides their inputs.
struct Scratch {
  alignas(64) float decayed[2 * kKdaChunk][kKeyBlock];  ///< k*D of each token, then q*D of each
  alignas(64) float decay[kKeyBlock];
  float from_k[kKdaChunk][kKdaChunk];  ///< [token][open row]: k_t . open k_s
  float from_q[kKdaChunk][kKdaChunk];  ///< [token][open row]: q_t . open k_s
  float* sums[2 * kKdaChunk];          ///< where (k*D)^T S and (q*D)^T S of each token are summed
};

/// Vectors of one token over [begin, begin + n) of the key axis.
struct KeyRow {
  const float* q;
  const float* k;
  const float* g;
  int64_t n;
};

/// Adds g to the running sum; leaves exp(g) in `decay` and the token's k*D and q*D in `kd` and
/// `qd`.
inline void decay_token(const KeyRow& row, float* open_g, float* decay, float* kd, float* qd) {
  for (int64_t i = 0; i < row.n; i += kLanes) {
    const int64_t left = row.n - i;
    const Vec g = load_first(row.g + i, left);
    const Vec total = add(load(open_g + i), g);
    store_first(open_g + i, total, left);
    store(decay + i, exp(g));
    const Vec since_border = exp(total);
    store(kd + i, mul(load_first(row.k + i, left), since_border));
    store(qd + i, mul(load_first(row.q + i, left), since_border));
  }
}

/// Decays open row s by this token and adds its products with the token's k and q.
inline void decay_open_row(const KeyRow& row, const float* decay, float* open_k, float* from_k,
                           float* from_q) {
  Vec k_sum = zero();
  Vec q_sum = zero();
  for (int64_t i = 0; i < row.n; i += kLanes) {
    const int64_t left = row.n - i;
    const Vec old = mul(load(open_k + i), load(decay + i));
    store_first(open_k + i, old, left);
    k_sum = fma(load_first(row.k + i, left), old, k_sum);
    q_sum = fma(load_first(row.q + i, left), old, q_sum);
  }
  *from_k += sum(k_sum);
  *from_q += sum(q_sum);
}

/// Opens the token's own row (k, zero beyond the head) and adds q . k.
inline void open_own_row(const KeyRow& row, float* open_k, float* from_q) {
  Vec q_sum = zero();
  for (int64_t i = 0; i < row.n; i += kLanes) {
    const Vec k = load_first(row.k + i, row.n - i);
    store(open_k + i, k);
    q_sum = fma(load_first(row.q + i, row.n - i), k, q_sum);
  }
  *from_q += sum(q_sum);
}

/// Everything of a segment that runs along the key axis, for keys [begin, begin + n).
inline void prepare_keys(const KdaArgs& args, const Segment& segment, int64_t begin, int64_t n,
                         Scratch* scratch) {
  const int64_t stride = padded(args.head_dim);
  for (int64_t t = 0; t < segment.count; ++t) {
    const int64_t at = (segment.first + t) * args.stride + begin;
    const KeyRow row = {args.q + at, args.k + at, args.g + at, n};
    const int64_t slot = segment.slot + t;
    decay_token(row, args.open_g + begin, scratch->decay, scratch->decayed[t],
                scratch->decayed[segment.count + t]);
    float* open_k = args.open_k + begin;
    for (int64_t s = 0; s < slot; ++s) {
      decay_open_row(row, scratch->decay, open_k + s * stride, &scratch->from_k[t][s],
                     &scratch->from_q[t][s]);
    }
    open_own_row(row, open_k + slot * stride, &scratch->from_q[t][slot]);
  }
}

/// sums[r][j ..] += sum over n keys of decayed[r][i] * state[i][j ..], for R rows and C vectors of
/// j.
template <int R, int C>
[[gnu::noinline]] void state_tile(const float (*decayed)[kKeyBlock], const float* state,
                                  int64_t stride, int64_t n, float* const* sums, int64_t j,
                                  int64_t left) {
  Vec acc[size_t{R}][size_t{C}];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      acc[r][c] = load_first(sums[r] + j + c * kLanes, left - c * kLanes);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    Vec s[size_t{C}];
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      s[c] = in_register(load(state + i * stride + j + c * kLanes));
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec x = set(decayed[r][i]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        acc[r][c] = fma(x, s[c], acc[r][c]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      store_first(sums[r] + j + c * kLanes, acc[r][c], left - c * kLanes);
    }
  }
}

/// state_tile over all columns for R rows, C vectors at a time.
template <int R, int C>
inline void state_rows(const KdaArgs& args, const float (*decayed)[kKeyBlock], const float* state,
                       int64_t n, float* const* sums) {
  const int64_t stride = padded(args.head_dim);
  int64_t j = 0;
  for (; j + C * kLanes <= args.head_dim; j += C * kLanes) {
    state_tile<R, C>(decayed, state, stride, n, sums, j, args.head_dim - j);
  }
  for (; j < args.head_dim; j += kLanes) {
    state_tile<R, 1>(decayed, state, stride, n, sums, j, args.head_dim - j);
  }
}

inline void read_state(const KdaArgs& args, const Segment& segment, int64_t begin, int64_t n,
                       const Scratch& scratch) {
  const float* state = args.state + begin * padded(args.head_dim);
  const int64_t rows = 2 * segment.count;
  int64_t r = 0;
  for (; r + kManyRows <= rows; r += kManyRows) {
    state_rows<kManyRows, kManyVecs>(args, scratch.decayed + r, state, n, scratch.sums + r);
  }
  for (; r + kSomeRows <= rows; r += kSomeRows) {
    state_rows<kSomeRows, kSomeVecs>(args, scratch.decayed + r, state, n, scratch.sums + r);
  }
  for (; r < rows; r += kFewRows) {
    state_rows<kFewRows, kFewVecs>(args, scratch.decayed + r, state, n, scratch.sums + r);
  }
}

/// Turns w = (k*D)^T S into u and completes the output of one token, for C vectors of the value
/// axis.
template <int C>
[[gnu::noinline]] void solve_tile(const KdaArgs& args, const Segment& segment, int64_t t, int64_t j,
                                  const Scratch& scratch) {
  const int64_t stride = padded(args.head_dim);
  const int64_t slot = segment.slot + t;
  const int64_t row = segment.first + t;
  float* u_row = args.open_u + slot * stride + j;
  float* out = args.out + row * args.out_stride + j;
  const float* v = args.v + row * args.stride + j;
  const Vec beta = set(args.beta[row * args.beta_stride]);
  const int64_t left = args.head_dim - j;
  Vec w[size_t{C}];
  Vec y[size_t{C}];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) {
    w[c] = load(u_row + c * kLanes);
    y[c] = load_first(out + c * kLanes, left - c * kLanes);
  }
  for (int64_t s = 0; s < slot; ++s) {
    const Vec from_k = set(scratch.from_k[t][s]);
    const Vec from_q = set(scratch.from_q[t][s]);
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      const Vec u = load(args.open_u + s * stride + j + c * kLanes);
      w[c] = fma(from_k, u, w[c]);
      y[c] = fma(from_q, u, y[c]);
    }
  }
  const Vec own = set(scratch.from_q[t][slot]);
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) {
    const Vec u = mul(beta, sub(load_first(v + c * kLanes, left - c * kLanes), w[c]));
    store(u_row + c * kLanes, u);
    store_first(out + c * kLanes, fma(own, u, y[c]), left - c * kLanes);
  }
}

inline void solve(const KdaArgs& args, const Segment& segment, const Scratch& scratch) {
  for (int64_t t = 0; t < segment.count; ++t) {
    int64_t j = 0;
    for (; j + 4 * kLanes <= args.head_dim; j += 4 * kLanes) {
      solve_tile<4>(args, segment, t, j, scratch);
    }
    for (; j < args.head_dim; j += kLanes) {
      solve_tile<1>(args, segment, t, j, scratch);
    }
  }
}

/// The state of R keys after the open rows, C vectors of the value axis: D S + sum_s open k_s
/// u_s^T.
struct FoldArgs {
  int64_t head_dim;
  int64_t open_rows;
  const float* state;
  const float* open_k;
  const float* open_u;
  float* out;
  int64_t out_stride;
  int64_t out_dim;  ///< values of an out row that may be written
};

template <int R, int C>
[[gnu::noinline]] void fold_tile(const FoldArgs& args, const float* decay, int64_t i, int64_t j) {
  const int64_t stride = padded(args.head_dim);
  Vec acc[size_t{R}][size_t{C}];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      acc[r][c] = mul(set(decay[r]), load(args.state + (i + r) * stride + j + c * kLanes));
    }
  }
  for (int64_t s = 0; s < args.open_rows; ++s) {
    Vec u[size_t{C}];
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      u[c] = in_register(load(args.open_u + s * stride + j + c * kLanes));
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vec k = set(args.open_k[s * stride + i + r]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        acc[r][c] = fma(k, u[c], acc[r][c]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      const int64_t at = j + c * kLanes;
      store_first(args.out + (i + r) * args.out_stride + at, acc[r][c], args.out_dim - at);
    }
  }
}

template <int R>
inline void fold_keys(const FoldArgs& args, const float* decay, int64_t i) {
  int64_t j = 0;
  for (; j + kManyVecs * kLanes <= args.head_dim; j += kManyVecs * kLanes) {
    fold_tile<R, kManyVecs>(args, decay, i, j);
  }
  for (; j < args.head_dim; j += kLanes) {
    fold_tile<R, 1>(args, decay, i, j);
  }
}

/// Keys of `decay` (kKeyBlock, from key `begin`) times the state plus the open rows.
inline void fold(const FoldArgs& args, const float* open_g) {
  alignas(64) float decay[kKeyBlock];
  for (int64_t begin = 0; begin < args.head_dim; begin += kKeyBlock) {
    const int64_t left = args.head_dim - begin;
    const int64_t n = left < kKeyBlock ? left : kKeyBlock;
    for (int64_t i = 0; i < n; i += kLanes) {
      store(decay + i, exp(load(open_g + begin + i)));
    }
    int64_t i = 0;
    for (; i + kManyRows <= n; i += kManyRows) {
      fold_keys<kManyRows>(args, decay + i, begin + i);
    }
    for (; i < n; ++i) {
      fold_keys<1>(args, decay + i, begin + i);
    }
  }
}

inline void close_chunk(const KdaArgs& args) {
  const int64_t stride = padded(args.head_dim);
  fold({args.head_dim, kKdaChunk, args.state, args.open_k, args.open_u, args.state, stride, stride},
       args.open_g);
  for (int64_t i = 0; i < stride; ++i) {
    args.open_g[i] = 0.0F;
  }
}

inline void run_segment(const KdaArgs& args, const Segment& segment) {
  Scratch scratch;
  const int64_t stride = padded(args.head_dim);
  for (int64_t t = 0; t < segment.count; ++t) {
    float* w = args.open_u + (segment.slot + t) * stride;
    float* out = args.out + (segment.first + t) * args.out_stride;
    scratch.sums[t] = w;
    scratch.sums[segment.count + t] = out;
    memset(w, 0, static_cast<size_t>(stride) * sizeof(float));
    memset(out, 0, static_cast<size_t>(args.head_dim) * sizeof(float));
    for (int64_t s = 0; s < kKdaChunk; ++s) {
      scratch.from_k[t][s] = 0.0F;
      scratch.from_q[t][s] = 0.0F;
    }
  }
  for (int64_t begin = 0; begin < args.head_dim; begin += kKeyBlock) {
    const int64_t left = args.head_dim - begin;
    const int64_t n = left < kKeyBlock ? left : kKeyBlock;
    prepare_keys(args, segment, begin, n, &scratch);
    read_state(args, segment, begin, n, scratch);
  }
  solve(args, segment, scratch);
}

}  // namespace

void kda(const KdaArgs& args) {
  int64_t row = 0;
  while (row < args.rows) {
    const int64_t slot = (args.position + row) % kKdaChunk;
    const int64_t left = args.rows - row;
    const int64_t room = kKdaChunk - slot;
    const Segment segment = {row, slot, left < room ? left : room};
    run_segment(args, segment);
    row += segment.count;
    if (segment.count == room) {
      close_chunk(args);
    }
  }
}

void kda_state(const KdaStateArgs& args) {
  fold({args.head_dim, args.open_rows, args.state, args.open_k, args.open_u, args.out,
        args.head_dim, args.head_dim},
       args.open_g);
}
