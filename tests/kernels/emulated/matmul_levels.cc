// Every level above AVX2, whatever this machine has.
#include "kernels/matmul_levels.h"

#include "kernels/levels.h"

namespace trine::kernels {

std::vector<Isa> levels_under_test() { return {Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}; }

const KernelTable& table_under_test(Isa isa) {
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelTable> all(5);
    fill_scalar_matmul(all[0]);
    all[1] = all[2] = all[0];
    fill_avx512_matmul(all[2]);
    all[3] = all[2];
    fill_avx512bf16_matmul(all[3]);
    all[4] = all[3];
    fill_amx_matmul(all[4]);
    return all;
  }();
  return tables[static_cast<size_t>(isa)];
}

int slowness() { return 4; }

}  // namespace trine::kernels
