// fp32 matmul on 256-bit registers: tiles of 6 rows x 1 panel. Equal to the scalar kernel to the
// bit.
#include "kernels/avx2/unit.h"
#include "kernels/blocked_f32.h"
#include "kernels/levels.h"
#include "kernels/table.h"

namespace trine::kernels {

void fill_avx2_matmul(KernelTable& table) {
  table.matmul_f32_name = "avx2 f32 6x16";
  table.matmul_bf16_name = "avx2 f32 6x16 over bf16";
  table.matmul_f32 = blocked::matmul_f32<F32Unit, float>;
  table.matmul_bf16 = blocked::matmul_f32<F32Unit, uint16_t>;
}

}  // namespace trine::kernels
