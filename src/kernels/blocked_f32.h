// The two fp32 entries of a level (x in float, x in bf16) for a unit of fp32 words.
#pragma once

#include "kernels/blocked_few.h"
#include "kernels/blocked_many.h"

namespace trine::kernels::blocked {

template <class U, Coding C, typename X>
void run_f32(const MatmulArgs& a) {
  if constexpr (sizeof(X) == sizeof(float)) {
    if (a.m <= kFewRows) return few<U, C>(a);
  }
  many_rows<U, C, X>(a);
}

template <class U, typename X>
void matmul_f32(const MatmulArgs& a) {
  if (a.m <= 0 || a.panel_begin >= a.panel_end) return;
  switch (a.w.format) {
    case WeightFormat::kF32: return run_f32<U, Coding::kF32, X>(a);
    case WeightFormat::kF16: return run_f32<U, Coding::kF16, X>(a);
    case WeightFormat::kBf16: return run_f32<U, Coding::kBf16, X>(a);
    case WeightFormat::kInt8: return run_f32<U, Coding::kInt8, X>(a);
    case WeightFormat::kE4m3: return run_f32<U, Coding::kE4m3, X>(a);
    case WeightFormat::kE5m2: return run_f32<U, Coding::kE5m2, X>(a);
    case WeightFormat::kInt4: return run_f32<U, Coding::kInt4, X>(a);
    case WeightFormat::kE2m1: return run_f32<U, Coding::kE2m1, X>(a);
  }
}

}  // namespace trine::kernels::blocked
