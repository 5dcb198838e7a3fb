// MLA at AVX2.
#include <math.h>
#include <stddef.h>

#include "kernels/avx2/ops.h"
#include "kernels/avx2/vec.h"
#include "kernels/scalar/ops.h"

namespace trine::kernels::avx2 {
// In this order, each alone in its block: a file uses the ones before it.
#include "kernels/generic/math.inl.h"

#include "kernels/generic/map.inl.h"

#include "kernels/generic/ahead.inl.h"

#include "kernels/generic/mla.inl.h"

}  // namespace trine::kernels::avx2
