// Matmul with tdpbf16ps, one row as well as many: the unit sums 32 k in its own order, blocks of 32
// ascending. Groups of 16 do not fill a tile and stay with vdpbf16ps; fp32 and fp16 weights have no
// exact bf16.
#include "kernels/amx/unit.h"
#include "kernels/avx512bf16/levels.h"
#include "kernels/blocked_many.h"
#include "kernels/levels.h"
#include "kernels/table.h"

namespace trine::kernels {
namespace {

template <blocked::Coding C>
void run(const MatmulArgs& a) {
  TRINE_TILE_CONFIG();
  blocked::many_rows<AmxUnit, C, uint16_t>(a);
  TRINE_TILE_RELEASE();
}

void matmul_bf16(const MatmulArgs& a) {
  using blocked::Coding;
  if (a.m <= 0 || a.panel_begin >= a.panel_end) return;
  if (a.w.scale_kind != ScaleKind::kNone && a.w.group % 32 != 0) return avx512bf16::matmul_bf16(a);
  switch (a.w.format) {
    case WeightFormat::kF32:
    case WeightFormat::kF16: return avx512bf16::matmul_bf16(a);
    case WeightFormat::kBf16: return run<Coding::kBf16>(a);
    case WeightFormat::kInt8: return run<Coding::kInt8>(a);
    case WeightFormat::kE4m3: return run<Coding::kE4m3>(a);
    case WeightFormat::kE5m2: return run<Coding::kE5m2>(a);
    case WeightFormat::kInt4: return run<Coding::kInt4>(a);
    case WeightFormat::kE2m1:
      if (a.w.scale_kind == ScaleKind::kE8m0) return run<Coding::kMx>(a);
      return run<Coding::kE2m1>(a);
  }
}

}  // namespace

void fill_amx_matmul(KernelTable& table) {
  table.bf16_inputs = true;
  table.matmul_bf16_name = "amx bf16 32x32";
  table.matmul_bf16 = matmul_bf16;
}

}  // namespace trine::kernels
