// The levels that the matmul tests run: those of this machine, or in the emulated binary all of
// AVX-512 and AMX.
#pragma once

#include <vector>

#include "kernels/table.h"
#include "platform/cpu.h"

namespace trine::kernels {

std::vector<Isa> levels_under_test();
const KernelTable& table_under_test(Isa isa);
/// Random trials are divided by this.
int slowness();

}  // namespace trine::kernels
