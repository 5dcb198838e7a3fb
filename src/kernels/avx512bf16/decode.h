// From one row of codes to rows of bf16 pairs (16 outputs x 2 k), exactly. Also used by the AMX
// level.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/blocked.h"

namespace trine::kernels {
namespace {

/// The E8M0 scales of 16 outputs, ready for decoded E2M1.
struct MxScale {
  __m512i add;   ///< (e - 127) << 7 in both halves of a word: added to the exponent
  __m512i keep;  ///< a decoded value without one of these bits becomes 0
};

/// For e = 0 the value 0.5 would have exponent -1; it alone has none of the bits 0x40C0 beside
/// zero. e = 254 is taken as 253, so that weights which overflow fp32 come out as infinity or NaN.
TRINE_INLINE MxScale load_mx_scale(const uint8_t* p) {
  __m128i bytes;
  memcpy(&bytes, p, sizeof bytes);
  const __m512i word = _mm512_cvtepu8_epi32(_mm_min_epu8(bytes, _mm_set1_epi8(-3)));
  const __m512i e = _mm512_or_si512(word, _mm512_slli_epi32(word, 16));
  const __mmask32 zero = _mm512_testn_epi16_mask(e, e);
  return {_mm512_slli_epi16(_mm512_sub_epi16(e, _mm512_set1_epi16(127)), 7),
          _mm512_mask_mov_epi16(_mm512_set1_epi16(0x7FFF), zero, _mm512_set1_epi16(0x40C0))};
}

/// A table of 16 words, twice: vpermw takes 5 bits of an index, and so the fifth is ignored.
TRINE_INLINE __m512i twice(const uint16_t (&table)[16]) {
  __m256i half;
  memcpy(&half, table, sizeof half);
  return _mm512_broadcast_i64x4(half);
}
constexpr uint16_t kE2m1Bf16[16] = {0x0000, 0x3F00, 0x3F80, 0x3FC0, 0x4000, 0x4040, 0x4080, 0x40C0,
                                    0x8000, 0xBF00, 0xBF80, 0xBFC0, 0xC000, 0xC040, 0xC080, 0xC0C0};
constexpr uint16_t kInt4Bf16[16] = {0xC100, 0xC0E0, 0xC0C0, 0xC0A0, 0xC080, 0xC040, 0xC000, 0xBF80,
                                    0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0};

/// How an FP8 code in the high byte of a 16-bit lane becomes bf16: magnitude >> shift, plus bias;
/// values below `normal` (subnormal codes, at most 8 of them) by table; values from `special` on
/// are replaced.
template <blocked::Coding C>
struct Fp8;
template <>
struct Fp8<blocked::Coding::kE4m3> {
  static constexpr int kShift = 4;
  static constexpr int16_t kBias = 120 << 7, kNormal = 0x0800, kSpecial = 0x7F00;
  static constexpr uint16_t kSubnormal[16] = {0x0000, 0x3B00, 0x3B80, 0x3BC0,
                                              0x3C00, 0x3C20, 0x3C40, 0x3C60};
  /// NaN, the only special code.
  TRINE_INLINE static __m512i special(__m512i) { return _mm512_set1_epi16(0x7FC0); }
};
template <>
struct Fp8<blocked::Coding::kE5m2> {
  static constexpr int kShift = 3;
  static constexpr int16_t kBias = 112 << 7, kNormal = 0x0400, kSpecial = 0x7C00;
  static constexpr uint16_t kSubnormal[16] = {0x0000, 0x3780, 0x3800, 0x3840};
  /// Infinity and NaN keep their mantissa under an exponent of ones.
  TRINE_INLINE static __m512i special(__m512i value) {
    return _mm512_or_si512(value, _mm512_set1_epi16(0x7F80));
  }
};

template <blocked::Coding C>
TRINE_INLINE __m512i fp8_pair(__m512i high) {
  using F = Fp8<C>;
  const __m512i magnitude = _mm512_and_si512(high, _mm512_set1_epi16(0x7F00));
  const __m512i bias = _mm512_set1_epi16(F::kBias);
  __m512i value = _mm512_add_epi16(_mm512_srli_epi16(magnitude, F::kShift), bias);
  const __mmask32 subnormal = _mm512_cmplt_epi16_mask(magnitude, _mm512_set1_epi16(F::kNormal));
  const __mmask32 special = _mm512_cmpge_epi16_mask(magnitude, _mm512_set1_epi16(F::kSpecial));
  value = _mm512_mask_permutexvar_epi16(value, subnormal, _mm512_srli_epi16(magnitude, 8),
                                        twice(F::kSubnormal));
  value = _mm512_mask_mov_epi16(value, special, F::special(value));
  // The sign bit of `high` over the rest of `value`: bitwise a ? b : c.
  return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x7FFF), value, high, 0xCA);
}

/// bf16 of two signed bytes that have been moved to the top of two words: exact, so cutting is
/// rounding.
TRINE_INLINE __m512i int8_pair(__m512i even_top, __m512i odd_top) {
  const __m512 even = _mm512_cvtepi32_ps(_mm512_srai_epi32(even_top, 24));
  const __m512 odd = _mm512_cvtepi32_ps(_mm512_srai_epi32(odd_top, 24));
  return _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(even), 16),
                         _mm512_castps_si512(odd));
}

template <blocked::Coding C, unsigned N>
TRINE_INLINE void decode_pairs(__m512i row, const MxScale& scale, __m512i (&out)[N]) {
  using Coding = blocked::Coding;
  if constexpr (C == Coding::kBf16) {
    out[0] = row;
  } else if constexpr (C == Coding::kInt8) {
    out[0] = int8_pair(_mm512_slli_epi32(row, 24), _mm512_slli_epi32(row, 8));
    out[1] = int8_pair(_mm512_slli_epi32(row, 16), row);
  } else if constexpr (C == Coding::kE4m3 || C == Coding::kE5m2) {
    out[0] = fp8_pair<C>(_mm512_slli_epi16(row, 8));
    out[1] = fp8_pair<C>(row);
  } else {
    const __m512i codes = twice(C == Coding::kInt4 ? kInt4Bf16 : kE2m1Bf16);
    const __m512i indices[4] = {row, _mm512_srli_epi16(row, 4), _mm512_srli_epi16(row, 8),
                                _mm512_srli_epi16(row, 12)};
    TRINE_UNROLL for (unsigned i = 0; i < 4; ++i) {
      out[i] = _mm512_permutexvar_epi16(indices[i], codes);
      if constexpr (C == Coding::kMx) {
        const __mmask32 kept = _mm512_test_epi16_mask(out[i], scale.keep);
        out[i] = _mm512_maskz_add_epi16(kept, out[i], scale.add);
      }
    }
  }
  (void)scale;
}

}  // namespace
}  // namespace trine::kernels
