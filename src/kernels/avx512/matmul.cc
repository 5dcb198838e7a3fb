// Matmul of this level.
#include "kernels/levels.h"

namespace trine::kernels {

void fill_avx512_matmul(KernelTable&) {}

}  // namespace trine::kernels
