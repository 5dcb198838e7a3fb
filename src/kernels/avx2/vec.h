// Eight floats in a register: what the files of generic/ are written in, at AVX2 with FMA.
#pragma once

#include <stdint.h>

#include "kernels/intrinsics.h"

namespace trine::kernels::avx2 {
namespace {  // internal linkage: no other file's copy, built with other flags, may be linked in

constexpr int64_t kLanes = 8;

struct Vec {
  __m256 v;
};

inline Vec zero() { return {_mm256_setzero_ps()}; }
inline Vec set(float x) { return {_mm256_set1_ps(x)}; }
inline Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }

inline __m256i first_lanes(int64_t n) {
  const int count = n >= kLanes ? 8 : static_cast<int>(n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/// Keeps a loaded value in its register: g++ would rather load it again for each of its uses, and
/// the two load ports are what tiles of so few registers run out of.
inline Vec in_register(Vec a) {
  asm("" : "+x"(a.v));
  return a;
}

/// The first n <= 8 (or more: all) lanes; the others are zero. Never reads beyond them.
inline Vec load_first(const float* p, int64_t n) {
  return {n >= kLanes ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, first_lanes(n))};
}
inline void store_first(float* p, Vec a, int64_t n) {
  if (n >= kLanes) {
    _mm256_storeu_ps(p, a.v);
  } else {
    _mm256_maskstore_ps(p, first_lanes(n), a.v);
  }
}

inline Vec load_bf16(const uint16_t* p) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16))};
}
/// Round to nearest even; a NaN becomes a quiet NaN of its sign. Denormals are kept.
inline void store_bf16(uint16_t* p, Vec a) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i top = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i even = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
  const __m256 nan = _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q);
  const __m256i word = _mm256_blendv_epi8(even, quiet, _mm256_castps_si256(nan));
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(word, word), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
}

inline Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Vec div(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
/// a * b + c in one rounding.
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
/// b when either is NaN.
inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), a.v)}; }
inline Vec round(Vec a) { return {_mm256_round_ps(a.v, 0x08)}; }
/// a * 2^n for integral n in [-250, 250], with denormals and overflow to infinity: two factors, as
/// 2^n itself may lie outside the normal numbers.
inline Vec scale_by_pow2(Vec a, Vec n) {
  const __m256i whole = _mm256_cvtps_epi32(n.v);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i rest = _mm256_sub_epi32(whole, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
  return {
      _mm256_mul_ps(_mm256_mul_ps(a.v, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second))};
}
/// `yes` where a < b, else `no` (NaN: no).
inline Vec where_less(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
}
/// `a` in the first n lanes, `rest` in the others.
inline Vec keep_first(Vec a, int64_t n, Vec rest) {
  return {_mm256_blendv_ps(rest.v, a.v, _mm256_castsi256_ps(first_lanes(n)))};
}

/// The halves added, then their halves, ...: one fixed tree.
inline float sum(Vec a) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float max_of(Vec a) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// out[i] = sum of the lanes of vector i: the same tree for each, whatever its place.
inline void sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
  const __m256 ab = _mm256_hadd_ps(a.v, b.v);
  const __m256 cd = _mm256_hadd_ps(c.v, d.v);
  const __m256 abcd = _mm256_hadd_ps(ab, cd);
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1)));
}

/// A sum of products held in double: the lower and the upper half of a vector.
struct Wide {
  __m256d low;
  __m256d high;
};

inline Wide wide_zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
inline Wide wide_fma(Vec a, Vec b, Wide sum) {
  const __m256d a_low = _mm256_cvtps_pd(_mm256_castps256_ps128(a.v));
  const __m256d b_low = _mm256_cvtps_pd(_mm256_castps256_ps128(b.v));
  const __m256d a_high = _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1));
  const __m256d b_high = _mm256_cvtps_pd(_mm256_extractf128_ps(b.v, 1));
  return {_mm256_fmadd_pd(a_low, b_low, sum.low), _mm256_fmadd_pd(a_high, b_high, sum.high)};
}
inline double wide_sum(Wide sum) {
  const __m256d four = _mm256_add_pd(sum.low, sum.high);
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// ------------------------------------------------- register tiles of the generic kernels

/// Rows x vectors of accumulators when few, some and many rows share the loads of a matrix.
constexpr int kManyRows = 6;
constexpr int kManyVecs = 2;
constexpr int kSomeRows = 4;
constexpr int kSomeVecs = 2;
constexpr int kFewRows = 2;
constexpr int kFewVecs = 4;
/// Queries whose scores with four latent rows are computed at once.
constexpr int kScoreQueries = 3;

}  // namespace
}  // namespace trine::kernels::avx2
