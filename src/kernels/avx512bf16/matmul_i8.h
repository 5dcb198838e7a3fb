// The int8 path of the avx512_bf16 level (VNNI).
#pragma once

#include "kernels/args.h"

namespace trine::kernels::avx512bf16 {

void quantise_rows(const QuantiseRowsArgs& args);
void matmul_i8(const MatmulI8Args& args);

}  // namespace trine::kernels::avx512bf16
