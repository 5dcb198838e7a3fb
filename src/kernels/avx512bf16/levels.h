// What higher levels call here for layouts that their own units cannot take.
#pragma once

#include "kernels/args.h"

namespace trine::kernels::avx512bf16 {

void matmul_bf16(const MatmulArgs& args);

}  // namespace trine::kernels::avx512bf16
