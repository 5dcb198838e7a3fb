// Many rows of x: blocks of 256 words along k, x copied into scratch, weights decoded once per block and
// panel, then tiles of R rows x P panels held in registers.
#pragma once

#include "kernels/blocked.h"

namespace trine::kernels::blocked {

/// One tile over `segments` groups (the last may be short), or over a part of one group.
struct Tile {
  const uint8_t* x;       ///< scratch, kXBytes between rows
  const uint8_t* w;       ///< decoded rows
  int64_t w_bytes;        ///< between panels
  int64_t ahead;          ///< prefetch w + ahead: the next panels' block when w is read in place, else 0
  int64_t words;
  int64_t segment_words;
  bool resume;            ///< the chain goes on from `chain`
  bool fold;              ///< the group ends here
  bool first;             ///< it is the first group: totals start at 0
  float* chain;
  int64_t chain_stride;
  float* y;
  int64_t y_stride;
  int64_t valid_last;     ///< outputs of the last panel
  const Groups* groups;
  int64_t panel;
  int64_t group;
};

template <class U, unsigned R, unsigned P>
using Accumulators = typename U::Vec[R][P][U::kVecs];

template <class U, unsigned R, unsigned P>
TRINE_INLINE void tile_begin(const Tile& t, Accumulators<U, R, P>& acc) {
  TRINE_UNROLL for (unsigned r = 0; r < R; ++r)
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
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
        TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v)
          acc[r][p][v] = U::fma(scale[v], acc[r][p][v], total[v]);
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
        U::prefetch_far(row + t.ahead);
        U::load_panel(row, weights[p]);
      }
      TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
        const typename U::Word word = U::broadcast(t.x + r * kXBytes + i * 4);
        TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
          TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v)
            acc[r][p][v] = U::madd(weights[p][v], word, acc[r][p][v]);
      }
    }
    tile_end<U, R, P>(t, t.first && group == t.group, group, acc);
  }
}

/// Finds the tile of `rows` rows: up to U::kRows with U::kPanels panels, up to U::kTallRows with one.
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

/// Decodes words [begin, end) of a panel to rows of 64 bytes; what lies in between is one group long at least.
template <class U, Coding C>
void decode_block(const PackedView& w, const Groups& groups, int64_t panel, int64_t begin, int64_t end,
                  int64_t ahead, uint8_t* out) {
  constexpr int64_t kWords = kSteps<U, C>;
  const uint8_t* rows = w.data + panel * (w.k_padded / kCodesPerWord<C> * kRowBytes);
  for (int64_t at = begin; at < end;) {
    const int64_t group = at / groups.words;
    const int64_t stop = C == Coding::kMx ? min64((group + 1) * groups.words, end) : end;
    typename U::Extra extra{};
    if constexpr (C == Coding::kMx) extra = U::mx_scale(groups.at(panel, group));
    for (; at < stop; at += kWords) {
      const uint8_t* row = rows + at / kWords * kRowBytes;
      U::prefetch_far(row + ahead);
      typename U::Word weights[kSteps<U, C>][U::kVecs];
      U::template decode<C>(row, extra, weights);
      TRINE_UNROLL for (unsigned s = 0; s < kSteps<U, C>; ++s, out += kRowBytes)
        U::store_panel(out, weights[s]);
    }
  }
}

/// The scratch of one call: on the stack, written before read.
template <class U>
struct alignas(64) Scratch {
  uint8_t x[U::kBlockRows * kXBytes];
  uint8_t w[U::kPanels * kBlockWords * kRowBytes];
  float chain[U::kBlockRows * U::kPanels * kPanelOutputs];
};

/// Rows [row, row + rows) and panels [panel_begin, panel_end) of a.
template <class U, Coding C, typename X>
struct Pass {
  const MatmulArgs& a;
  Scratch<U>& scratch;
  Groups groups;
  int64_t words;
  int64_t row;
  int64_t rows;

