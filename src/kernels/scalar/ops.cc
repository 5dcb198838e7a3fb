// Enters the scalar kernels other than matmul into the table.
#include "kernels/scalar/ops.h"

#include "kernels/levels.h"

namespace trine::kernels {
namespace scalar {
#include "kernels/generic/fill.inl.h"
}  // namespace scalar

void fill_scalar_ops(KernelTable& table) { scalar::fill(table); }

}  // namespace trine::kernels
