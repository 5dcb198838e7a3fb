// How each weight format becomes floats of one k across 8 outputs, on 256-bit registers.
#pragma once

#include <immintrin.h>

#include "kernels/blocked.h"

namespace trine::kernels {
namespace {

struct F32Decode {
  using Coding = blocked::Coding;

  template <Coding C, unsigned N>
  TRINE_INLINE static void decode_half(__m256i row, __m256 (&out)[N]) {
    if constexpr (C == Coding::kF32) {
      out[0] = _mm256_castsi256_ps(row);
    } else if constexpr (C == Coding::kBf16) {
      split_pair(row, out[0], out[1]);
    } else if constexpr (C == Coding::kF16) {
      f16_pair(row, out[0], out[1]);
    } else if constexpr (C == Coding::kInt8) {
      out[0] = signed_top<24>(_mm256_slli_epi32(row, 24));  // bytes of a word: k = 0, 2, 1, 3
      out[1] = signed_top<24>(_mm256_slli_epi32(row, 8));
      out[2] = signed_top<24>(_mm256_slli_epi32(row, 16));
      out[3] = signed_top<24>(row);
    } else if constexpr (C == Coding::kE4m3) {
      out[0] = e4m3_top(_mm256_slli_epi32(row, 24));
      out[1] = e4m3_top(_mm256_slli_epi32(row, 8));
      out[2] = e4m3_top(_mm256_slli_epi32(row, 16));
      out[3] = e4m3_top(row);
    } else if constexpr (C == Coding::kE5m2) {
      f16_pair(_mm256_slli_epi16(row, 8), out[0], out[1]);
      f16_pair(_mm256_and_si256(row, _mm256_set1_epi16(-256)), out[2], out[3]);
    } else if constexpr (C == Coding::kInt4) {
      const __m256i flipped = _mm256_xor_si256(row, _mm256_set1_epi32(-0x77777778));
      int4_codes(flipped, out);
    } else {
      e2m1_codes(row, out);
    }
  }

  /// Two's complement nibbles; k of nibble t of half h is 2t + h.
  template <unsigned N>
  TRINE_INLINE static void int4_codes(__m256i row, __m256 (&out)[N]) {
    out[0] = signed_top<28>(_mm256_slli_epi32(row, 28));
    out[1] = signed_top<28>(_mm256_slli_epi32(row, 12));
    out[2] = signed_top<28>(_mm256_slli_epi32(row, 24));
    out[3] = signed_top<28>(_mm256_slli_epi32(row, 8));
    out[4] = signed_top<28>(_mm256_slli_epi32(row, 20));
    out[5] = signed_top<28>(_mm256_slli_epi32(row, 4));
    out[6] = signed_top<28>(_mm256_slli_epi32(row, 16));
    out[7] = signed_top<28>(row);
  }
  /// Both bytes of each bf16 come from a table of 16; the bytes of a word belong to k = 0, 4, 1, 5
  /// (low nibbles) and 2, 6, 3, 7 (high nibbles).
  template <unsigned N>
  TRINE_INLINE static void e2m1_codes(__m256i row, __m256 (&out)[N]) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i low = _mm256_and_si256(row, nibble);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(row, 4), nibble);
    bf16_of_bytes(low, out[0], out[1], out[4], out[5]);
    bf16_of_bytes(high, out[2], out[3], out[6], out[7]);
  }
  TRINE_INLINE static void bf16_of_bytes(__m256i index, __m256& a, __m256& b, __m256& c,
                                         __m256& d) {
    const __m256i upper =
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(
                                _mm_setr_epi8(0, 0x3F, 0x3F, 0x3F, 0x40, 0x40, 0x40, 0x40, -0x80,
                                              -0x41, -0x41, -0x41, -0x40, -0x40, -0x40, -0x40)),
                            index);
    const __m256i lower = _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, -0x80, -0x40, 0, 0x40, -0x80, -0x40, 0, 0,
                                                  -0x80, -0x40, 0, 0x40, -0x80, -0x40)),
        index);
    const __m256i byte = _mm256_set1_epi16(0x00FF);
    split_pair(_mm256_or_si256(_mm256_slli_epi16(upper, 8), _mm256_and_si256(lower, byte)), a, b);
    split_pair(_mm256_or_si256(_mm256_andnot_si256(byte, upper), _mm256_srli_epi16(lower, 8)), c,
               d);
  }

 private:
  static void split_pair(__m256i row, __m256& even, __m256& odd) {
    even = _mm256_castsi256_ps(_mm256_slli_epi32(row, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(row, _mm256_set1_epi32(-65536)));
  }
  static void f16_pair(__m256i row, __m256& even, __m256& odd) {
    even = f16_low(_mm256_and_si256(row, _mm256_set1_epi32(0xFFFF)));
    odd = f16_low(_mm256_srli_epi32(row, 16));
  }
  static __m256 f16_low(__m256i row) {
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(row, row), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
  }
  template <int kRight>
  static __m256 signed_top(__m256i top) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, kRight));
  }
  /// E4M3 in the top byte. A subnormal code is read with exponent 1 and loses the implicit one
  /// again.
  static __m256 e4m3_top(__m256i top) {
    const __m256i magnitude =
        _mm256_srli_epi32(_mm256_slli_epi32(top, 1), 5);  // exponent at bit 23
    const __m256i field = _mm256_and_si256(magnitude, _mm256_set1_epi32(0x07F00000));
    const __m256i subnormal = _mm256_cmpgt_epi32(_mm256_set1_epi32(1 << 23), field);
    const __m256i nan = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(0x07F00000));
    const __m256i one = _mm256_srli_epi32(subnormal, 31);
    const __m256i biased = _mm256_add_epi32(_mm256_add_epi32(field, _mm256_slli_epi32(one, 23)),
                                            _mm256_set1_epi32(120 << 23));
    const __m256 implicit = _mm256_and_ps(_mm256_castsi256_ps(subnormal), _mm256_set1_ps(0x1p-6f));
    const __m256 value = _mm256_sub_ps(_mm256_castsi256_ps(biased), implicit);
    const __m256i sign = _mm256_and_si256(top, _mm256_set1_epi32(-0x7FFFFFFF - 1));
    const __m256i quiet = _mm256_and_si256(nan, _mm256_set1_epi32(0x7FC00000));
    return _mm256_or_ps(value, _mm256_castsi256_ps(_mm256_or_si256(sign, quiet)));
  }
};

}  // namespace
}  // namespace trine::kernels
