// Matmul with vdpbf16ps: x and weights are pairs of bf16, sums fp32. Weights of the narrow formats
// are exact in bf16. E2M1 with E8M0 scales is scaled while it is decoded; products of weights below
// 2^-126 count as zero, as the instruction takes subnormals. fp32 and fp16 weights have no exact
// bf16 and stay with the fp32 kernel of the level below.
#include "kernels/avx512/levels.h"
#include "kernels/avx512bf16/levels.h"
#include "kernels/avx512bf16/matmul_i8.h"
#include "kernels/avx512bf16/unit.h"
#include "kernels/blocked_few.h"
#include "kernels/blocked_many.h"
#include "kernels/levels.h"
#include "kernels/table.h"

namespace trine::kernels {
namespace {

template <blocked::Coding C>
void run(const MatmulArgs& a) {
  if (a.m <= blocked::kFewRows)
    blocked::few<Bf16Unit, C>(a);
  else
    blocked::many_rows<Bf16Unit, C, uint16_t>(a);
}

}  // namespace

void avx512bf16::matmul_bf16(const MatmulArgs& a) {
  using blocked::Coding;
  if (a.m <= 0 || a.panel_begin >= a.panel_end) return;
  switch (a.w.format) {
    case WeightFormat::kF32:
    case WeightFormat::kF16: return avx512::matmul_bf16(a);
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

void fill_avx512bf16_matmul(KernelTable& table) {
  table.bf16_inputs = true;
  table.matmul_bf16_name = "avx512_bf16 14x32";
  table.matmul_bf16 = avx512bf16::matmul_bf16;
  table.int8_inputs = true;
  table.matmul_i8_name = "avx512_vnni 14x32";
  table.quantise_rows = avx512bf16::quantise_rows;
  table.matmul_i8 = avx512bf16::matmul_i8;
}

}  // namespace trine::kernels
