// Emulated integers, masks, permutations and conversions of AVX-512.
#pragma once

#include "emulated_floats.h"

TRINE_EMULATED __m512i _mm512_and_si512(__m512i a, __m512i b) { return a & b; }
TRINE_EMULATED __m512i _mm512_or_si512(__m512i a, __m512i b) { return a | b; }
TRINE_EMULATED __m512i _mm512_andnot_si512(__m512i a, __m512i b) { return ~a & b; }
TRINE_EMULATED __m512i _mm512_ternarylogic_epi32(__m512i a, __m512i b, __m512i c, int table) {
  __m512i out{};
  for (int i = 0; i < 8; ++i)
    if ((table >> i & 1) != 0)
      out |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  return out;
}

TRINE_EMULATED __m512i _mm512_add_epi16(__m512i a, __m512i b) {
  return emulated::each2<uint16_t>(a, b, [](int x, int y) { return x + y; });
}
TRINE_EMULATED __m512i _mm512_sub_epi16(__m512i a, __m512i b) {
  return emulated::each2<uint16_t>(a, b, [](int x, int y) { return x - y; });
}
TRINE_EMULATED __m512i _mm512_max_epi32(__m512i a, __m512i b) {
  return emulated::each2<int32_t>(a, b, [](int32_t x, int32_t y) { return x > y ? x : y; });
}
TRINE_EMULATED __m512i _mm512_slli_epi16(__m512i a, unsigned n) {
  return emulated::each<uint16_t>(a, [&](uint32_t x) { return n > 15 ? 0u : x << n; });
}
TRINE_EMULATED __m512i _mm512_srli_epi16(__m512i a, unsigned n) {
  return emulated::each<uint16_t>(a, [&](uint32_t x) { return n > 15 ? 0u : x >> n; });
}
TRINE_EMULATED __m512i _mm512_slli_epi32(__m512i a, unsigned n) {
  return emulated::each<uint32_t>(a, [&](uint32_t x) { return n > 31 ? 0u : x << n; });
}
TRINE_EMULATED __m512i _mm512_srli_epi32(__m512i a, unsigned n) {
  return emulated::each<uint32_t>(a, [&](uint32_t x) { return n > 31 ? 0u : x >> n; });
}
TRINE_EMULATED __m512i _mm512_srai_epi32(__m512i a, unsigned n) {
  return emulated::each<int32_t>(a, [&](int32_t x) { return x >> n; });
}

TRINE_EMULATED __mmask32 _mm512_cmpeq_epi16_mask(__m512i a, __m512i b) {
  return static_cast<__mmask32>(
      emulated::mask2<int16_t>(a, b, [](int x, int y) { return x == y; }));
}
TRINE_EMULATED __mmask32 _mm512_cmplt_epi16_mask(__m512i a, __m512i b) {
  return static_cast<__mmask32>(emulated::mask2<int16_t>(a, b, [](int x, int y) { return x < y; }));
}
TRINE_EMULATED __mmask32 _mm512_cmpge_epi16_mask(__m512i a, __m512i b) {
  return static_cast<__mmask32>(
      emulated::mask2<int16_t>(a, b, [](int x, int y) { return x >= y; }));
}
TRINE_EMULATED __mmask32 _mm512_test_epi16_mask(__m512i a, __m512i b) {
  return static_cast<__mmask32>(
      emulated::mask2<int16_t>(a, b, [](int x, int y) { return (x & y) != 0; }));
}
TRINE_EMULATED __mmask32 _mm512_testn_epi16_mask(__m512i a, __m512i b) {
  return ~_mm512_test_epi16_mask(a, b);
}
TRINE_EMULATED __m512i _mm512_mask_mov_epi16(__m512i a, __mmask32 m, __m512i b) {
  return emulated::blend<int16_t>(a, m, b);
}
TRINE_EMULATED __m512i _mm512_maskz_add_epi16(__mmask32 m, __m512i a, __m512i b) {
  return emulated::blend<int16_t>(__m512i{}, m, _mm512_add_epi16(a, b));
}

