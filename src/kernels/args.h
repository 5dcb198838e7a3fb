// Plain arguments of every kernel. ISA files include only this, their own and C headers.
//
// Numerics contract (docs/design/numerics.md), the same for every kernel of one ISA level:
//   * an output element is computed by one fixed sequence of operations that depends on the row's own
//     inputs and on the weights, never on the number of rows, the place of the row in the batch,
//     the range of outputs given to a call, or the thread;
//   * no kernel allocates, locks, throws, or touches memory outside its arguments.
// All pointers may be unaligned unless a comment says otherwise; sizes are in elements unless named *_bytes.
#pragma once

#include <stdint.h>

namespace trine::kernels {

// ---------------------------------------------------------------------------------- packed weights

/// Outputs that lie across the lanes of one panel.
constexpr int64_t kPanelOutputs = 16;
/// k is padded with zero weights to a multiple of this.
constexpr int64_t kKPadding = 32;

/// How one weight is coded. A 32-bit word of a panel holds 1, 2, 4 or 8 consecutive k of one output:
/// the even ones ascending in its low half (low bits first), the odd ones in its high half.
enum class WeightFormat : uint8_t {
  kF32,   ///< 1 per word
  kF16,   ///< 2 per word
  kBf16,  ///< 2 per word
  kInt8,  ///< 4 per word; signed
  kE4m3,  ///< 4 per word
  kE5m2,  ///< 4 per word
  kInt4,  ///< 8 per word; code u means u - 8
  kE2m1,  ///< 8 per word; OCP FP4
};

enum class ScaleKind : uint8_t {
  kNone,  ///< scale 1
  kF32,   ///< float
  kE8m0,  ///< byte e, scale 2^(e-127); 255 is refused at load
};

/// W [n, k] packed for the kernels: panels of 16 outputs, each panel `k_padded / per_word` rows of 16
/// 32-bit words (64 bytes, 64-byte aligned): word j of row i holds k = i*per_word ... of output j.
/// So a row of bf16 is what BF16 units take, and every narrower format becomes such rows by shifting
/// 16-bit lanes and looking them up, never crossing a lane.
/// Scales: [panel][k_padded/group rounded up][16]. Outputs beyond n and k beyond k are zero.
struct PackedView {
  WeightFormat format;
  ScaleKind scale_kind;
  int64_t n;         ///< outputs
  int64_t k;         ///< inputs
  int64_t k_padded;  ///< multiple of kKPadding
  int64_t group;     ///< k per scale: 16 or a multiple of 32; k_padded = one scale per output
  const uint8_t* data;
  const void* scales;
};

/// y[r, o] = sum_k x[row(r), k] * W[o, k] for r < m and the outputs o of panels [panel_begin, panel_end).
/// Order of the sum: without scales one chain of fused multiply-adds over ascending k from 0; with
/// scales one such chain per group, then total = fma(scale, chain, total) over ascending groups.
/// (matmul_bf16 on BF16 and AMX units: the unit's own order within a k-block, blocks ascending.)
struct MatmulArgs {
  const void* x;          ///< matmul_f32: float rows with k columns; matmul_bf16: bf16 rows, zero-padded to k_padded
  int64_t x_stride;
  const int32_t* x_rows;  ///< row(r) = x_rows[r], or r when null
  int64_t m;
  PackedView w;
  int64_t panel_begin;
  int64_t panel_end;
  float* y;               ///< y[r * y_stride + o]: columns are absolute outputs; only o < n is written
  int64_t y_stride;
};

/// The int8 path (opt-in). A float row becomes unsigned bytes u = 128 + round(x / scale) with one scale
/// max|x| / 127 per group of k, to nearest even; the four k of a 32-bit word lie in the order of packed
/// weights (0, 2, 1, 3). A group with a value that is not finite gets the scale NaN.
struct QuantiseRowsArgs {
  const float* x;
  int64_t x_stride;
  int64_t rows;
  int64_t k;
  int64_t group;  ///< multiple of 32, at most kInt8GroupMax
  uint8_t* y;     ///< rows of y_stride bytes; k up to the next multiple of 32 is written, zeros as 128
  int64_t y_stride;
  float* scales;  ///< rows of scale_stride floats, one per group
  int64_t scale_stride;
};
constexpr int64_t kInt8GroupMax = 1024;

/// y[r, o] as in MatmulArgs from quantised rows and kInt8 weights with kF32 scales of the same group:
/// total = fma(float(s), x_scale * w_scale, total) over ascending groups, s the exact integer sum of
/// (u - 128) * w. `offsets` are -128 * sum of w, one per scale and in the same places (pack.h).
struct MatmulI8Args {
  const uint8_t* x;
  int64_t x_stride;
  const float* x_scales;
  int64_t x_scale_stride;
  const int32_t* x_rows;  ///< as in MatmulArgs
  int64_t m;
  PackedView w;
  const int32_t* offsets;
  int64_t panel_begin;
  int64_t panel_end;
  float* y;
  int64_t y_stride;
};

// ------------------------------------------------------------------------------- rows, elementwise

/// y = x / sqrt(mean(x^2) + eps) * w over n values (spec section 2).
struct RmsNormArgs { const float* x; const float* w; int64_t n; float eps; float* y; };

/// Attention residual of one token (spec section 4): scores s_j = sum_i v_j,i * w_i / sqrt(mean(v_j^2)+eps),
/// y = sum_j softmax(s)_j v_j. w = norm weight * proj weight. count <= kAttnResValuesMax.
constexpr int64_t kAttnResValuesMax = 256;
struct AttnResArgs { const float* const* values; int64_t count; const float* w; int64_t n; float eps; float* y; };

/// Causal depth-wise convolution and SiLU over channels [0, n) of `rows` rows (spec section 5):
/// y[t] = silu(sum_j w[j*w_stride + c] * z[t-(taps-1)+j]), z before row 0 taken from history
/// [taps-1][history_stride], oldest first. y must not overlap x. History is not modified.
struct ShortConvArgs {
  const float* x; int64_t x_stride; const float* history; int64_t history_stride;
  const float* w; int64_t w_stride; int64_t taps; int64_t rows; int64_t n; float* y; int64_t y_stride;
};

/// x = x / sqrt(sum(x^2) + eps) * scale, in place, n values.
struct L2NormArgs { float* x; int64_t n; float eps; float scale; };

/// Log decay g from z (spec section 5), n channels of one head, a = exp(A_log): z' = z + dt_bias;
/// bounded: lower_bound * sigmoid(a * z'); softplus: -a * softplus(z'). y may be z.
struct KdaGateArgs { const float* z; const float* dt_bias; float a; float lower_bound; int64_t n; float* y; };

/// y = beta*tanh(g/beta)*sigmoid(g) * (linear_beta > 0 ? linear_beta*tanh(u/linear_beta) : u). y may be g.
struct SituArgs { const float* g; const float* u; float beta; float linear_beta; int64_t n; float* y; };
/// y = g*sigmoid(g)*u. y may be g.
struct SiluArgs { const float* g; const float* u; int64_t n; float* y; };
/// y = x * sigmoid(gate). y may be x.
struct SigmoidMulArgs { const float* x; const float* gate; int64_t n; float* y; };
/// x = sigmoid(x) in place.
struct SigmoidArgs { float* x; int64_t n; };
/// x = softmax(x) in place, fp32.
struct SoftmaxArgs { float* x; int64_t n; };
/// y += x.
struct AddArgs { const float* x; int64_t n; float* y; };
/// y = sum_j weights[j] * rows[j], j ascending.
struct WeightedSumArgs { const float* const* rows; const float* weights; int64_t count; int64_t n; float* y; };
/// bf16 (round to nearest even; NaN stays NaN) of n floats, zeros up to n_padded.
struct ToBf16Args { const float* x; int64_t n; int64_t n_padded; uint16_t* y; };
/// float of n bf16.
struct FromBf16Args { const uint16_t* x; int64_t n; float* y; };
/// True when every value is finite.
struct AllFiniteArgs { const float* x; int64_t n; };

// --------------------------------------------------------------------------------------------- KDA

/// Tokens per KDA chunk. Borders lie at absolute multiples; it divides 64.
constexpr int64_t kKdaChunk = 16;

/// `rows` tokens of one head, in order, starting at absolute position `position` (spec section 5).
/// Every token is computed as "state at the chunk's border + the rows of its chunk in order":
///   G      = running sum of g since the border, D = exp(G)
///   open k_s <- open k_s * exp(g_t) for every earlier row s of the chunk   (all factors <= 1: no overflow)
///   u_t    = beta_t (v_t - (k_t*D)^T S - sum_s (k_t . open k_s) u_s),   open k_t = k_t
///   o_t    = (q_t*D)^T S + sum_{s<=t} (q_t . open k_s) u_s
/// and when a chunk is full: S <- diag(D) S + sum_s open k_s u_s^T, G <- 0.
/// stride_dim = head_dim rounded up to 16; padding lanes of state and open rows stay zero.
struct KdaArgs {
  int64_t head_dim;
  int64_t rows;
  int64_t position;
  const float* q; const float* k; const float* v; const float* g;  ///< this head's first channel; q, k normalised
  int64_t stride;            ///< floats between tokens of q, k, v, g
  const float* beta;         ///< this head's value of the first token
  int64_t beta_stride;
  float* state;              ///< [head_dim][stride_dim]: key axis, then value axis
  float* open_k;             ///< [kKdaChunk][stride_dim]
  float* open_u;             ///< [kKdaChunk][stride_dim]
  float* open_g;             ///< [stride_dim], sum of log decays since the border
  float* out;
  int64_t out_stride;
};
/// The state after the open rows: out [head_dim][head_dim] = diag(exp(G)) S + sum_s open k_s u_s^T.
struct KdaStateArgs {
  int64_t head_dim; int64_t open_rows;
  const float* state; const float* open_k; const float* open_u; const float* open_g; float* out;
};

// --------------------------------------------------------------------------------------------- MLA

/// Latent rows per page of the cache.
constexpr int64_t kMlaPageRows = 64;
enum class LatentType : uint8_t { kF32, kBf16 };

/// Absorbed attention (spec section 6) of `m` queries over the pages [page_begin, page_end), online softmax in
/// ascending page order, continuing from (max, sum, acc). score = scale * q . row over row_dim values;
/// acc += p * row[0..value_dim). Query r sees the rows with absolute index < visible[r] only.
/// Start values: max = -inf, sum = 0, acc = 0. Rows have stride row_stride (multiple of 32, zero padded).
struct MlaArgs {
  const float* q;            ///< [m][q_stride], zero padded to row_stride
  int64_t q_stride;
  int64_t m;
  const int64_t* visible;    ///< [m]
  float scale;
  LatentType type;
  const void* const* pages;  ///< pages[i] holds absolute rows [i*64, i*64+64)
  int64_t row_stride;
  int64_t row_dim;
  int64_t value_dim;
  int64_t page_begin;
  int64_t page_end;
  float* max;                ///< [m]
  float* sum;                ///< [m]
  float* acc;                ///< [m][acc_stride]
  int64_t acc_stride;        ///< multiple of 16, >= value_dim rounded up to 16
};
/// Merges a later partial result into an earlier one: (max, sum, acc) <- merge of both, for one query.
struct MlaMergeArgs { float* max; float* sum; float* acc; float other_max; float other_sum; const float* other_acc; int64_t n; };
/// y = acc / sum.
struct MlaFinishArgs { const float* acc; float sum; int64_t n; float* y; };

}  // namespace trine::kernels
