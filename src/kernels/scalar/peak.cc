// Peak loops without vector instructions of any level.
#include "kernels/peak.h"

namespace trine::kernels {
namespace {

constexpr int kChains = 8;

double run_f32(int64_t rounds) {
  float acc[kChains] = {};
  float one = 1.0f;
  asm volatile("" : "+x"(one));  // not a constant to the compiler
  for (int64_t i = 0; i < rounds; ++i)
    for (float& a : acc) a = a + one * one;
  double sum = 0;
  for (const float a : acc) sum += static_cast<double>(a);
  return sum;
}

uint64_t read(const uint8_t* data, int64_t bytes) {
  uint64_t acc[4] = {};
  for (int64_t i = 0; i < bytes; i += 32)
    for (int64_t j = 0; j < 4; ++j) {
      uint64_t word;
      __builtin_memcpy(&word, data + i + 8 * j, 8);
      acc[j] ^= word;
    }
  return acc[0] ^ acc[1] ^ acc[2] ^ acc[3];
}

}  // namespace

void fill_scalar_peaks(PeakTable& table) {
  table.read_name = "64-bit loads";
  table.read = read;
  table.f32 = {"scalar mul + add", 2 * kChains, run_f32};
}

}  // namespace trine::kernels
