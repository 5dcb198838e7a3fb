// The fp32 unit on 512-bit registers, and how each weight format becomes floats of one k across 16
// outputs.
#pragma once

#include "kernels/avx512/zmm.h"

namespace trine::kernels {
namespace {

struct F32Unit : Zmm {
  using Word = __m512;
  using Coding = blocked::Coding;
  struct Extra {};
  static constexpr unsigned kKPerWord = 1;

  static Word broadcast(const uint8_t* p) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(load_word(p)));
  }
  static Vec madd(Word w, Word x, Vec acc) { return _mm512_fmadd_ps(x, w, acc); }
  static void load_panel(const uint8_t* p, Word (&out)[1]) { out[0] = _mm512_load_ps(p); }
  static void store_panel(uint8_t* p, const Word (&v)[1]) { _mm512_store_ps(p, v[0]); }

  static void copy_x(const float* x, int64_t count, uint8_t* out) {
    memcpy(out, x, static_cast<size_t>(count) * sizeof(float));
  }
  static void copy_x(const uint16_t* x, int64_t count, uint8_t* out) {
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes(blocked::min64(count - i, 16));
      const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x + i));
      _mm512_mask_storeu_epi32(out + i * 4, mask, _mm512_slli_epi32(wide, 16));
    }
  }

  static void run_tile(int64_t rows, int64_t panels, const blocked::Tile& t) {
    blocked::tile_of<F32Unit, kTallRows>(rows, panels, t);
  }

  template <Coding C, unsigned N>
  TRINE_INLINE static void decode(const uint8_t* p, const Extra&, Word (&out)[N][1]) {
    const __m512i row = _mm512_load_si512(p);
    if constexpr (C == Coding::kF32) {
      out[0][0] = _mm512_castsi512_ps(row);
    } else if constexpr (C == Coding::kBf16) {
      pair_of_bf16(row, out[0][0], out[1][0]);
    } else if constexpr (C == Coding::kF16) {
      pair_of_f16(row, out[0][0], out[1][0]);
    } else if constexpr (C == Coding::kInt8) {
      out[0][0] = signed_byte<24>(row);  // bytes of a word: k = 0, 2, 1, 3
      out[1][0] = signed_byte<8>(row);
      out[2][0] = signed_byte<16>(row);
      out[3][0] = signed_byte<0>(row);
    } else if constexpr (C == Coding::kE4m3 || C == Coding::kE5m2) {
      byte_pair<C>(_mm512_slli_epi16(row, 8), out[0][0], out[1][0]);
      byte_pair<C>(_mm512_and_si512(row, _mm512_set1_epi16(-256)), out[2][0], out[3][0]);
    } else {
      const __m512 codes = C == Coding::kInt4 ? int4_codes() : e2m1_codes();
      TRINE_UNROLL for (unsigned k = 0; k < 8; ++k) {
        const __m512i index = _mm512_srli_epi32(row, 16 * (k % 2) + 4 * (k / 2));
        out[k][0] = _mm512_permutexvar_ps(index, codes);
      }
    }
  }

 private:
  static void pair_of_bf16(__m512i row, Word& even, Word& odd) {
    even = _mm512_castsi512_ps(_mm512_slli_epi32(row, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(row, _mm512_set1_epi32(-65536)));
  }
  static void pair_of_f16(__m512i row, Word& even, Word& odd) {
    even = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(row));
    odd = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(row, 16)));
  }
  template <unsigned kLeft>
  static Word signed_byte(__m512i row) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(row, kLeft), 24));
  }
  /// `high` has an FP8 code in the high byte of every 16-bit lane. E5M2 is then an f16; E4M3 is an
  /// f16 2^8 too small, but for its NaN.
  template <Coding C>
  static void byte_pair(__m512i high, Word& even, Word& odd) {
    if constexpr (C == Coding::kE5m2) {
      pair_of_f16(high, even, odd);
    } else {
      const __m512i magnitude = _mm512_and_si512(high, _mm512_set1_epi16(0x7F00));
      const __mmask32 nan = _mm512_cmpeq_epi16_mask(magnitude, _mm512_set1_epi16(0x7F00));
      const __m512i sign = _mm512_andnot_si512(_mm512_set1_epi16(0x7FFF), high);
      __m512i half = _mm512_or_si512(sign, _mm512_srli_epi16(magnitude, 1));
      half = _mm512_mask_mov_epi16(half, nan, _mm512_set1_epi16(0x7E00));
      pair_of_f16(half, even, odd);
      even = _mm512_mul_ps(even, _mm512_set1_ps(256.0f));
      odd = _mm512_mul_ps(odd, _mm512_set1_ps(256.0f));
    }
  }
  static Word int4_codes() {
    return _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  static Word e2m1_codes() {
    return _mm512_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6);
  }
};

}  // namespace
}  // namespace trine::kernels
