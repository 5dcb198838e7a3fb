// Random inputs for the matmul tests, and the oracle in double.
#pragma once

#include "kernels/matmul_data.h"

namespace trine::kernels {

/// Rows of normal numbers with a stride, and NaN wherever a kernel has no business; `pad` zeros
/// after k.
template <typename X>
struct Inputs {
  std::vector<X> values;
  int64_t rows, k, stride;
  const X* data() const { return values.data() + 1; }  // misaligned on purpose
};

inline void store(float value, float* out) { *out = value; }
inline void store(float value, uint16_t* out) { *out = float_to_bf16(value); }
inline float load(const float* x) { return *x; }
inline float load(const uint16_t* x) { return bf16_to_float(*x); }

template <typename X>
Inputs<X> random_inputs(int64_t rows, int64_t k, std::mt19937& random) {
  const int64_t padded = sizeof(X) == 2 ? pad_k(k) : k;
  Inputs<X> in{{}, rows, k, padded + static_cast<int64_t>(random() % 5)};
  X nan;
  store(std::nanf(""), &nan);
  in.values.assign(static_cast<size_t>(rows * in.stride + 2), nan);
  std::normal_distribution<float> normal;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < padded; ++i)
      store(i < k ? normal(random) : 0.0f, in.values.data() + 1 + r * in.stride + i);
  return in;
}

struct Expected {
  double value;
  double magnitude;  ///< sum of |x| |w|: what rounding errors are relative to
};

template <typename X>
Expected oracle(const PackedView& w, const X* x, int64_t output) {
  Expected e{0, 0};
  for (int64_t k = 0; k < w.k; ++k) {
    const double product = static_cast<double>(load(x + k)) *
                           static_cast<double>(unpack_code(w, output, k)) *
                           static_cast<double>(unpack_scale(w, output, k));
    e.value += product;
    e.magnitude += std::fabs(product);
  }
  return e;
}

}  // namespace trine::kernels
