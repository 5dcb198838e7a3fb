// What the f32 and the bf16 unit share on 512-bit registers: one register is one row of a panel.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the "undefined" pass-through operand of its own intrinsics for a mistake of ours (PR
// 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/args.h"
#include "kernels/blocked_tile.h"

namespace trine::kernels {
namespace {

struct Zmm {
  using Vec = __m512;
  static constexpr unsigned kVecs = 1;
  static constexpr unsigned kRows = 14;
  static constexpr unsigned kTallRows = 28;
  static constexpr unsigned kPanels = 2;
  static constexpr int64_t kBlockRows = 84;
  static constexpr int64_t kRowMultiple = 1;
  static constexpr int64_t kWordMultiple = 1;
  /// Panels side by side for R rows: enough chains to hide the latency of one.
  template <unsigned R>
  static constexpr unsigned kFewPanels = 4;

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static void load_f32(const uint8_t* p, Vec (&out)[1]) { out[0] = _mm512_loadu_ps(p); }
  /// Bytes e as 2^(e-127); e = 0 is subnormal.
  static void load_e8m0(const uint8_t* p, Vec (&out)[1]) {
    const __m512i e = _mm512_cvtepu8_epi32(load_16_bytes(p));
    const __m512i least = _mm512_set1_epi32(0x00400000);
    out[0] = _mm512_castsi512_ps(_mm512_max_epi32(_mm512_slli_epi32(e, 23), least));
  }
  static void load_floats(const float* p, Vec (&out)[1], int64_t valid) {
    out[0] = _mm512_maskz_loadu_ps(lanes(valid), p);
  }
  static void store_floats(float* p, const Vec (&v)[1], int64_t valid) {
    _mm512_mask_storeu_ps(p, lanes(valid), v[0]);
  }
  TRINE_INLINE static void prefetch(const uint8_t* p) { _mm_prefetch(p, _MM_HINT_T0); }
  TRINE_INLINE static void prefetch_far(const uint8_t* p) { _mm_prefetch(p, _MM_HINT_T1); }

  static __m128i load_16_bytes(const uint8_t* p) {
    __m128i bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
  }
  static __mmask16 lanes(int64_t valid) { return static_cast<__mmask16>((1u << valid) - 1u); }
  static int32_t load_word(const uint8_t* p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return word;
  }
};

}  // namespace
}  // namespace trine::kernels
