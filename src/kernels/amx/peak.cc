// Peak loops of the tile unit: four accumulator tiles of 16 x 16, two tiles of each input.
#include "kernels/peak.h"
#include "kernels/intrinsics.h"

namespace trine::kernels {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette;
  uint8_t start_row;
  uint8_t reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

void configure() {
  TileConfig config = {};
  config.palette = 1;
  for (int t = 0; t < 8; ++t) {
    config.row_bytes[t] = 64;
    config.rows[t] = 16;
  }
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

void load_inputs(uint8_t low, uint8_t high) {
  alignas(64) uint8_t ones[1024];
  for (int i = 0; i < 1024; i += 2) {
    ones[i] = low;
    ones[i + 1] = high;
  }
  _tile_loadd(4, ones, 64);
  _tile_loadd(5, ones, 64);
  _tile_loadd(6, ones, 64);
  _tile_loadd(7, ones, 64);
}

void store(uint32_t* out) {
  _tile_stored(0, out, 64);
  _tile_stored(1, out + 256, 64);
  _tile_stored(2, out + 512, 64);
  _tile_stored(3, out + 768, 64);
  _tile_release();
}

double run_bf16(int64_t rounds) {
  configure();
  load_inputs(0x80, 0x3F);  // 1.0
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) uint32_t out[1024];
  store(out);
  double sum = 0;
  for (const uint32_t bits : out) {
    float value;
    __builtin_memcpy(&value, &bits, 4);
    sum += static_cast<double>(value);
  }
  return sum;
}

double run_int8(int64_t rounds) {
  configure();
  load_inputs(1, 1);
  for (int64_t i = 0; i < rounds; ++i) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  alignas(64) uint32_t out[1024];
  store(out);
  double sum = 0;
  for (const uint32_t value : out) sum += static_cast<double>(value);
  return sum;
}

}  // namespace

void fill_amx_peaks(PeakTable& table) {
  table.amx_bf16 = {"amx tdpbf16ps", 2 * 4 * 16 * 16 * 32, run_bf16};
  table.amx_int8 = {"amx tdpbusd", 2 * 4 * 16 * 16 * 64, run_int8};
}

}  // namespace trine::kernels
