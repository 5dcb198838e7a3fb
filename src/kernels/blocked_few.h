// A few rows of x (decode): P panels side by side hide the latency of their chains; each weight is
// read once, in order, straight from memory, and decoded in registers for all R rows.
#pragma once

#include "kernels/blocked.h"

namespace trine::kernels::blocked {

/// The chains of R rows and P neighbouring panels.
template <class U, unsigned R, unsigned P>
using Chains = typename U::Vec[R][P][U::kVecs];

template <class U, unsigned R, unsigned P>
TRINE_INLINE void clear(Chains<U, R, P>& chains) {
  TRINE_UNROLL for (unsigned r = 0; r < R; ++r) TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
      TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) chains[r][p][v] = U::zero();
}

/// The packed rows of P panels, and R rows of x.
template <class U, Coding C, unsigned R, unsigned P>
struct Few {
  static constexpr int64_t kWords = kSteps<U, C>;
  const uint8_t* x[R];
  const uint8_t* w;
  int64_t panel_bytes;
  int64_t prefetch_end;  ///< first packed row whose prefetch lies in the next panels
  typename U::Extra extra[P];

  /// Packed rows [begin, end) of every panel.
  TRINE_INLINE void run(int64_t begin, int64_t end, Chains<U, R, P>& chains) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t next = i < prefetch_end ? 0 : static_cast<int64_t>(P - 1) * panel_bytes;
      step<false>(i, kPrefetchBytes + next, 0, chains);
    }
  }

  /// Packed row i of every panel; of a partial row only the first `count` words exist.
  template <bool kPartial>
  TRINE_INLINE void step(int64_t i, int64_t ahead, unsigned count, Chains<U, R, P>& chains) const {
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
      const uint8_t* row = w + static_cast<int64_t>(p) * panel_bytes + i * kRowBytes;
      U::prefetch(row + ahead);
      typename U::Word weights[kSteps<U, C>][U::kVecs];
      U::template decode<C>(row, extra[p], weights);
      TRINE_UNROLL for (unsigned s = 0; s < kSteps<U, C>; ++s) {
        if (kPartial && s >= count) continue;
        TRINE_UNROLL for (unsigned r = 0; r < R; ++r) {
          const typename U::Word word = U::broadcast(x[r] + (i * kWords + s) * 4);
          TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) chains[r][p][v] =
              U::madd(weights[s][v], word, chains[r][p][v]);
        }
      }
    }
  }
};

template <class U, unsigned R, unsigned P>
TRINE_INLINE void fold(const Groups& groups, int64_t panel, int64_t group, Chains<U, R, P>& chains,
                       Chains<U, R, P>& totals) {
  TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
    typename U::Vec scale[U::kVecs];
    load_scale<U>(groups.kind, groups.at(panel + p, group), scale);
    TRINE_UNROLL for (unsigned r = 0; r < R; ++r)
        TRINE_UNROLL for (unsigned v = 0; v < U::kVecs; ++v) totals[r][p][v] =
            U::fma(scale[v], chains[r][p][v], totals[r][p][v]);
  }
  clear<U, R, P>(chains);
}

/// Rows [0, R) of a, panels [panel, panel + P).
template <class U, Coding C, unsigned R, unsigned P>
void few_panels(const MatmulArgs& a, const uint8_t* const (&x)[R], int64_t panel) {
  const int64_t words = (a.w.k + U::kKPerWord - 1) / U::kKPerWord;
  const Groups groups = groups_of<U, C>(a.w, words);
  const int64_t group_rows = (groups.words + kSteps<U, C> - 1) / kSteps<U, C>;
  const int64_t full_rows = words / kSteps<U, C>;
  const int64_t all_rows = (words + kSteps<U, C> - 1) / kSteps<U, C>;
  Few<U, C, R, P> few;
  TRINE_UNROLL for (unsigned r = 0; r < R; ++r) few.x[r] = x[r];
  few.panel_bytes = a.w.k_padded / kCodesPerWord<C> * kRowBytes;
  few.w = a.w.data + panel * few.panel_bytes;
  few.prefetch_end = (few.panel_bytes - kPrefetchBytes) / kRowBytes;
  Chains<U, R, P> chains, totals;
  clear<U, R, P>(chains);
  clear<U, R, P>(totals);
  int64_t group = 0;
  for (int64_t begin = 0; begin < all_rows; begin += group_rows, ++group) {
    TRINE_UNROLL for (unsigned p = 0; p < P; ++p) {
      if (groups.scales != nullptr) U::prefetch(groups.at(panel + P + p, group));
      if constexpr (C == Coding::kMx) few.extra[p] = U::mx_scale(groups.at(panel + p, group));
    }
    const int64_t end = min64(begin + group_rows, all_rows);
    few.run(begin, min64(end, full_rows), chains);
    if (end > full_rows) {
      const auto count = static_cast<unsigned>(words % kSteps<U, C>);
      few.template step<true>(full_rows, 0, count, chains);
    }
    if (groups.scaled) fold<U, R, P>(groups, panel, group, chains, totals);
  }
  TRINE_UNROLL for (unsigned r = 0; r < R; ++r) TRINE_UNROLL for (unsigned p = 0; p < P; ++p)
      U::store_floats(a.y + r * a.y_stride + (panel + p) * kPanelOutputs,
                      groups.scaled ? totals[r][p] : chains[r][p], valid_outputs(a.w, panel + p));
}

/// m = R, x in the unit's own type.
template <class U, Coding C, unsigned R>
void few_rows(const MatmulArgs& a) {
  const uint8_t* x[R];
  for (unsigned r = 0; r < R; ++r) {
    const int64_t row = a.x_rows != nullptr ? a.x_rows[r] : static_cast<int64_t>(r);
    x[r] = static_cast<const uint8_t*>(a.x) + row * a.x_stride * (4 / U::kKPerWord);
  }
  constexpr unsigned kWide = U::template kFewPanels<R>;
  int64_t panel = a.panel_begin;
  for (; panel + kWide <= a.panel_end; panel += kWide) few_panels<U, C, R, kWide>(a, x, panel);
  for (; panel < a.panel_end; ++panel) few_panels<U, C, R, 1>(a, x, panel);
}

/// Rows up to which decoding for each call beats decoding into scratch.
constexpr int64_t kFewRows = 4;

template <class U, Coding C>
void few(const MatmulArgs& a) {
  switch (a.m) {
    case 1: return few_rows<U, C, 1>(a);
    case 2: return few_rows<U, C, 2>(a);
    case 3: return few_rows<U, C, 3>(a);
    default: return few_rows<U, C, 4>(a);
  }
}

}  // namespace trine::kernels::blocked
