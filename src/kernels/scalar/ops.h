// The scalar kernels other than matmul: the specification the vector levels are tested against.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::scalar {
#include "kernels/generic/ops.inl.h"
}  // namespace trine::kernels::scalar
