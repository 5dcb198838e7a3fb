// Arguments of the decoder from MXFP4 to the operands of matmul_i8 (args.h has the contract).
#pragma once

#include "kernels/args.h"

namespace trine::kernels {

/// Panels [panel_begin, panel_end) of E2M1 codes with E8M0 scales per 32 k become kInt8 codes,
/// scales and offsets per `group` of k, as MatmulI8Args takes them, from the first of these panels
/// on.
///
/// Twice a code is an integer of at most 12, so codes of a group are brought to its largest scale:
/// exact where scales differ by up to 2^3, rounded (half away from zero) like any other small
/// weight of an int8 group beyond that. Scales of 32 zeros do not count. A group whose scale would
/// be below 2^-126 counts as zero.
struct Int8FromFp4Args {
  PackedView w;
  int64_t panel_begin;
  int64_t panel_end;
  int64_t group;     ///< multiple of 32, at most kInt8GroupMax
  uint8_t* codes;    ///< 64-byte aligned, k_padded * 16 bytes per panel
  float* scales;     ///< [panel][k_padded / group rounded up][16]
  int32_t* offsets;  ///< in the same places
};
constexpr int64_t kFp4Group = 32;

}  // namespace trine::kernels
