// Many rows of x: blocks of kBlockWords along k, x copied into scratch, weights decoded once per
// block and panel, then the unit's tiles over all rows.
#pragma once

#include "kernels/blocked_decode.h"
#include "kernels/blocked_tile.h"

namespace trine::kernels::blocked {

/// The scratch of one call: on the stack, written before read.
template <class U>
struct alignas(64) Scratch {
  uint8_t x[U::kBlockRows * kXBytes];
  uint8_t w[U::kPanels * kBlockWords * kRowBytes];
  float chain[U::kBlockRows * U::kPanels * kPanelOutputs];
};

/// Rows [row, row + rows) of a, and panels from panel_begin on.
template <class U, Coding C, typename X>
struct Pass {
  const MatmulArgs& a;
  Scratch<U>& scratch;
  Groups groups;
  int64_t words;
  int64_t row;
  int64_t rows;
  int64_t panel_begin;

  /// The least even split of `all` into parts of at most `most` rows.
  static int64_t share(int64_t all, int64_t most) {
    const int64_t parts = (all + most - 1) / most;
    return round_up((all + parts - 1) / parts, U::kRowMultiple);
  }

  void copy_x(int64_t begin, int64_t end) const {
    const int64_t k_end = min64(end * U::kKPerWord, sizeof(X) == 2 ? a.w.k_padded : a.w.k);
    for (int64_t r = rows; r % U::kRowMultiple != 0; ++r)
      memset(scratch.x + r * kXBytes, 0, static_cast<size_t>(end - begin) * 4);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t source = a.x_rows != nullptr ? a.x_rows[row + r] : row + r;
      const X* x = static_cast<const X*>(a.x) + source * a.x_stride;
      U::copy_x(x + begin * U::kKPerWord, k_end - begin * U::kKPerWord, scratch.x + r * kXBytes);
    }
  }

  int64_t panel_bytes() const { return a.w.k_padded / kCodesPerWord<C> * kRowBytes; }

  /// Packed words from `begin` on.
  const uint8_t* packed(int64_t panel, int64_t begin) const {
    return a.w.data + panel * panel_bytes() + begin / kSteps<U, C> * kRowBytes;
  }

  /// One block of k of up to U::kPanels panels; `next` is read after it.
  void panels(int64_t panel, int64_t count, int64_t begin, int64_t end, const uint8_t* next) {
    constexpr bool kInPlace = kSteps<U, C> == 1;
    Tile t{};
    if constexpr (kInPlace) {
      t.w = packed(panel, begin);
      t.w_bytes = panel_bytes();
    } else {
      t.w = scratch.w;
      t.w_bytes = kBlockWords * kRowBytes;
      for (int64_t p = 0; p < count; ++p)
        decode_block<U, C>(a.w, groups, panel + p, begin, end, scratch.w + p * t.w_bytes);
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
    const int64_t step = share(rows, tall() ? rows : U::kRows);
    const int64_t tiles = (rows + step - 1) / step;
    t.ahead = {next, panel_bytes(), (kRowBytes / kSteps<U, C> + tiles - 1) / tiles};
    for (int64_t first = 0; first < rows; first += step) {
      t.x = scratch.x + first * kXBytes;
      t.y = a.y + (row + first) * a.y_stride + panel * kPanelOutputs;
      t.chain = apart
                    ? scratch.chain + first * t.chain_stride + (panel - panel_begin) * kPanelOutputs
                    : t.y;
      U::run_tile(min64(step, rows - first), count, t);
      t.ahead.at += t.words * t.ahead.step;
    }
  }

  /// Two wide tiles would read the weights twice, the second time without work for the memory.
  bool tall() const { return rows > U::kRows && rows <= U::kTallRows; }

  /// What is read after a block that ends at `panel` and `end`: at the very end, what lies behind.
  const uint8_t* next(int64_t panel, int64_t panel_end, int64_t begin, int64_t end) const {
    if (panel < panel_end) return packed(panel, begin);
    if (end < words) return packed(panel_begin, end);
    return packed(row + rows < a.m ? panel_begin : panel_end, 0);
  }

  void run(int64_t panel_end) {
    const int64_t group_words = groups.scaled ? groups.words : words;
    const bool whole = group_words <= kBlockWords;
    for (int64_t begin = 0, end = 0; begin < words; begin = end) {
      end = whole ? begin + kBlockWords / group_words * group_words
                  : min64(begin + kBlockWords, (begin / group_words + 1) * group_words);
      end = min64(end, words);
      copy_x(begin, end);
      int64_t panel = panel_begin;
      const int64_t wide_end = tall() ? panel_begin : panel_end;
      while (panel < panel_end) {
        const int64_t count = panel + U::kPanels <= wide_end ? U::kPanels : 1;
        panels(panel, count, begin, end, next(panel + count, panel_end, begin, end));
        panel += count;
      }
    }
  }
};

template <class U, Coding C, typename X>
void many_rows(const MatmulArgs& a) {
  Scratch<U> scratch;
  const int64_t words = round_up((a.w.k + U::kKPerWord - 1) / U::kKPerWord, U::kWordMultiple);
  Pass<U, C, X> pass{a, scratch, groups_of<U, C>(a.w, words), words, 0, 0, 0};
  const bool apart =
      pass.groups.scaled && pass.groups.words > kBlockWords && pass.groups.words < words;
  const int64_t span = apart ? U::kPanels : a.panel_end - a.panel_begin;
  const int64_t step = pass.share(a.m, U::kBlockRows);
  for (pass.row = 0; pass.row < a.m; pass.row += step) {
    pass.rows = min64(step, a.m - pass.row);
    for (pass.panel_begin = a.panel_begin; pass.panel_begin < a.panel_end; pass.panel_begin += span)
      pass.run(min64(pass.panel_begin + span, a.panel_end));
  }
}

}  // namespace trine::kernels::blocked
