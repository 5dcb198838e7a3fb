// From row-major checkpoint bytes to panels (args.h: PackedView). Portable, vectorised by the
// compiler.
#pragma once

#include <cstdint>

#include "kernels/args.h"

namespace trine::kernels {

/// Weights per 32-bit word of a format: 1, 2, 4 or 8.
int64_t per_word(WeightFormat format);
int64_t panel_count(int64_t n);
/// Bytes of one panel's codes; of all codes; of all scales.
int64_t panel_bytes(WeightFormat format, int64_t k_padded);
int64_t packed_bytes(WeightFormat format, int64_t n, int64_t k);
int64_t scale_count(int64_t n, int64_t k_padded, int64_t group);
int64_t pad_k(int64_t k);

/// Packs the codes of outputs [panel*16, panel*16+16) of one panel. `rows` points at output
/// panel*16 of the source: row-major, row_bytes apart, codes of a row packed little-endian from its
/// first byte (bf16/f16/f32 as stored; int8/fp8 one byte each; nibbles low first, as MXFP4, NVFP4
/// and pack-quantized int4 store them; for int8 in pack-quantized pass flip_sign so that u becomes
/// u-128). out: panel_bytes(). Zero outside n and k (for kInt4 the code of zero).
struct PackPanelArgs {
  WeightFormat format;
  const uint8_t* rows;
  int64_t row_bytes;
  int64_t outputs;  ///< valid outputs in this panel, 1..16
  int64_t k;
  bool flip_sign;
  uint8_t* out;
};
void pack_panel(const PackPanelArgs& args);

/// Rounds float weights of one panel to int8 (symmetric, max|w| / 127 per output and group, to
/// nearest even) and packs them as kInt8. scales and offsets: [k_padded/group rounded up][16].
struct QuantisePanelArgs {
  const float* rows;
  int64_t row_stride;
  int64_t outputs;  ///< valid outputs in this panel, 1..16
  int64_t k;
  int64_t group;  ///< multiple of 32
  uint8_t* codes;
  float* scales;
  int32_t* offsets;
};
void quantise_panel_int8(const QuantisePanelArgs& args);

/// -128 * the sum of each group's codes of one packed kInt8 panel: MatmulI8Args::offsets.
void int8_offsets(const uint8_t* codes, int64_t k_padded, int64_t group, int32_t* offsets);

/// One weight of a packed matrix as float, without its scale, and the scale alone.
float unpack_code(const PackedView& w, int64_t output, int64_t k);
float unpack_scale(const PackedView& w, int64_t output, int64_t k);
/// One weight of a packed matrix as float, scale included: the specification of the layout.
float unpack_weight(const PackedView& w, int64_t output, int64_t k);

}  // namespace trine::kernels
