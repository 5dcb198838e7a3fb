// What this machine can do at most: reading memory, and multiply-adds of each kind.
#pragma once

#include <cstdint>

namespace trine::bench {

/// Reads `bytes` (a multiple of 256) and returns something that depends on them.
uint64_t read_bytes(const uint8_t* data, int64_t bytes);

/// Runs `steps` x 16 (fma256: 12) independent multiply-adds; returns the operations done, 0 without
/// the unit.
double run_fma256(int64_t steps);
double run_fma512(int64_t steps);
double run_bf16(int64_t steps);
double run_vnni(int64_t steps);

}  // namespace trine::bench
