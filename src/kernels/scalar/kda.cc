// KDA of one head, token by token: "state at the chunk's border + the rows of its chunk in order"
// (spec section 5; the formulas stand in args.h).
#include <math.h>

#include "kernels/scalar/ops.h"

namespace trine::kernels::scalar {
namespace {

constexpr int64_t kLanes = 16;

int64_t padded(int64_t head_dim) { return (head_dim + kLanes - 1) / kLanes * kLanes; }

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0.0F;
  for (int64_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/// One token's inputs.
struct Token {
  const float* q;
  const float* k;
  const float* v;
  const float* g;
  float beta;
  float* out;
};

/// Decays the open rows by exp(g), opens row `slot` with k and adds g to the running sum.
void open_row(const KdaArgs& args, const Token& token, int64_t slot) {
  const int64_t stride = padded(args.head_dim);
  for (int64_t i = 0; i < args.head_dim; ++i) {
    const float decay = expf(token.g[i]);
    for (int64_t s = 0; s < slot; ++s) {
      args.open_k[s * stride + i] *= decay;
    }
    args.open_g[i] += token.g[i];
  }
  for (int64_t i = 0; i < stride; ++i) {
    args.open_k[slot * stride + i] = i < args.head_dim ? token.k[i] : 0.0F;
  }
}

/// u = (k*D)^T S and out = (q*D)^T S.
void read_state(const KdaArgs& args, const Token& token, float* u) {
  const int64_t stride = padded(args.head_dim);
  for (int64_t j = 0; j < stride; ++j) {
    u[j] = 0.0F;
  }
  for (int64_t j = 0; j < args.head_dim; ++j) {
    token.out[j] = 0.0F;
  }
  for (int64_t i = 0; i < args.head_dim; ++i) {
    const float decay = expf(args.open_g[i]);
    const float k = token.k[i] * decay;
    const float q = token.q[i] * decay;
    const float* row = args.state + i * stride;
    for (int64_t j = 0; j < args.head_dim; ++j) {
      u[j] += k * row[j];
      token.out[j] += q * row[j];
    }
  }
}

/// Adds what the open rows hold, then u becomes this token's row and joins the output.
void read_open_rows(const KdaArgs& args, const Token& token, int64_t slot, float* u) {
  const int64_t n = args.head_dim;
  const int64_t stride = padded(n);
  for (int64_t s = 0; s < slot; ++s) {
    const float* open_k = args.open_k + s * stride;
    const float* open_u = args.open_u + s * stride;
    const float from_k = dot(token.k, open_k, n);
    const float from_q = dot(token.q, open_k, n);
    for (int64_t j = 0; j < n; ++j) {
      u[j] += from_k * open_u[j];
      token.out[j] += from_q * open_u[j];
    }
  }
  const float from_q = dot(token.q, token.k, n);
  for (int64_t j = 0; j < n; ++j) {
    u[j] = token.beta * (token.v[j] - u[j]);
    token.out[j] += from_q * u[j];
  }
}

/// Decays the state to the end of the chunk and adds the chunk's rows to it.
void close_chunk(const KdaArgs& args) {
  const int64_t stride = padded(args.head_dim);
  for (int64_t i = 0; i < args.head_dim; ++i) {
    const float decay = expf(args.open_g[i]);
    for (int64_t j = 0; j < args.head_dim; ++j) {
      float sum = decay * args.state[i * stride + j];
      for (int64_t s = 0; s < kKdaChunk; ++s) {
        sum += args.open_k[s * stride + i] * args.open_u[s * stride + j];
      }
      args.state[i * stride + j] = sum;
    }
    args.open_g[i] = 0.0F;
  }
}

}  // namespace

void kda(const KdaArgs& args) {
  for (int64_t t = 0; t < args.rows; ++t) {
    const int64_t at = t * args.stride;
    const Token token = {args.q + at,
                         args.k + at,
                         args.v + at,
                         args.g + at,
                         args.beta[t * args.beta_stride],
                         args.out + t * args.out_stride};
    const int64_t slot = (args.position + t) % kKdaChunk;
    float* u = args.open_u + slot * padded(args.head_dim);
    open_row(args, token, slot);
    read_state(args, token, u);
    read_open_rows(args, token, slot, u);
    if (slot == kKdaChunk - 1) {
      close_chunk(args);
    }
  }
}

void kda_state(const KdaStateArgs& args) {
  const int64_t stride = padded(args.head_dim);
  for (int64_t i = 0; i < args.head_dim; ++i) {
    const float decay = expf(args.open_g[i]);
    for (int64_t j = 0; j < args.head_dim; ++j) {
      float sum = decay * args.state[i * stride + j];
      for (int64_t s = 0; s < args.open_rows; ++s) {
        sum += args.open_k[s * stride + i] * args.open_u[s * stride + j];
      }
      args.out[i * args.head_dim + j] = sum;
    }
  }
}

}  // namespace trine::kernels::scalar
