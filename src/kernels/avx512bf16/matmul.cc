// Matmul of this level.
#include "kernels/levels.h"

namespace trine::kernels {

void fill_avx512bf16_matmul(KernelTable&) {}

}  // namespace trine::kernels
