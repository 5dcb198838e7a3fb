// Loops of independent instructions, from different start values so that none can be shared.
#include "kernels/peaks.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#define TRINE_UNROLL _Pragma("unroll")
#else
#define TRINE_UNROLL _Pragma("GCC unroll 32")
#endif

namespace trine::bench {
namespace {

#define TRINE_TARGET(flags) __attribute__((target(flags)))

TRINE_TARGET("avx512f") uint64_t read_512(const uint8_t* data, int64_t bytes) {
  __m512i sum[4] = {};
  for (int64_t i = 0; i < bytes; i += 256)
    TRINE_UNROLL for (int j = 0; j < 4; ++j) sum[j] =
        _mm512_xor_si512(sum[j], _mm512_loadu_si512(data + i + j * 64));
  const __m512i all =
      _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3]));
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(all));
}

TRINE_TARGET("avx2") uint64_t read_256(const uint8_t* data, int64_t bytes) {
  __m256i sum[8] = {};
  for (int64_t i = 0; i < bytes; i += 256) TRINE_UNROLL for (int j = 0; j < 8; ++j) {
      __m256i value;
      __builtin_memcpy(&value, data + i + j * 32, sizeof value);
      sum[j] = _mm256_xor_si256(sum[j], value);
    }
  __m256i all = sum[0];
  for (int j = 1; j < 8; ++j) all = _mm256_xor_si256(all, sum[j]);
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 1));
}

TRINE_TARGET("avx2,fma") void fma256(int64_t steps) {
  __m256 acc[12];
  TRINE_UNROLL for (int j = 0; j < 12; ++j) acc[j] = _mm256_set1_ps(static_cast<float>(j));
  __m256 x = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < steps; ++i) {
    TRINE_UNROLL for (int j = 0; j < 12; ++j) acc[j] = _mm256_fmadd_ps(x, x, acc[j]);
    __asm__ volatile("" : "+x"(x));
  }
  for (int j = 0; j < 12; ++j) __asm__ volatile("" : : "x"(acc[j]));
}

TRINE_TARGET("avx512f") void fma512(int64_t steps) {
  __m512 acc[16];
  TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] = _mm512_set1_ps(static_cast<float>(j));
  __m512 x = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < steps; ++i) {
    TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] = _mm512_fmadd_ps(x, x, acc[j]);
    __asm__ volatile("" : "+v"(x));
  }
  for (int j = 0; j < 16; ++j) __asm__ volatile("" : : "v"(acc[j]));
}

TRINE_TARGET("avx512f,avx512bf16") void bf16(int64_t steps) {
  __m512 acc[16];
  TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] = _mm512_set1_ps(static_cast<float>(j));
  __m512i x = _mm512_set1_epi32(0x3F803F80);
  for (int64_t i = 0; i < steps; ++i) {
    TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] =
        _mm512_dpbf16_ps(acc[j], reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(x));
    __asm__ volatile("" : "+v"(x));
  }
  for (int j = 0; j < 16; ++j) __asm__ volatile("" : : "v"(acc[j]));
}

TRINE_TARGET("avx512f,avx512vnni") void vnni(int64_t steps) {
  __m512i acc[16];
  TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] = _mm512_set1_epi32(j);
  __m512i x = _mm512_set1_epi32(0x01010101);
  for (int64_t i = 0; i < steps; ++i) {
    TRINE_UNROLL for (int j = 0; j < 16; ++j) acc[j] = _mm512_dpbusd_epi32(acc[j], x, x);
    __asm__ volatile("" : "+v"(x));
  }
  for (int j = 0; j < 16; ++j) __asm__ volatile("" : : "v"(acc[j]));
}

}  // namespace

uint64_t read_bytes(const uint8_t* data, int64_t bytes) {
  if (__builtin_cpu_supports("avx512f")) return read_512(data, bytes);
  if (__builtin_cpu_supports("avx2")) return read_256(data, bytes);
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t value;
    __builtin_memcpy(&value, data + i, sizeof value);
    sum ^= value;
  }
  return sum;
}

double run_fma256(int64_t steps) {
  if (!__builtin_cpu_supports("fma")) return 0;
  fma256(steps);
  return static_cast<double>(steps) * 12 * 8 * 2;
}
double run_fma512(int64_t steps) {
  if (!__builtin_cpu_supports("avx512f")) return 0;
  fma512(steps);
  return static_cast<double>(steps) * 16 * 16 * 2;
}
double run_bf16(int64_t steps) {
  if (!__builtin_cpu_supports("avx512bf16")) return 0;
  bf16(steps);
  return static_cast<double>(steps) * 16 * 32 * 2;
}
double run_vnni(int64_t steps) {
  if (!__builtin_cpu_supports("avx512vnni")) return 0;
  vnni(steps);
  return static_cast<double>(steps) * 16 * 64 * 2;
}

}  // namespace trine::bench
