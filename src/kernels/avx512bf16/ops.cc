// Enters the AVX512-BF16 kernels other than matmul into the table.
#include "kernels/avx512bf16/ops.h"

#include "kernels/levels.h"

namespace trine::kernels {

void fill_avx512bf16_ops(KernelTable& table) { table.mla = avx512bf16::mla; }

}  // namespace trine::kernels
