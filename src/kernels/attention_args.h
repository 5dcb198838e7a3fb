// Arguments of the KDA and MLA kernels (args.h has the contract they share with all kernels).
#pragma once

#include <stdint.h>

namespace trine::kernels {

// --------------------------------------------------------------------------------------------- KDA

/// Tokens per KDA chunk. Borders lie at absolute multiples; it divides 64.
constexpr int64_t kKdaChunk = 16;

/// `rows` tokens of one head, in order, starting at absolute position `position` (spec section 5).
/// Every token is computed as "state at the chunk's border + the rows of its chunk in order":
///   G      = running sum of g since the border, D = exp(G)
///   open k_s <- open k_s * exp(g_t) for every earlier row s of the chunk   (all factors <= 1: no
///   overflow) u_t    = beta_t (v_t - (k_t*D)^T S - sum_s (k_t . open k_s) u_s),   open k_t = k_t
///   o_t    = (q_t*D)^T S + sum_{s<=t} (q_t . open k_s) u_s
/// and when a chunk is full: S <- diag(D) S + sum_s open k_s u_s^T, G <- 0.
/// stride_dim = head_dim rounded up to 16; padding lanes of state and open rows stay zero.
struct KdaArgs {
  int64_t head_dim;
  int64_t rows;
  int64_t position;
  const float* q;
  const float* k;
  const float* v;
  const float* g;     ///< this head's first channel; q, k normalised
  int64_t stride;     ///< floats between tokens of q, k, v, g
  const float* beta;  ///< this head's value of the first token
  int64_t beta_stride;
  float* state;   ///< [head_dim][stride_dim]: key axis, then value axis
  float* open_k;  ///< [kKdaChunk][stride_dim]
  float* open_u;  ///< [kKdaChunk][stride_dim]
  float* open_g;  ///< [stride_dim], sum of log decays since the border
  float* out;
  int64_t out_stride;
};
/// The state after the open rows: out [head_dim][head_dim] = diag(exp(G)) S + sum_s open k_s u_s^T.
struct KdaStateArgs {
  int64_t head_dim;
  int64_t open_rows;
  const float* state;
  const float* open_k;
  const float* open_u;
  const float* open_g;
  float* out;
};

// --------------------------------------------------------------------------------------------- MLA

/// Latent rows per page of the cache.
constexpr int64_t kMlaPageRows = 64;
enum class LatentType : uint8_t { kF32, kBf16 };

/// Absorbed attention (spec section 6) of `m` queries over the pages [page_begin, page_end), online
/// softmax in ascending page order, continuing from (max, sum, acc). score = scale * q . row over
/// row_dim values; acc += p * row[0..value_dim). Query r sees the rows with absolute index <
/// visible[r] only. Start values: max = -inf, sum = 0, acc = 0. Rows have stride row_stride
/// (multiple of 32, zero padded).
struct MlaArgs {
  const float* q;  ///< [m][q_stride], zero padded to row_stride
  int64_t q_stride;
  int64_t m;
  const int64_t* visible;  ///< [m]
  float scale;
  LatentType type;
  const void* const* pages;  ///< pages[i] holds absolute rows [i*64, i*64+64)
  int64_t row_stride;
  int64_t row_dim;
  int64_t value_dim;
  int64_t page_begin;
  int64_t page_end;
  float* max;          ///< [m]
  float* sum;          ///< [m]
  float* acc;          ///< [m][acc_stride]
  int64_t acc_stride;  ///< multiple of 16, >= value_dim rounded up to 16
};
/// Merges a later partial result into an earlier one: (max, sum, acc) <- merge of both, for one
/// query.
struct MlaMergeArgs {
  float* max;
  float* sum;
  float* acc;
  float other_max;
  float other_sum;
  const float* other_acc;
  int64_t n;
};
/// y = acc / sum.
struct MlaFinishArgs {
  const float* acc;
  float sum;
  int64_t n;
  float* y;
};

}  // namespace trine::kernels
