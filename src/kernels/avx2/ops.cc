// Enters the AVX2 kernels other than matmul into the table.
#include "kernels/avx2/ops.h"

#include "kernels/levels.h"

namespace trine::kernels {
namespace avx2 {
#include "kernels/generic/fill.inl.h"
}  // namespace avx2

void fill_avx2_ops(KernelTable& table) { avx2::fill(table); }

}  // namespace trine::kernels
