// MLA at AVX2.
#include <math.h>
#include <stddef.h>

#include "kernels/avx2/ops.h"
#include "kernels/avx2/vec.h"
#include "kernels/scalar/ops.h"

namespace trine::kernels::avx2 {
// clang-format off: each file uses the ones before it.
#include "kernels/generic/math.inl.h"
#include "kernels/generic/map.inl.h"
#include "kernels/generic/mla.inl.h"
// clang-format on
}  // namespace trine::kernels::avx2
