// Matmul of this level.
#include "kernels/levels.h"

namespace trine::kernels {

void fill_amx_matmul(KernelTable&) {}

}  // namespace trine::kernels
