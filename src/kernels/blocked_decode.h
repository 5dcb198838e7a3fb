// Packed weights of any coding to rows of decoded words in scratch, for blocked_many.h.
#pragma once

#include "kernels/blocked.h"

namespace trine::kernels::blocked {

/// Decodes words [begin, end) of a panel to rows of 64 bytes; what lies in between is one group
/// long at least.
template <class U, Coding C>
void decode_block(const PackedView& w, const Groups& groups, int64_t panel, int64_t begin,
                  int64_t end, uint8_t* out) {
  const uint8_t* row = w.data + panel * (w.k_padded / kCodesPerWord<C> * kRowBytes) +
                       begin / kSteps<U, C> * kRowBytes;
  for (int64_t at = begin; at < end;) {
    const int64_t group = at / groups.words;
    const int64_t stop = C == Coding::kMx ? min64((group + 1) * groups.words, end) : end;
    typename U::Extra extra{};
    if constexpr (C == Coding::kMx) {
      extra = U::mx_scale(groups.at(panel, group));
      U::prefetch(groups.at(panel + U::kPanels, group));
    }
    TRINE_UNROLL_4 for (; at < stop; at += kSteps<U, C>, row += kRowBytes) {
      typename U::Word weights[kSteps<U, C>][U::kVecs];
      U::template decode<C>(row, extra, weights);
      TRINE_UNROLL for (unsigned s = 0; s < kSteps<U, C>; ++s, out += kRowBytes)
          U::store_panel(out, weights[s]);
    }
  }
}

}  // namespace trine::kernels::blocked
