// Row-wise kernels, one value at a time: norms, AttnRes, softmax, sums, bf16 (spec sections 2, 4).
// Sums over a row are held in double: this level is the one the others are measured against.
#include <math.h>
#include <string.h>

#include "kernels/scalar/ops.h"

namespace trine::kernels::scalar {
namespace {

double sum_of_squares(const float* x, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return sum;
}

uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

uint16_t bf16_of(float x) {
  const uint32_t bits = bits_of(x);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);  // a quiet NaN, whatever its payload was
  }
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace

void rms_norm(const RmsNormArgs& args) {
  const double mean = sum_of_squares(args.x, args.n) / static_cast<double>(args.n);
  const float inverse = static_cast<float>(1.0 / sqrt(mean + static_cast<double>(args.eps)));
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = args.x[i] * inverse * args.w[i];
  }
}

void l2_norm(const L2NormArgs& args) {
  const double sum = sum_of_squares(args.x, args.n);
  const double root = sqrt(sum + static_cast<double>(args.eps));
  const float factor = static_cast<float>(static_cast<double>(args.scale) / root);
  for (int64_t i = 0; i < args.n; ++i) {
    args.x[i] *= factor;
  }
}

void attn_res(const AttnResArgs& args) {
  float weights[kAttnResValuesMax];
  for (int64_t j = 0; j < args.count; ++j) {
    const float* v = args.values[j];
    double dot = 0.0;
    for (int64_t i = 0; i < args.n; ++i) {
      dot += static_cast<double>(v[i]) * static_cast<double>(args.w[i]);
    }
    const double mean = sum_of_squares(v, args.n) / static_cast<double>(args.n);
    weights[j] = static_cast<float>(dot / sqrt(mean + static_cast<double>(args.eps)));
  }
  softmax({weights, args.count});
  weighted_sum({args.values, weights, args.count, args.n, args.y});
}

void softmax(const SoftmaxArgs& args) {
  float max = -INFINITY;
  for (int64_t i = 0; i < args.n; ++i) {
    max = args.x[i] > max ? args.x[i] : max;
  }
  double sum = 0.0;
  for (int64_t i = 0; i < args.n; ++i) {
    args.x[i] = expf(args.x[i] - max);
    sum += static_cast<double>(args.x[i]);
  }
  const float inverse = static_cast<float>(1.0 / sum);
  for (int64_t i = 0; i < args.n; ++i) {
    args.x[i] *= inverse;
  }
}

void add(const AddArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] += args.x[i];
  }
}

void weighted_sum(const WeightedSumArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {  // element by element, as y may be one of the rows
    float sum = 0.0F;
    for (int64_t j = 0; j < args.count; ++j) {
      sum += args.weights[j] * args.rows[j][i];
    }
    args.y[i] = sum;
  }
}

void to_bf16(const ToBf16Args& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    args.y[i] = bf16_of(args.x[i]);
  }
  for (int64_t i = args.n; i < args.n_padded; ++i) {
    args.y[i] = 0;
  }
}

void from_bf16(const FromBf16Args& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(args.x[i]) << 16;
    memcpy(&args.y[i], &bits, sizeof(bits));
  }
}

bool all_finite(const AllFiniteArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    if ((bits_of(args.x[i]) & 0x7f800000U) == 0x7f800000U) {
      return false;
    }
  }
  return true;
}

}  // namespace trine::kernels::scalar
