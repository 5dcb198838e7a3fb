// What this processor can do at most: loops that keep one unit busy from registers, and a read
// loop. `bench` times them; the roof of a forward pass is made of these figures
// (docs/guide/bench.md).
#pragma once

#include <stdint.h>

namespace trine::kernels {

/// Runs `rounds` rounds with every input 1 and returns the sum of all accumulators, which is
/// rounds * operations / 2 (as long as a float accumulator counts exactly): proof that the work was
/// done.
struct PeakLoop {
  const char* name;               ///< "avx512 vfmadd ps"
  int64_t operations;             ///< of one round, 2 per multiply-add
  double (*run)(int64_t rounds);  ///< null: the processor has no such unit (or not at this level)
};

struct PeakTable {
  const char* read_name;
  /// Loads every byte once (bytes a multiple of 1024) and returns the xor of its 64-bit words.
  uint64_t (*read)(const uint8_t* data, int64_t bytes);
  PeakLoop f32;
  PeakLoop bf16;
  PeakLoop int8;
  PeakLoop amx_bf16;
  PeakLoop amx_int8;
};

void fill_scalar_peaks(PeakTable& table);
void fill_avx2_peaks(PeakTable& table);
void fill_avx512_peaks(PeakTable& table);
void fill_avx512bf16_peaks(PeakTable& table);
void fill_amx_peaks(PeakTable& table);

}  // namespace trine::kernels
