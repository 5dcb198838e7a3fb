// Peak loops of the dot-product instructions: bf16 pairs and int8 quads.
#include "kernels/peak.h"
#include "kernels/intrinsics.h"

namespace trine::kernels {
namespace {

constexpr int kChains = 16;

double run_bf16(int64_t rounds) {
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  __m512i bits = _mm512_set1_epi16(0x3F80);  // 1.0
  asm volatile("" : "+v"(bits));
  const __m512bh one = reinterpret_cast<__m512bh>(bits);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_dpbf16_ps(acc[c], one, one);
  }
  double sum = 0;
  for (const __m512& a : acc) {
    float lanes[16];
    _mm512_storeu_ps(lanes, a);
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

double run_int8(int64_t rounds) {
  __m512i acc[kChains];
  for (__m512i& a : acc) a = _mm512_setzero_si512();
  __m512i one = _mm512_set1_epi8(1);
  asm volatile("" : "+v"(one));
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_dpbusd_epi32(acc[c], one, one);
  }
  double sum = 0;
  for (const __m512i& a : acc) {
    int32_t lanes[16];
    _mm512_storeu_si512(lanes, a);
    for (const int32_t lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

}  // namespace

void fill_avx512bf16_peaks(PeakTable& table) {
  table.bf16 = {"avx512 vdpbf16ps", 2 * 32 * kChains, run_bf16};
  table.int8 = {"avx512 vpdpbusd", 2 * 64 * kChains, run_int8};
}

}  // namespace trine::kernels
