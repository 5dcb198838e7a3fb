// The int8 path one value at a time: the specification of quantise_rows and matmul_i8 (args.h).
#include "kernels/scalar/matmul_i8.h"

#include <math.h>

#include "kernels/pack.h"

namespace trine::kernels::scalar {
namespace {

/// Where k of a row lies: the words of packed weights hold 0, 2, 1, 3.
int64_t byte_place(int64_t k) { return k / 4 * 4 + (k % 2) * 2 + k % 4 / 2; }

}  // namespace

void quantise_rows(const QuantiseRowsArgs& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const float* x = a.x + r * a.x_stride;
    uint8_t* y = a.y + r * a.y_stride;
    for (int64_t begin = 0; begin < pad_k(a.k); begin += a.group) {
      const int64_t end = begin + a.group < a.k ? begin + a.group : a.k;
      float most = 0.0f;
      bool finite = true;
      for (int64_t k = begin; k < end; ++k) {
        finite = finite && isfinite(x[k]);
        most = fmaxf(most, fabsf(x[k]));
      }
      a.scales[r * a.scale_stride + begin / a.group] = finite ? most / 127.0f : NAN;
      // A group so small that the quotient overflows is zero for all that it can add.
      const float quotient = 127.0f / most;
      const float inverse = finite && isfinite(quotient) ? quotient : 0.0f;
      const int64_t stop = begin + a.group < pad_k(a.k) ? begin + a.group : pad_k(a.k);
      for (int64_t k = begin; k < stop; ++k) {
        const float code = k < end && finite ? nearbyintf(x[k] * inverse) : 0.0f;
        y[byte_place(k)] = static_cast<uint8_t>(128 + static_cast<int>(code));
      }
    }
  }
}

void matmul_i8(const MatmulI8Args& a) {
  const int64_t end = a.panel_end * kPanelOutputs < a.w.n ? a.panel_end * kPanelOutputs : a.w.n;
  const int64_t groups = (a.w.k_padded + a.w.group - 1) / a.w.group;
  for (int64_t r = 0; r < a.m; ++r) {
    const int64_t row = a.x_rows != nullptr ? a.x_rows[r] : r;
    const uint8_t* x = a.x + row * a.x_stride;
    for (int64_t o = a.panel_begin * kPanelOutputs; o < end; ++o) {
      const int64_t first = o / kPanelOutputs * groups * kPanelOutputs + o % kPanelOutputs;
      float total = 0.0f;
      for (int64_t g = 0; g < groups; ++g) {
        int32_t sum = a.offsets[first + g * kPanelOutputs];
        const int64_t begin = g * a.w.group;
        const int64_t stop = begin + a.w.group < a.w.k_padded ? begin + a.w.group : a.w.k_padded;
        for (int64_t k = begin; k < stop; ++k)
          sum += x[byte_place(k)] * static_cast<int32_t>(unpack_code(a.w, o, k));
        const float scale = a.x_scales[row * a.x_scale_stride + g] * unpack_scale(a.w, o, begin);
        total = fmaf(static_cast<float>(sum), scale, total);
      }
      a.y[r * a.y_stride + o] = total;
    }
  }
}

}  // namespace trine::kernels::scalar
