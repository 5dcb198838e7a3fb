// One row of x (decode): P panels side by side hide the latency of their chains, each weight is decoded in
// registers and read once, in order, straight from memory.
#pragma once

#include "kernels/blocked.h"

namespace trine::kernels::blocked {

/// The chains of P neighbouring panels.
template <class U, unsigned P>
using Chains = typename U::Vec[P][U::kVecs];

template <class U, unsigned P>
TRINE_INLINE void clear(Chains<U, P>& chains) {
  TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
    TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) chains[p][v] = U::zero();
}

/// The packed rows of P panels, and x at the word of row 0.
template <class U, Coding C, unsigned P>
struct Rows {
  const uint8_t* x;
  const uint8_t* w;
  int64_t panel_bytes;
  int64_t prefetch_end;  ///< first row whose prefetch lies in the next panels
  typename U::Extra extra[P];

  TRINE_INLINE void run(int64_t begin, int64_t end, Chains<U, P>& chains) const {
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* row = w + i * kRowBytes;
      const int64_t ahead =
          kPrefetchBytes + (i < prefetch_end ? 0 : static_cast<int64_t>(P - 1) * panel_bytes);
      step(row, x + i * kSteps<U, C> * 4, ahead, chains, kSteps<U, C>);
    }
  }

  /// One packed row of every panel; only its first `count` words exist.
  TRINE_INLINE void step(const uint8_t* row, const uint8_t* words, int64_t ahead, Chains<U, P>& chains,
                         unsigned count) const {
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
      const uint8_t* at = row + static_cast<int64_t>(p) * panel_bytes;
      U::prefetch(at + ahead);
      typename U::Word weights[kSteps<U, C>][U::kVecs];
      U::template decode<C>(at, extra[p], weights);
      TRINE_UNROLL for (unsigned s = 0; s < kSteps<U, C>; ++s) {
        if (s >= count) break;
        const typename U::Word word = U::broadcast(words + s * 4);
        TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v)
          chains[p][v] = U::madd(weights[s][v], word, chains[p][v]);
      }
    }
  }
};

template <class U, Coding C, unsigned P>
void row_panels(const MatmulArgs& a, const uint8_t* x, int64_t panel) {
  const int64_t words = (a.w.k + U::kKPerWord - 1) / U::kKPerWord;
  const Groups groups = groups_of<U, C>(a.w, words);
  const int64_t group_rows = (groups.words + kSteps<U, C> - 1) / kSteps<U, C>;
  const int64_t full_rows = words / kSteps<U, C>;
  const int64_t all_rows = (words + kSteps<U, C> - 1) / kSteps<U, C>;
  Rows<U, C, P> rows;
  rows.x = x;
  rows.panel_bytes = a.w.k_padded / kCodesPerWord<C> * kRowBytes;
  rows.w = a.w.data + panel * rows.panel_bytes;
  rows.prefetch_end = (rows.panel_bytes - kPrefetchBytes) / kRowBytes;
  Chains<U, P> chains, totals;
  clear<U, P>(chains);
  clear<U, P>(totals);
  int64_t group = 0;
  for (int64_t begin = 0; begin < all_rows; begin += group_rows, ++group) {
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
      if constexpr (C == Coding::kMx) rows.extra[p] = U::mx_scale(groups.at(panel + p, group));
    const int64_t end = min64(begin + group_rows, all_rows);
    rows.run(begin, min64(end, full_rows), chains);
    if (end > full_rows)
      rows.step(rows.w + full_rows * kRowBytes, x + full_rows * kSteps<U, C> * 4, 0, chains,
                static_cast<unsigned>(words % kSteps<U, C>));
    if (!groups.scaled) continue;
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
      typename U::Vec scale[U::kVecs];
      load_scale<U>(groups.kind, groups.at(panel + p, group), scale);
      TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v)
        totals[p][v] = U::fma(scale[v], chains[p][v], totals[p][v]);
    }
    clear<U, P>(chains);
  }
  TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
    U::store_floats(a.y + (panel + p) * kPanelOutputs, groups.scaled ? totals[p] : chains[p],
                    valid_outputs(a.w, panel + p));
}

/// m = 1.
template <class U, Coding C>
void one_row(const MatmulArgs& a) {
  const int64_t row = a.x_rows != nullptr ? a.x_rows[0] : 0;
  const uint8_t* x = static_cast<const uint8_t*>(a.x) + row * a.x_stride * (4 / U::kKPerWord);
  int64_t panel = a.panel_begin;
  for (; panel + 4 <= a.panel_end; panel += 4) row_panels<U, C, 4>(a, x, panel);
  for (; panel + 2 <= a.panel_end; panel += 2) row_panels<U, C, 2>(a, x, panel);
  for (; panel < a.panel_end; ++panel) row_panels<U, C, 1>(a, x, panel);
}

}  // namespace trine::kernels::blocked
