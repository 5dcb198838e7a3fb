// The AMX unit: rows of x are A tiles (16 rows x 32 k), 16 packed rows of a panel are a B tile (32
// k x 16 outputs) as they lie. Up to 32 rows x 2 panels: C tiles 0..3, A tiles 4 and 5, B tiles 6
// and 7.
#pragma once

#include "kernels/amx/tile.h"
#include "kernels/avx512bf16/unit.h"

namespace trine::kernels {
namespace {

/// Where one C tile (16 rows x 16 outputs) rests; rows beyond `rows` and outputs beyond `valid` do
/// not exist.
struct TilePlace {
  float* at;
  int64_t stride;
  int64_t rows;
  int64_t valid;
};

struct AmxUnit : Bf16Unit {
  static constexpr unsigned kRows = 32;
  static constexpr unsigned kTallRows = 32;
  static constexpr int64_t kBlockRows = 96;
  static constexpr int64_t kRowMultiple = 16;
  static constexpr int64_t kWordMultiple = 16;
  static constexpr int64_t kTileWords = 16;

  static void run_tile(int64_t rows, int64_t panels, const blocked::Tile& t) {
    if (rows > 16)
      panels == 2 ? tiles<true, true>(rows, t) : tiles<true, false>(rows, t);
    else
      panels == 2 ? tiles<false, true>(rows, t) : tiles<false, false>(rows, t);
  }

 private:
  struct alignas(64) Buffer {
    float values[16][16];
  };

  template <bool kTwoA, bool kTwoB>
  static void tiles(int64_t rows, const blocked::Tile& t) {
    Buffer c[4];
    int64_t group = t.group;
    for (int64_t begin = 0; begin < t.words; begin += t.segment_words, ++group) {
      const int64_t end = blocked::min64(begin + t.segment_words, t.words);
      if (t.resume)
        load_chains<kTwoA, kTwoB>(rows, t, c);
      else
        zero_chains<kTwoA, kTwoB>();
      multiply<kTwoA, kTwoB>(t, begin, end);
      store_chains<kTwoA, kTwoB>(c);
      for (int a = 0; a < 1 + kTwoA; ++a)
        for (int b = 0; b < 1 + kTwoB; ++b)
          finish(t, a, b, rows, kTwoB, t.first && group == t.group, group, c[2 * a + b]);
    }
  }

  template <bool kTwoA, bool kTwoB>
  TRINE_INLINE static void multiply(const blocked::Tile& t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kTileWords) {
      const uint8_t* x = t.x + i * 4;
      const uint8_t* w = t.w + i * blocked::kRowBytes;
      TRINE_TILE_LOAD(4, x, blocked::kXBytes);
      TRINE_TILE_LOAD(6, w, blocked::kRowBytes);
      TRINE_TILE_DOT_BF16(0, 4, 6);
      if constexpr (kTwoB) {
        TRINE_TILE_LOAD(7, w + t.w_bytes, blocked::kRowBytes);
        TRINE_TILE_DOT_BF16(1, 4, 7);
      }
      if constexpr (kTwoA) {
        TRINE_TILE_LOAD(5, x + 16 * blocked::kXBytes, blocked::kXBytes);
        TRINE_TILE_DOT_BF16(2, 5, 6);
        if constexpr (kTwoB) TRINE_TILE_DOT_BF16(3, 5, 7);
      }
      for (int64_t at = i * t.ahead.step; at < (i + kTileWords) * t.ahead.step; at += 64) {
        prefetch_far(t.ahead.at + at);
        if constexpr (kTwoB) prefetch_far(t.ahead.at + t.ahead.panel_bytes + at);
      }
    }
  }

  template <bool kTwoA, bool kTwoB>
  TRINE_INLINE static void zero_chains() {
    TRINE_TILE_ZERO(0);
    if constexpr (kTwoB) TRINE_TILE_ZERO(1);
    if constexpr (kTwoA) TRINE_TILE_ZERO(2);
    if constexpr (kTwoA && kTwoB) TRINE_TILE_ZERO(3);
  }
  template <bool kTwoA, bool kTwoB>
  TRINE_INLINE static void store_chains(Buffer (&c)[4]) {
    TRINE_TILE_STORE(0, c[0].values, 64);
    if constexpr (kTwoB) TRINE_TILE_STORE(1, c[1].values, 64);
    if constexpr (kTwoA) TRINE_TILE_STORE(2, c[2].values, 64);
    if constexpr (kTwoA && kTwoB) TRINE_TILE_STORE(3, c[3].values, 64);
  }
  template <bool kTwoA, bool kTwoB>
  TRINE_INLINE static void load_chains(int64_t rows, const blocked::Tile& t, Buffer (&c)[4]) {
    for (int a = 0; a < 1 + kTwoA; ++a)
      for (int b = 0; b < 1 + kTwoB; ++b) {
        const TilePlace from = place(t, t.chain, t.chain_stride, a, b, rows, kTwoB);
        for (int64_t r = 0; r < 16; ++r) {
          Vec row[1] = {zero()};
          if (r < from.rows) load_floats(from.at + r * from.stride, row, from.valid);
          _mm512_storeu_ps(c[2 * a + b].values[r], row[0]);
        }
      }
    TRINE_TILE_LOAD(0, c[0].values, 64);
    if constexpr (kTwoB) TRINE_TILE_LOAD(1, c[1].values, 64);
    if constexpr (kTwoA) TRINE_TILE_LOAD(2, c[2].values, 64);
    if constexpr (kTwoA && kTwoB) TRINE_TILE_LOAD(3, c[3].values, 64);
  }

  static TilePlace place(const blocked::Tile& t, float* base, int64_t stride, int a, int b,
                         int64_t rows, bool two_b) {
    const bool last = b == (two_b ? 1 : 0);
    return {base + a * 16 * stride + b * kPanelOutputs, stride, blocked::min64(rows - a * 16, 16),
            last ? t.valid_last : kPanelOutputs};
  }

  /// Stores a chain where it goes on, or folds it into its total with the group's scales.
  static void finish(const blocked::Tile& t, int a, int b, int64_t rows, bool two_b, bool first,
                     int64_t group, const Buffer& c) {
    const TilePlace to = t.fold ? place(t, t.y, t.y_stride, a, b, rows, two_b)
                                : place(t, t.chain, t.chain_stride, a, b, rows, two_b);
    const bool fold = t.fold && t.groups->scaled;
    Vec scale[1] = {zero()};
    if (fold) blocked::load_scale<AmxUnit>(t.groups->kind, t.groups->at(t.panel + b, group), scale);
    for (int64_t r = 0; r < to.rows; ++r) {
      float* row = to.at + r * to.stride;
      Vec value[1] = {_mm512_loadu_ps(c.values[r])};
      if (fold) {
        Vec total[1] = {zero()};
        if (!first) load_floats(row, total, to.valid);
        value[0] = fma(scale[0], value[0], total[0]);
      }
      store_floats(row, value, to.valid);
    }
  }
};

}  // namespace
}  // namespace trine::kernels