  void copy_x(int64_t begin, int64_t end) const {
    const int64_t k_end = min64(end * U::kKPerWord, sizeof(X) == 2 ? a.w.k_padded : a.w.k);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t source = a.x_rows != nullptr ? a.x_rows[row + r] : row + r;
      const X* x = static_cast<const X*>(a.x) + source * a.x_stride;
      U::copy_x(x + begin * U::kKPerWord, k_end - begin * U::kKPerWord, scratch.x + r * kXBytes);
    }
  }

  /// One block of k of up to U::kPanels panels.
  void panels(int64_t panel, int64_t count, int64_t begin, int64_t end) {
    constexpr bool kInPlace = kSteps<U, C> == 1;
    const int64_t panel_bytes = a.w.k_padded / kCodesPerWord<C> * kRowBytes;
    Tile t{};
    if constexpr (kInPlace) {
      t.w = a.w.data + panel * panel_bytes + begin * kRowBytes;
      t.w_bytes = panel_bytes;
      t.ahead = count * panel_bytes;
    } else {
      t.w = scratch.w;
      t.w_bytes = kBlockWords * kRowBytes;
      for (int64_t p = 0; p < count; ++p)
        decode_block<U, C>(a.w, groups, panel + p, begin, end, count * panel_bytes,
                           scratch.w + p * t.w_bytes);
    }
    const int64_t group_words = groups.scaled ? groups.words : words;
    const bool whole = group_words <= kBlockWords;  // whole groups only, else a part of one
    t.words = end - begin;
    t.segment_words = whole ? group_words : t.words;
    t.resume = !whole && begin % group_words != 0;
    t.fold = whole || end % group_words == 0 || end == words;
    t.first = begin < group_words;
    t.groups = &groups;
    t.panel = panel;
    t.group = begin / group_words;
    t.valid_last = valid_outputs(a.w, panel + count - 1);
    t.y_stride = a.y_stride;
    const bool apart = !whole && group_words < words;  // totals in y, so the chain rests elsewhere
    t.chain_stride = apart ? U::kPanels * kPanelOutputs : a.y_stride;
    const int64_t tiles = tall() ? 1 : (rows + U::kRows - 1) / U::kRows;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t first = rows * i / tiles;
      t.x = scratch.x + first * kXBytes;
      t.y = a.y + (row + first) * a.y_stride + panel * kPanelOutputs;
      t.chain = apart ? scratch.chain + first * t.chain_stride : t.y;
      tile_of<U, U::kTallRows>(rows * (i + 1) / tiles - first, count, t);
      t.ahead = 0;
    }
  }

  /// Two wide tiles would read the weights twice, the second time without work for the memory.
  bool tall() const { return rows > U::kRows && rows <= U::kTallRows; }

  void run(int64_t panel_begin, int64_t panel_end) {
    const int64_t group_words = groups.scaled ? groups.words : words;
    const bool whole = group_words <= kBlockWords;
    for (int64_t begin = 0, end = 0; begin < words; begin = end) {
      end = whole ? begin + kBlockWords / group_words * group_words
                  : min64(begin + kBlockWords, (begin / group_words + 1) * group_words);
      end = min64(end, words);
      copy_x(begin, end);
      int64_t panel = panel_begin;
      const int64_t wide_end = tall() ? panel_begin : panel_end;
      for (; panel + U::kPanels <= wide_end; panel += U::kPanels) panels(panel, U::kPanels, begin, end);
      for (; panel < panel_end; ++panel) panels(panel, 1, begin, end);
    }
  }
};

template <class U, Coding C, typename X>
void many_rows(const MatmulArgs& a) {
  Scratch<U> scratch;
  const int64_t words = (a.w.k + U::kKPerWord - 1) / U::kKPerWord;
  Pass<U, C, X> pass{a, scratch, groups_of<U, C>(a.w, words), words, 0, 0};
  const bool apart = pass.groups.scaled && pass.groups.words > kBlockWords && pass.groups.words < words;
  const int64_t span = apart ? U::kPanels : a.panel_end - a.panel_begin;
  const int64_t blocks = (a.m + U::kBlockRows - 1) / U::kBlockRows;
  for (int64_t i = 0; i < blocks; ++i) {
    pass.row = a.m * i / blocks;
    pass.rows = a.m * (i + 1) / blocks - pass.row;
    for (int64_t panel = a.panel_begin; panel < a.panel_end; panel += span)
      pass.run(panel, min64(panel + span, a.panel_end));
  }
}

}  // namespace trine::kernels::blocked
