// fp32 matmul on 512-bit registers: tiles of 14 rows x 2 panels. Equal to the scalar kernel to the
// bit.
#include "kernels/avx512/levels.h"
#include "kernels/avx512/unit.h"
#include "kernels/blocked_f32.h"
#include "kernels/levels.h"
#include "kernels/table.h"

namespace trine::kernels {
namespace avx512 {

void matmul_bf16(const MatmulArgs& args) { blocked::matmul_f32<F32Unit, uint16_t>(args); }

}  // namespace avx512

void fill_avx512_matmul(KernelTable& table) {
  table.matmul_f32_name = "avx512 f32 14x32";
  table.matmul_bf16_name = "avx512 f32 14x32 over bf16";
  table.matmul_f32 = blocked::matmul_f32<F32Unit, float>;
  table.matmul_bf16 = avx512::matmul_bf16;
}

}  // namespace trine::kernels
