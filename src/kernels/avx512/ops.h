// The kernels other than matmul at AVX-512.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::avx512 {
#include "kernels/generic/ops.inl.h"
}  // namespace trine::kernels::avx512
