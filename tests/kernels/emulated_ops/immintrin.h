// <immintrin.h> for tests that run the AVX-512 kernels on a processor without it: SIMDe's portable
// versions under the native names, and here, lane by lane, those that SIMDe 0.7 lacks. Found before
// the compiler's own header because its folder comes first.
#pragma once

// A name of the compiler's that neither SIMDe nor this file replaces fails to compile, as the file
// is built without -mavx512f: nothing can slip through to an instruction that the processor lacks.
#define SIMDE_ENABLE_NATIVE_ALIASES
#include_next <immintrin.h>
#include <simde/x86/avx512.h>
#include <string.h>

namespace emulated {

template <typename To, typename From>
inline To bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

template <typename T, int N>
struct Lanes {
  T at[N];
};

inline __m512 maskz_loadu_ps(__mmask16 mask, const void* from) {
  Lanes<float, 16> lanes = {};
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) {
      memcpy(&lanes.at[i], static_cast<const float*>(from) + i, sizeof(float));
    }
  }
  return bits<__m512>(lanes);
}

inline void mask_storeu_ps(void* to, __mmask16 mask, __m512 a) {
  const Lanes<float, 16> lanes = bits<Lanes<float, 16>>(a);
  for (int i = 0; i < 16; ++i) {
    if ((mask >> i & 1) != 0) {
      memcpy(static_cast<float*>(to) + i, &lanes.at[i], sizeof(float));
    }
  }
}

/// Each lane of `a` converted to the lane type of the result.
template <typename To, typename ToLane, typename FromLane, int N, typename From>
inline To convert(const From& a) {
  const Lanes<FromLane, N> from = bits<Lanes<FromLane, N>>(a);
  Lanes<ToLane, N> to;
  for (int i = 0; i < N; ++i) {
    to.at[i] = static_cast<ToLane>(from.at[i]);
  }
  return bits<To>(to);
}

/// 128-bit parts: two of a by the low four bits of `pick`, two of b by the high four.
inline __m512 shuffle_f32x4(__m512 a, __m512 b, int pick) {
  struct Parts {
    float at[4][4];
  };
  const Parts from[2] = {bits<Parts>(a), bits<Parts>(b)};
  Parts to;
  for (int i = 0; i < 4; ++i) {
    memcpy(to.at[i], from[i / 2].at[pick >> (2 * i) & 3], sizeof(to.at[i]));
  }
  return bits<__m512>(to);
}

inline __m256 extract_half(__m512 a, int half) {
  const Lanes<__m256, 2> halves = bits<Lanes<__m256, 2>>(a);
  return halves.at[half];
}

}  // namespace emulated

#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps(mask, from) emulated::maskz_loadu_ps(mask, from)
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps(to, mask, a) emulated::mask_storeu_ps(to, mask, a)
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32(a) emulated::convert<__m512i, uint32_t, uint16_t, 16>(a)
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_epi16(a) emulated::convert<__m256i, uint16_t, uint32_t, 16>(a)
#undef _mm512_cvtps_pd
#define _mm512_cvtps_pd(a) emulated::convert<__m512d, double, float, 8>(a)
#undef _mm512_shuffle_f32x4
#define _mm512_shuffle_f32x4(a, b, pick) emulated::shuffle_f32x4(a, b, pick)
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps(a, half) emulated::extract_half(a, half)
