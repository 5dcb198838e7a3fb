// The AVX-512 instructions that the matmul kernels use, in plain C++, each as Intel's manual
// defines it. This header stands in for the compiler's when the kernels are compiled for tests on
// machines without them.
#pragma once

#include <emmintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float __m512 __attribute__((vector_size(64)));
typedef long long __m512i __attribute__((vector_size(64)));
typedef short __m512bh __attribute__((vector_size(64)));
typedef long long __m256i __attribute__((vector_size(32)));
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;

namespace emulated {

/// The lanes of a register as an array.
template <typename T, typename V>
struct Lanes {
  static constexpr int kCount = sizeof(V) / sizeof(T);
  T lane[sizeof(V) / sizeof(T)];
  explicit Lanes(const V& v) { memcpy(lane, &v, sizeof v); }
  V vector() const {
    V v;
    memcpy(&v, lane, sizeof v);
    return v;
  }
};

template <typename T, typename V, typename F>
V each(const V& a, F f) {
  Lanes<T, V> x(a);
  for (T& lane : x.lane) lane = static_cast<T>(f(lane));
  return x.vector();
}
template <typename T, typename V, typename F>
V each2(const V& a, const V& b, F f) {
  Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  for (int i = 0; i < x.kCount; ++i) x.lane[i] = static_cast<T>(f(x.lane[i], y.lane[i]));
  return x.vector();
}
template <typename T, typename V, typename F>
uint64_t mask2(const V& a, const V& b, F f) {
  const Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  uint64_t mask = 0;
  for (int i = 0; i < x.kCount; ++i)
    mask |= static_cast<uint64_t>(f(x.lane[i], y.lane[i]) ? 1 : 0) << i;
  return mask;
}
/// Lanes of b where the mask is set, else of a.
template <typename T, typename V>
V blend(const V& a, uint64_t mask, const V& b) {
  Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0) x.lane[i] = y.lane[i];
  return x.vector();
}
/// Reads and writes only the lanes of the mask.
template <typename T, typename V>
V load_masked(uint64_t mask, const void* p) {
  Lanes<T, V> x(V{});
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0)
      memcpy(x.lane + i, static_cast<const char*>(p) + i * int{sizeof(T)}, sizeof(T));
  return x.vector();
}
template <typename T, typename V>
void store_masked(void* p, uint64_t mask, const V& v) {
  const Lanes<T, V> x(v);
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0)
      memcpy(static_cast<char*>(p) + i * int{sizeof(T)}, x.lane + i, sizeof(T));
}
/// Lane i of `to` from lane i of `from`.
template <typename To, typename ToV, typename From, typename FromV, typename F>
ToV convert(const FromV& v, F f) {
  Lanes<To, ToV> out(ToV{});
  const Lanes<From, FromV> in(v);
  for (int i = 0; i < out.kCount; ++i) out.lane[i] = f(in.lane[i]);
  return out.vector();
}
/// Aligned access to memory that is not aligned is a fault on the real machine.
inline const void* aligned(const void* p) {
  if ((reinterpret_cast<uintptr_t>(p) & 63u) != 0) __builtin_trap();
  return p;
}

inline float half_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexpf(static_cast<float>(mantissa), -24);
  return sign * ldexpf(static_cast<float>(mantissa + 1024), exponent - 25);
}
inline float flush(float v) { return fabsf(v) < 0x1p-126f ? copysignf(0.0f, v) : v; }
/// A bf16 as VDPBF16PS takes it: subnormals are zero.
inline float bf16_to_float(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return flush(value);
}

}  // namespace emulated

#define TRINE_EMULATED static inline

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
