// The few tile operations that AMX kernels use: tiles of 16 rows x 64 bytes, all rows in use. With
// TRINE_AMX_TWIN they are a model in plain C of the same unit, by which packing and indexing are
// tested on machines without it. Macros because a tile's number is part of the instruction.
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef TRINE_AMX_TWIN

#include <math.h>

namespace trine::kernels {
namespace {

struct TileTwin {
  uint8_t bytes[8][16][64];
  bool configured;
};
thread_local TileTwin tile_twin;

inline void twin_load(int tile, const void* from, int64_t stride) {
  for (int64_t r = 0; r < 16; ++r)
    memcpy(tile_twin.bytes[tile][r], static_cast<const uint8_t*>(from) + r * stride, 64);
}
inline void twin_store(int tile, void* to, int64_t stride) {
  for (int64_t r = 0; r < 16; ++r)
    memcpy(static_cast<uint8_t*>(to) + r * stride, tile_twin.bytes[tile][r], 64);
}
/// A bf16 as the unit sees it: subnormals are zero.
inline float twin_bf16(const uint8_t* p) {
  uint16_t half;
  memcpy(&half, p, sizeof half);
  const uint32_t word =
      (half & 0x7F80u) == 0 ? (half & 0x8000u) << 16 : static_cast<uint32_t>(half) << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}
/// TDPBF16PS: even and odd products in chains of their own, then their sum is added to the
/// destination.
inline void twin_dot_bf16(int to, int a, int b) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      float even = 0.0f;
      float odd = 0.0f;
      for (int k = 0; k < 16; ++k) {
        const uint8_t* x = tile_twin.bytes[a][m] + k * 4;
        const uint8_t* w = tile_twin.bytes[b][k] + n * 4;
        even = fmaf(twin_bf16(x), twin_bf16(w), even);
        odd = fmaf(twin_bf16(x + 2), twin_bf16(w + 2), odd);
      }
      float sum;
      memcpy(&sum, tile_twin.bytes[to][m] + n * 4, sizeof sum);
      sum += even + odd;
      memcpy(tile_twin.bytes[to][m] + n * 4, &sum, sizeof sum);
    }
}

}  // namespace
}  // namespace trine::kernels

#define TRINE_TILE_CONFIG() (tile_twin.configured = true)
#define TRINE_TILE_RELEASE() (tile_twin.configured = false)
#define TRINE_TILE_ZERO(tile) memset(tile_twin.bytes[tile], 0, sizeof tile_twin.bytes[tile])
#define TRINE_TILE_LOAD(tile, from, stride) twin_load(tile, from, stride)
#define TRINE_TILE_STORE(tile, to, stride) twin_store(tile, to, stride)
#define TRINE_TILE_DOT_BF16(to, a, b) twin_dot_bf16(to, a, b)

#else

#include <immintrin.h>

namespace trine::kernels {
namespace {

/// Palette 1, eight tiles of 16 rows x 64 bytes.
inline void configure_tiles() {
  alignas(64) uint8_t config[64] = {1};
  for (int tile = 0; tile < 8; ++tile) {
    config[16 + 2 * tile] = 64;
    config[48 + tile] = 16;
  }
  _tile_loadconfig(config);
}

}  // namespace
}  // namespace trine::kernels

// GCC's tile load does not say that it reads memory: the barrier keeps earlier stores before it.
#define TRINE_TILE_CONFIG() configure_tiles()
#define TRINE_TILE_RELEASE() _tile_release()
#define TRINE_TILE_ZERO(tile) _tile_zero(tile)
#define TRINE_TILE_LOAD(tile, from, stride)               \
  do {                                                    \
    __asm__ volatile("" : : : "memory");                  \
    _tile_loadd(tile, from, static_cast<size_t>(stride)); \
  } while (false)
#define TRINE_TILE_STORE(tile, to, stride)               \
  do {                                                   \
    _tile_stored(tile, to, static_cast<size_t>(stride)); \
    __asm__ volatile("" : : : "memory");                 \
  } while (false)
#define TRINE_TILE_DOT_BF16(to, a, b) _tile_dpbf16ps(to, a, b)

#endif
