// Packed weights and the arguments of every matmul (args.h has the contract they share with all
// kernels).
#pragma once

#include <stdint.h>

namespace trine::kernels {

/// Outputs that lie across the lanes of one panel.
constexpr int64_t kPanelOutputs = 16;
/// k is padded with zero weights to a multiple of this.
constexpr int64_t kKPadding = 32;

/// How one weight is coded. A 32-bit word of a panel holds 1, 2, 4 or 8 consecutive k of one
/// output: the even ones ascending in its low half (low bits first), the odd ones in its high half.
enum class WeightFormat : uint8_t {
  kF32,   ///< 1 per word
  kF16,   ///< 2 per word
  kBf16,  ///< 2 per word
  kInt8,  ///< 4 per word; signed
  kE4m3,  ///< 4 per word
  kE5m2,  ///< 4 per word
  kInt4,  ///< 8 per word; code u means u - 8
  kE2m1,  ///< 8 per word; OCP FP4
};

enum class ScaleKind : uint8_t {
  kNone,  ///< scale 1
  kF32,   ///< float
  kE8m0,  ///< byte e, scale 2^(e-127); 255 is refused at load
};

/// W [n, k] packed for the kernels: panels of 16 outputs, each panel `k_padded / per_word` rows of
/// 16 32-bit words (64 bytes, 64-byte aligned): word j of row i holds k = i*per_word ... of output
/// j. So a row of bf16 is what BF16 units take, and every narrower format becomes such rows by
/// shifting 16-bit lanes and looking them up, never crossing a lane. Scales: [panel][k_padded/group
/// rounded up][16]. Outputs beyond n and k beyond k are zero.
struct PackedView {
  WeightFormat format;
  ScaleKind scale_kind;
  int64_t n;         ///< outputs
  int64_t k;         ///< inputs
  int64_t k_padded;  ///< multiple of kKPadding
  int64_t group;     ///< k per scale: 16 or a multiple of 32; k_padded = one scale per output
  const uint8_t* data;
  const void* scales;
};

/// y[r, o] = sum_k x[row(r), k] * W[o, k] for r < m and the outputs o of panels [panel_begin,
/// panel_end). Order of the sum: without scales one chain of fused multiply-adds over ascending k
/// from 0; with scales one such chain per group, then total = fma(scale, chain, total) over
/// ascending groups. matmul_bf16 on BF16 and AMX units: the same chains, of the unit's own steps
/// over 2 or 32 k; E2M1 with E8M0 scales is scaled exactly as it is decoded and is one chain; what
/// is below 2^-126 counts as zero.
struct MatmulArgs {
  const void* x;  ///< matmul_f32: float rows with k columns; matmul_bf16: bf16 rows, zero-padded to
                  ///< k_padded
  int64_t x_stride;
  const int32_t* x_rows;  ///< row(r) = x_rows[r], or r when null
  int64_t m;
  PackedView w;
  int64_t panel_begin;
  int64_t panel_end;
  float* y;  ///< y[r * y_stride + o]: columns are absolute outputs; only o < n is written
  int64_t y_stride;
};

/// The int8 path (opt-in). A float row becomes unsigned bytes u = 128 + round(x / scale) with one
/// scale max|x| / 127 per group of k, to nearest even; the four k of a 32-bit word lie in the order
/// of packed weights (0, 2, 1, 3). A group with a value that is not finite gets the scale NaN.
struct QuantiseRowsArgs {
  const float* x;
  int64_t x_stride;
  int64_t rows;
  int64_t k;
  int64_t group;  ///< multiple of 32, at most kInt8GroupMax
  uint8_t* y;  ///< rows of y_stride bytes; k up to the next multiple of 32 is written, zeros as 128
  int64_t y_stride;
  float* scales;  ///< rows of scale_stride floats, one per group
  int64_t scale_stride;
};
constexpr int64_t kInt8GroupMax = 1024;

/// y[r, o] as in MatmulArgs from quantised rows and kInt8 weights with kF32 scales of the same
/// group: total = fma(float(s), x_scale * w_scale, total) over ascending groups, s the exact
/// integer sum of (u - 128) * w. `offsets` are -128 * sum of w, one per scale and in the same
/// places (pack.h).
struct MatmulI8Args {
  const uint8_t* x;
  int64_t x_stride;
  const float* x_scales;
  int64_t x_scale_stride;
  const int32_t* x_rows;  ///< as in MatmulArgs
  int64_t m;
  PackedView w;
  const int32_t* offsets;
  int64_t panel_begin;
  int64_t panel_end;
  float* y;
  int64_t y_stride;
};

}  // namespace trine::kernels
