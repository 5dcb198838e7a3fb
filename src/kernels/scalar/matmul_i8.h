// The int8 path of the scalar level.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::scalar {

void quantise_rows(const QuantiseRowsArgs& args);
void matmul_i8(const MatmulI8Args& args);

}  // namespace trine::kernels::scalar
