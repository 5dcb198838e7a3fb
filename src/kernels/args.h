// Plain arguments of every kernel. ISA files include only this, their own and C headers.
//
// Numerics contract (docs/design/numerics.md), the same for every kernel of one ISA level:
//   * an output element is computed by one fixed sequence of operations that depends on the row's
//     own inputs and on the weights, never on the number of rows, the place of the row in the
//     batch, the range of outputs given to a call, or the thread;
//   * no kernel allocates, locks, throws, or touches memory outside its arguments.
// All pointers may be unaligned unless a comment says otherwise; sizes are in elements unless they
// are named *_bytes.
#pragma once

#include <stdint.h>

#include "kernels/attention_args.h"
#include "kernels/matmul_args.h"

namespace trine::kernels {

// ------------------------------------------------------------------------------- rows, elementwise

/// y = x / sqrt(mean(x^2) + eps) * w over n values (spec section 2).
struct RmsNormArgs {
  const float* x;
  const float* w;
  int64_t n;
  float eps;
  float* y;
};

/// Attention residual of one token (spec section 4): scores s_j = sum_i v_j,i * w_i /
/// sqrt(mean(v_j^2)+eps), y = sum_j softmax(s)_j v_j. w = norm weight * proj weight. count <=
/// kAttnResValuesMax.
constexpr int64_t kAttnResValuesMax = 256;
struct AttnResArgs {
  const float* const* values;
  int64_t count;
  const float* w;
  int64_t n;
  float eps;
  float* y;
};

/// Causal depth-wise convolution and SiLU over channels [0, n) of `rows` rows (spec section 5):
/// y[t] = silu(sum_j w[j*w_stride + c] * z[t-(taps-1)+j]), z before row 0 taken from history
/// [taps-1][history_stride], oldest first. y must not overlap x. History is not modified.
struct ShortConvArgs {
  const float* x;
  int64_t x_stride;
  const float* history;
  int64_t history_stride;
  const float* w;
  int64_t w_stride;
  int64_t taps;
  int64_t rows;
  int64_t n;
  float* y;
  int64_t y_stride;
};

/// x = x / sqrt(sum(x^2) + eps) * scale, in place, n values.
struct L2NormArgs {
  float* x;
  int64_t n;
  float eps;
  float scale;
};

/// Log decay g from z (spec section 5), n channels of one head, a = exp(A_log): z' = z + dt_bias;
/// bounded: lower_bound * sigmoid(a * z'); softplus: -a * softplus(z'). y may be z.
struct KdaGateArgs {
  const float* z;
  const float* dt_bias;
  float a;
  float lower_bound;
  int64_t n;
  float* y;
};

/// y = beta*tanh(g/beta)*sigmoid(g) * (linear_beta > 0 ? linear_beta*tanh(u/linear_beta) : u). y
/// may be g.
struct SituArgs {
  const float* g;
  const float* u;
  float beta;
  float linear_beta;
  int64_t n;
  float* y;
};
/// y = g*sigmoid(g)*u. y may be g.
struct SiluArgs {
  const float* g;
  const float* u;
  int64_t n;
  float* y;
};
/// y = x * sigmoid(gate). y may be x.
struct SigmoidMulArgs {
  const float* x;
  const float* gate;
  int64_t n;
  float* y;
};
/// x = sigmoid(x) in place.
struct SigmoidArgs {
  float* x;
  int64_t n;
};
/// x = softmax(x) in place, fp32.
struct SoftmaxArgs {
  float* x;
  int64_t n;
};
/// y += x.
struct AddArgs {
  const float* x;
  int64_t n;
  float* y;
};
/// y = sum_j weights[j] * rows[j], j ascending.
struct WeightedSumArgs {
  const float* const* rows;
  const float* weights;
  int64_t count;
  int64_t n;
  float* y;
};
/// bf16 (round to nearest even; NaN stays NaN) of n floats, zeros up to n_padded.
struct ToBf16Args {
  const float* x;
  int64_t n;
  int64_t n_padded;
  uint16_t* y;
};
/// float of n bf16.
struct FromBf16Args {
  const uint16_t* x;
  int64_t n;
  float* y;
};
/// True when every value is finite.
struct AllFiniteArgs {
  const float* x;
  int64_t n;
};

}  // namespace trine::kernels
