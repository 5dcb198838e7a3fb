// The scalar table with the emulated AVX-512 kernels on top: runs on any processor.
#pragma once

#include "kernels/table.h"

namespace trine::testing {

const kernels::KernelTable& emulated_avx512_table();

}  // namespace trine::testing
