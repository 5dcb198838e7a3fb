// Tiles of R rows x P panels held in registers: the inner loop of blocked_many.h on vector units.
#pragma once

#include "kernels/blocked.h"

namespace trine::kernels::blocked {

/// The share of the packed weights after this block that one tile prefetches: `step` bytes per word
/// and panel. Spread over all tiles of a block, so that memory is never asked in bursts.
struct Ahead {
  const uint8_t* at;
  int64_t panel_bytes;
  int64_t step;
};

/// One tile over `segments` groups (the last may be short), or over a part of one group.
struct Tile {
  const uint8_t* x;  ///< scratch, kXBytes between rows
  const uint8_t* w;  ///< decoded rows
  int64_t w_bytes;   ///< between panels
  Ahead ahead;
  int64_t words;
  int64_t segment_words;
  bool resume;  ///< the chain goes on from `chain`
  bool fold;    ///< the group ends here
  bool first;   ///< it is the first group: totals start at 0
  float* chain;
  int64_t chain_stride;
  float* y;
  int64_t y_stride;
  int64_t valid_last;  ///< outputs of the last panel
  const Groups* groups;
  int64_t panel;
  int64_t group;
};

template <class U, unsigned R, unsigned P>
using Accumulators = typename U::Vec[R][P][U::kVecs];

template <class U, unsigned R, unsigned P>
TRINE_INLINE void tile_begin(const Tile& t, Accumulators<U, R, P>& acc) {
  TRINE_UNROLL for (unsigned r = 0; r < R; ++r) TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
    if (t.resume)
      U::load_floats(t.chain + r * t.chain_stride + p * kPanelOutputs, acc[r][p],
                     p + 1 == P ? t.valid_last : kPanelOutputs);
    else
      TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) acc[r][p][v] = U::zero();
  }
}

template <class U, unsigned R, unsigned P>
TRINE_INLINE void tile_end(const Tile& t, bool first, int64_t group, Accumulators<U, R, P>& acc) {
  const bool fold = t.fold && t.groups->scaled;
  float* out = t.fold ? t.y : t.chain;
  const int64_t stride = t.fold ? t.y_stride : t.chain_stride;
  TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
    const int64_t valid = p + 1 == P ? t.valid_last : kPanelOutputs;
    typename U::Vec scale[U::kVecs] = {};
    if (fold) load_scale<U>(t.groups->kind, t.groups->at(t.panel + p, group), scale);
    TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
      float* place = out + r * stride + p * kPanelOutputs;
      if (fold) {
        typename U::Vec total[U::kVecs];
        TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) total[v] = U::zero();
        if (!first) U::load_floats(place, total, valid);
        TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) acc[r][p][v] =
            U::fma(scale[v], acc[r][p][v], total[v]);
      }
      U::store_floats(place, acc[r][p], valid);
    }
  }
}

template <class U, unsigned R, unsigned P>
void tile(const Tile& t) {
  int64_t group = t.group;
  for (int64_t begin = 0; begin < t.words; begin += t.segment_words, ++group) {
    const int64_t end = min64(begin + t.segment_words, t.words);
    Accumulators<U, R, P> acc;
    tile_begin<U, R, P>(t, acc);
    for (int64_t i = begin; i < end; ++i) {
      typename U::Word weights[P][U::kVecs];
      TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
        const uint8_t* row = t.w + p * t.w_bytes + i * kRowBytes;
        U::prefetch_far(t.ahead.at + p * t.ahead.panel_bytes + i * t.ahead.step);
        U::load_panel(row, weights[p]);
      }
      TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
        const typename U::Word word = U::broadcast(t.x + r * kXBytes + i * 4);
        TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
            TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) acc[r][p][v] =
                U::madd(weights[p][v], word, acc[r][p][v]);
      }
    }
    tile_end<U, R, P>(t, t.first && group == t.group, group, acc);
  }
}

/// Finds the tile of `rows` rows: up to U::kRows with U::kPanels panels, up to U::kTallRows with
/// one.
template <class U, unsigned R>
void tile_of(int64_t rows, int64_t panels, const Tile& t) {
  if (rows != R) {
    if constexpr (R > 1) tile_of<U, R - 1>(rows, panels, t);
    return;
  }
  if constexpr (R <= U::kRows) {
    if (panels == U::kPanels) return tile<U, R, U::kPanels>(t);
  }
  tile<U, R, 1>(t);
}

}  // namespace trine::kernels::blocked
