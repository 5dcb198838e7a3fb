// Peak loops with 256-bit registers.
#include "kernels/peak.h"
#include "kernels/intrinsics.h"

namespace trine::kernels {
namespace {

constexpr int kChains = 12;

double run_f32(int64_t rounds) {
  __m256 acc[kChains];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  __m256 one = _mm256_set1_ps(1.0f);
  asm volatile("" : "+x"(one));
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm256_fmadd_ps(one, one, acc[c]);
  }
  double sum = 0;
  for (const __m256& a : acc) {
    float lanes[8];
    _mm256_storeu_ps(lanes, a);
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

uint64_t read(const uint8_t* data, int64_t bytes) {
  __m256i acc[8];
  for (__m256i& a : acc) a = _mm256_setzero_si256();
  for (int64_t i = 0; i < bytes; i += 256) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      acc[j] = _mm256_xor_si256(
          acc[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 32 * j)));
  }
  uint64_t result = 0;
  for (const __m256i& a : acc) {
    uint64_t words[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), a);
    result ^= words[0] ^ words[1] ^ words[2] ^ words[3];
  }
  return result;
}

}  // namespace

void fill_avx2_peaks(PeakTable& table) {
  table.read_name = "256-bit loads";
  table.read = read;
  table.f32 = {"avx2 vfmadd ps", 2 * 8 * kChains, run_f32};
}

}  // namespace trine::kernels
