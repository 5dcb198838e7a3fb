// The kernels other than matmul at AVX2.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::avx2 {
#include "kernels/generic/ops.inl.h"
}  // namespace trine::kernels::avx2
