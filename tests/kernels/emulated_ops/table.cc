// Enters the emulated kernels into a table.
#include "kernels/emulated_ops/table.h"

#include "platform/cpu.h"

namespace trine {
namespace kernels::avx512_emulated {
#include "kernels/generic/ops.inl.h"

#include "kernels/generic/fill.inl.h"
}  // namespace kernels::avx512_emulated

namespace testing {

const kernels::KernelTable& emulated_avx512_table() {
  static const kernels::KernelTable table = [] {
    kernels::KernelTable emulated = kernels::kernel_table(Isa::kScalar);
    kernels::avx512_emulated::fill(emulated);
    return emulated;
  }();
  return table;
}

}  // namespace testing
}  // namespace trine