TRINE_EMULATED __m512i _mm512_permutexvar_epi16(__m512i index, __m512i table) {
  const emulated::Lanes<int16_t, __m512i> entries(table);
  return emulated::each<int16_t>(index, [&](int x) { return entries.lane[x & 31]; });
}
TRINE_EMULATED __m512i _mm512_mask_permutexvar_epi16(__m512i a, __mmask32 m, __m512i index,
                                                     __m512i table) {
  return emulated::blend<int16_t>(a, m, _mm512_permutexvar_epi16(index, table));
}
TRINE_EMULATED __m512 _mm512_permutexvar_ps(__m512i index, __m512 table) {
  return emulated::convert<float, __m512, int32_t>(index, [&](int32_t x) { return table[x & 15]; });
}

TRINE_EMULATED __m512i _mm512_cvtepu8_epi32(__m128i v) {
  return emulated::convert<int32_t, __m512i, uint8_t>(v, [](uint8_t x) { return int32_t{x}; });
}
TRINE_EMULATED __m512i _mm512_cvtepu16_epi32(__m256i v) {
  return emulated::convert<int32_t, __m512i, uint16_t>(v, [](uint16_t x) { return int32_t{x}; });
}
TRINE_EMULATED __m256i _mm512_cvtepi32_epi16(__m512i v) {
  return emulated::convert<int16_t, __m256i, int32_t>(
      v, [](int32_t x) { return static_cast<int16_t>(x); });
}
TRINE_EMULATED __m512 _mm512_cvtepi32_ps(__m512i v) {
  return emulated::convert<float, __m512, int32_t>(v,
                                                   [](int32_t x) { return static_cast<float>(x); });
}
TRINE_EMULATED __m512 _mm512_cvtph_ps(__m256i v) {
  return emulated::convert<float, __m512, uint16_t>(v, emulated::half_to_float);
}

TRINE_EMULATED __m512i _mm512_loadu_si512(const void* p) {
  return _mm512_castps_si512(_mm512_loadu_ps(p));
}
TRINE_EMULATED __m512 _mm512_abs_ps(__m512 v) { return emulated::each<float>(v, fabsf); }
TRINE_EMULATED __m512 _mm512_max_ps(__m512 a, __m512 b) {
  return emulated::each2<float>(a, b, [](float x, float y) { return x > y ? x : y; });
}
TRINE_EMULATED float _mm512_reduce_max_ps(__m512 v) {
  float most = v[0];
  for (int i = 1; i < 16; ++i) most = most > v[i] ? most : v[i];
  return most;
}
#define _CMP_NLT_UQ 0x15
/// The one predicate in use: not less than, true for NaN.
TRINE_EMULATED __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int predicate) {
  if (predicate != _CMP_NLT_UQ) __builtin_trap();
  return static_cast<__mmask16>(
      emulated::mask2<float>(a, b, [](float x, float y) { return !(x < y); }));
}
TRINE_EMULATED __m512i _mm512_cvtps_epi32(__m512 v) {
  return emulated::convert<int32_t, __m512i, float>(
      v, [](float x) { return static_cast<int32_t>(nearbyintf(x)); });
}
TRINE_EMULATED __m128i _mm512_cvtepi32_epi8(__m512i v) {
  return emulated::convert<int8_t, __m128i, int32_t>(
      v, [](int32_t x) { return static_cast<int8_t>(x); });
}
TRINE_EMULATED __m512i _mm512_add_epi32(__m512i a, __m512i b) {
  return emulated::each2<uint32_t>(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
TRINE_EMULATED __m128i _mm_shuffle_epi8(__m128i v, __m128i index) {
  const emulated::Lanes<int8_t, __m128i> bytes(v);
  return emulated::each<int8_t>(index, [&](int i) { return i < 0 ? 0 : bytes.lane[i & 15]; });
}
/// Four products of an unsigned byte of a and a signed byte of b are added to each 32-bit lane.
TRINE_EMULATED __m512i _mm512_dpbusd_epi32(__m512i acc, __m512i a, __m512i b) {
  const emulated::Lanes<uint8_t, __m512i> x(a);
  const emulated::Lanes<int8_t, __m512i> y(b);
  emulated::Lanes<int32_t, __m512i> sum(acc);
  for (int i = 0; i < 64; ++i) sum.lane[i / 4] += x.lane[i] * y.lane[i];
  return sum.vector();
}
