// Norms, sums, softmax, gates, activations and bf16 at AVX-512.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/avx512/ops.h"
#include "kernels/avx512/vec.h"

namespace trine::kernels::avx512 {
// clang-format off: each file uses the ones before it.
#include "kernels/generic/math.inl.h"
#include "kernels/generic/map.inl.h"
#include "kernels/generic/rows.inl.h"
#include "kernels/generic/activation.inl.h"
// clang-format on
}  // namespace trine::kernels::avx512
