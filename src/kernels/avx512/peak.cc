// Peak loops with 512-bit registers.
#include "kernels/peak.h"
#include "kernels/intrinsics.h"

namespace trine::kernels {
namespace {

constexpr int kChains = 16;

double run_f32(int64_t rounds) {
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  __m512 one = _mm512_set1_ps(1.0f);
  asm volatile("" : "+v"(one));
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_fmadd_ps(one, one, acc[c]);
  }
  double sum = 0;
  for (const __m512& a : acc) {
    float lanes[16];
    _mm512_storeu_ps(lanes, a);
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

uint64_t read(const uint8_t* data, int64_t bytes) {
  __m512i acc[8];
  for (__m512i& a : acc) a = _mm512_setzero_si512();
  for (int64_t i = 0; i < bytes; i += 512) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      acc[j] = _mm512_xor_si512(acc[j], _mm512_loadu_si512(data + i + 64 * j));
  }
  uint64_t result = 0;
  for (const __m512i& a : acc) {
    uint64_t words[8];
    _mm512_storeu_si512(words, a);
    for (const uint64_t word : words) result ^= word;
  }
  return result;
}

}  // namespace

void fill_avx512_peaks(PeakTable& table) {
  table.read_name = "512-bit loads";
  table.read = read;
  table.f32 = {"avx512 vfmadd ps", 2 * 16 * kChains, run_f32};
}

}  // namespace trine::kernels
