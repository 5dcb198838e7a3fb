// Enters the AVX-512 kernels other than matmul into the table.
#include "kernels/avx512/ops.h"

#include "kernels/levels.h"

namespace trine::kernels {
namespace avx512 {
#include "kernels/generic/fill.inl.h"
}  // namespace avx512

void fill_avx512_ops(KernelTable& table) { avx512::fill(table); }

}  // namespace trine::kernels
