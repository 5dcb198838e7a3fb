// MLA at AVX-512.
#include <math.h>
#include <stddef.h>

#include "kernels/avx512/ops.h"
#include "kernels/avx512/vec.h"
#include "kernels/scalar/ops.h"

namespace trine::kernels::avx512 {
// clang-format off: each file uses the ones before it.
#include "kernels/generic/math.inl.h"
#include "kernels/generic/map.inl.h"
#include "kernels/generic/mla.inl.h"
// clang-format on
}  // namespace trine::kernels::avx512
