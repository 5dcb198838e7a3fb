// Emulated loads, stores, constants and float arithmetic of AVX-512.
#pragma once

#include "emulated_lanes.h"

TRINE_EMULATED __m512 _mm512_setzero_ps() { return __m512{}; }
TRINE_EMULATED __m512 _mm512_set1_ps(float v) { return __m512{} + v; }
TRINE_EMULATED __m512 _mm512_setr_ps(float a, float b, float c, float d, float e, float f, float g,
                                     float h, float i, float j, float k, float l, float m, float n,
                                     float o, float p) {
  return __m512{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p};
}
TRINE_EMULATED __m512i _mm512_set1_epi16(int v) {
  return emulated::each<int16_t>(__m512i{}, [&](int16_t) { return v; });
}
TRINE_EMULATED __m512i _mm512_set1_epi32(int v) {
  return emulated::each<int32_t>(__m512i{}, [&](int32_t) { return v; });
}
TRINE_EMULATED __m512i _mm512_broadcast_i64x4(__m256i v) {
  __m512i out;
  memcpy(&out, &v, 32);
  memcpy(reinterpret_cast<char*>(&out) + 32, &v, 32);
  return out;
}
TRINE_EMULATED __m512i _mm512_castps_si512(__m512 v) { return reinterpret_cast<__m512i>(v); }
TRINE_EMULATED __m512 _mm512_castsi512_ps(__m512i v) { return reinterpret_cast<__m512>(v); }

TRINE_EMULATED __m512 _mm512_loadu_ps(const void* p) {
  return emulated::load_masked<float, __m512>(0xFFFF, p);
}
TRINE_EMULATED __m512 _mm512_load_ps(const void* p) {
  return _mm512_loadu_ps(emulated::aligned(p));
}
TRINE_EMULATED __m512i _mm512_load_si512(const void* p) {
  return _mm512_castps_si512(_mm512_load_ps(p));
}
TRINE_EMULATED void _mm512_storeu_ps(void* p, __m512 v) {
  emulated::store_masked<float>(p, 0xFFFF, v);
}
TRINE_EMULATED void _mm512_store_ps(void* p, __m512 v) {
  emulated::aligned(p);
  _mm512_storeu_ps(p, v);
}
TRINE_EMULATED void _mm512_store_si512(void* p, __m512i v) {
  _mm512_store_ps(p, _mm512_castsi512_ps(v));
}
TRINE_EMULATED __m512 _mm512_maskz_loadu_ps(__mmask16 m, const void* p) {
  return emulated::load_masked<float, __m512>(m, p);
}
TRINE_EMULATED void _mm512_mask_storeu_ps(void* p, __mmask16 m, __m512 v) {
  emulated::store_masked<float>(p, m, v);
}
TRINE_EMULATED void _mm512_mask_storeu_epi32(void* p, __mmask16 m, __m512i v) {
  emulated::store_masked<int32_t>(p, m, v);
}
TRINE_EMULATED __m256i _mm256_maskz_loadu_epi16(__mmask16 m, const void* p) {
  return emulated::load_masked<int16_t, __m256i>(m, p);
}

TRINE_EMULATED __m512 _mm512_mul_ps(__m512 a, __m512 b) { return a * b; }
TRINE_EMULATED __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
  __m512 out;
  for (int i = 0; i < 16; ++i) out[i] = fmaf(a[i], b[i], c[i]);
  return out;
}
/// The odd products first, then the even ones, each a fused multiply-add; subnormals in and out are
/// zero.
TRINE_EMULATED __m512 _mm512_dpbf16_ps(__m512 acc, __m512bh a, __m512bh b) {
  const emulated::Lanes<uint16_t, __m512bh> x(a);
  const emulated::Lanes<uint16_t, __m512bh> y(b);
  for (int i = 0; i < 16; ++i)
    for (int half = 1; half >= 0; --half)
      acc[i] = emulated::flush(fmaf(emulated::bf16_to_float(x.lane[2 * i + half]),
                                    emulated::bf16_to_float(y.lane[2 * i + half]),
                                    emulated::flush(acc[i])));
  return acc;
}
