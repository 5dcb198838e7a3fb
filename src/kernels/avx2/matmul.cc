// Matmul of this level.
#include "kernels/levels.h"

namespace trine::kernels {

void fill_avx2_matmul(KernelTable&) {}

}  // namespace trine::kernels
