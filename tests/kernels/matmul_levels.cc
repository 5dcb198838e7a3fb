#include "kernels/matmul_levels.h"

namespace trine::kernels {

std::vector<Isa> levels_under_test() { return supported_isas(); }
const KernelTable& table_under_test(Isa isa) { return kernel_table(isa); }
int slowness() { return 1; }

}  // namespace trine::kernels
