// Gates, activations and the short convolution, one value at a time (spec sections 2 and 5).
#include <math.h>

#include "kernels/scalar/ops.h"

namespace trine::kernels::scalar {
namespace {

/// 1 / (1 + exp(-x)): exp may become inf for a very negative x, which gives 0 as it should.
float logistic(float x) { return 1.0F / (1.0F + expf(-x)); }

/// log(1 + exp(x)) without overflow for large x.
float softplus(float x) { return (x > 0.0F ? x : 0.0F) + log1pf(expf(-fabsf(x))); }

}  // namespace

void short_conv_silu(const ShortConvArgs& args) {
  const int64_t before = args.taps - 1;
  for (int64_t t = 0; t < args.rows; ++t) {
    for (int64_t c = 0; c < args.n; ++c) {
      float sum = 0.0F;
      for (int64_t j = 0; j < args.taps; ++j) {
        const int64_t row = t - before + j;
        const float z = row >= 0 ? args.x[row * args.x_stride + c]
                                 : args.history[(row + before) * args.history_stride + c];
        sum += args.w[j * args.w_stride + c] * z;
      }
      args.y[t * args.y_stride + c] = sum * logistic(sum);
    }
  }
}

void kda_gate_bounded(const KdaGateArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = args.lower_bound * logistic(args.a * (args.z[i] + args.dt_bias[i]));
  }
}

void kda_gate_softplus(const KdaGateArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = -args.a * softplus(args.z[i] + args.dt_bias[i]);
  }
}

void situ(const SituArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    const float g = args.g[i];
    const float u = args.u[i];
    const float up = args.linear_beta > 0.0F ? args.linear_beta * tanhf(u / args.linear_beta) : u;
    args.y[i] = args.beta * tanhf(g / args.beta) * logistic(g) * up;
  }
}

void silu_mul(const SiluArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = args.g[i] * logistic(args.g[i]) * args.u[i];
  }
}

void sigmoid_mul(const SigmoidMulArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = args.x[i] * logistic(args.gate[i]);
  }
}

void sigmoid(const SigmoidArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.x[i] = logistic(args.x[i]);
  }
}

}  // namespace trine::kernels::scalar
