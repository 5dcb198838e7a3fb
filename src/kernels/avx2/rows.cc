// Norms, sums, softmax, gates, activations and bf16 at AVX2.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/avx2/ops.h"
#include "kernels/avx2/vec.h"

namespace trine::kernels::avx2 {
// In this order, each alone in its block: a file uses the ones before it.
#include "kernels/generic/math.inl.h"

#include "kernels/generic/map.inl.h"

#include "kernels/generic/rows.inl.h"

#include "kernels/generic/activation.inl.h"

}  // namespace trine::kernels::avx2
