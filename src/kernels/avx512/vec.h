// Sixteen floats in a register: what the files of generic/ are written in, at AVX-512 (F, BW, DQ,
// VL).
#pragma once

#include <stdint.h>

#include "kernels/intrinsics.h"

namespace trine::kernels::avx512 {
namespace {  // internal linkage: no other file's copy, built with other flags, may be linked in

constexpr int64_t kLanes = 16;

struct Vec {
  __m512 v;
};

inline Vec zero() { return {_mm512_setzero_ps()}; }
inline Vec set(float x) { return {_mm512_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }

/// Keeps a loaded value in its register: g++ would rather load it again for each of its uses.
inline Vec in_register(Vec a) {
#if defined(__AVX512F__)  // not where these functions are emulated
  asm("" : "+v"(a.v));
#endif
  return a;
}

inline __mmask16 first_lanes(int64_t n) {
  return n >= kLanes ? __mmask16{0xffff} : static_cast<__mmask16>((1U << n) - 1U);
}
/// The first n <= 16 (or more: all) lanes; the others are zero. Never reads beyond them.
inline Vec load_first(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
inline void store_first(float* p, Vec a, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}

inline Vec load_bf16(const uint16_t* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
/// Round to nearest even; a NaN becomes a quiet NaN of its sign. Denormals are kept.
inline void store_bf16(uint16_t* p, Vec a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i top = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __m512i even = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __m512i quiet = _mm512_or_si512(top, _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i word = _mm512_mask_mov_epi32(even, nan, quiet);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(word));
}

inline Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec div(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
/// a * b + c in one rounding.
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// b when either is NaN.
inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Vec abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
inline Vec round(Vec a) { return {_mm512_roundscale_ps(a.v, 0x08)}; }
/// a * 2^n for integral n, rounded once, with denormals and overflow to infinity.
inline Vec scale_by_pow2(Vec a, Vec n) { return {_mm512_scalef_ps(a.v, n.v)}; }
/// `yes` where a < b, else `no` (NaN: no).
inline Vec where_less(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm512_mask_mov_ps(no.v, _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), yes.v)};
}
/// `a` in the first n lanes, `rest` in the others.
inline Vec keep_first(Vec a, int64_t n, Vec rest) {
  return {_mm512_mask_mov_ps(rest.v, first_lanes(n), a.v)};
}

/// The halves added, then their halves, ...: one fixed tree.
inline float sum(Vec a) {
  const __m256 top = _mm512_extractf32x8_ps(a.v, 1);
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), top);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float max_of(Vec a) {
  const __m256 top = _mm512_extractf32x8_ps(a.v, 1);
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), top);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// out[i] = sum of the lanes of vector i: the same tree for each, whatever its place.
inline void sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
  const __m512i pick = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
  const __m512 ab =
      _mm512_add_ps(_mm512_shuffle_f32x4(a.v, b.v, 0x44), _mm512_shuffle_f32x4(a.v, b.v, 0xee));
  const __m512 cd =
      _mm512_add_ps(_mm512_shuffle_f32x4(c.v, d.v, 0x44), _mm512_shuffle_f32x4(c.v, d.v, 0xee));
  const __m512 four =
      _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
  const __m512 two = _mm512_add_ps(four, _mm512_shuffle_ps(four, four, 0x4e));
  const __m512 one = _mm512_add_ps(two, _mm512_shuffle_ps(two, two, 0xb1));
  _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(pick, one)));
}

/// A sum of products held in double: the lower and the upper half of a vector.
struct Wide {
  __m512d low;
  __m512d high;
};

inline Wide wide_zero() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
inline Wide wide_fma(Vec a, Vec b, Wide sum) {
  const __m512d a_low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v));
  const __m512d b_low = _mm512_cvtps_pd(_mm512_castps512_ps256(b.v));
  const __m512d a_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  const __m512d b_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(b.v, 1));
  return {_mm512_fmadd_pd(a_low, b_low, sum.low), _mm512_fmadd_pd(a_high, b_high, sum.high)};
}
inline double wide_sum(Wide sum) {
  const __m512d eight = _mm512_add_pd(sum.low, sum.high);
  const __m256d four =
      _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// ------------------------------------------------- register tiles of the generic kernels

/// Rows x vectors of accumulators when few, some and many rows share the loads of a matrix.
constexpr int kManyRows = 8;
constexpr int kManyVecs = 2;
constexpr int kSomeRows = 4;
constexpr int kSomeVecs = 4;
constexpr int kFewRows = 2;
constexpr int kFewVecs = 8;
/// Queries whose scores with four latent rows are computed at once.
constexpr int kScoreQueries = 4;

}  // namespace
}  // namespace trine::kernels::avx512
