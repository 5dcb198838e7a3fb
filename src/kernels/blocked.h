// Matmul over packed weights, written once over a vector unit U and compiled per level (avx2,
// avx512, avx512bf16). Everything is a template on U, a type local to one translation unit, so no
// code of one level can be linked into another.
//
// All data is seen as 32-bit words: an x row holds U::kKPerWord consecutive k per word (1 float or
// 2 bf16), a decoded weight row holds such a word for each of the 16 outputs of a panel. The chain
// of an output is
//   acc = U::madd(weight word, x word, acc)   for ascending words, from 0 at the start of a group;
// which of the paths below runs it, and where accumulators rest in between, does not change its
// bits.
#pragma once

#include <stdint.h>
#include <string.h>

#include "kernels/args.h"
#include "kernels/pack.h"

#if defined(__clang__)
#define TRINE_UNROLL _Pragma("unroll")
#define TRINE_UNROLL_4 _Pragma("unroll 4")
#else
#define TRINE_UNROLL _Pragma("GCC unroll 32")
#define TRINE_UNROLL_4 _Pragma("GCC unroll 4")
#endif

// Also for what is no template: inlined or nothing, never an out-of-line copy with this level's
// instructions.
#define TRINE_INLINE [[gnu::always_inline]] inline

namespace trine::kernels::blocked {

/// The unit of a level provides
///   Vec, kVecs: accumulators, registers per panel; Word: a register of decoded weights or of an x
///   word; kKPerWord; kRows x kPanels and kTallRows x 1: the largest tiles; kBlockRows: rows of x
///   in scratch; kRowMultiple, kWordMultiple: rows and words that run_tile handles are zero-padded
///   to these; zero, madd, fma, broadcast, load_panel, store_panel, load_f32, load_e8m0,
///   load_floats, store_floats, prefetch, prefetch_far, copy_x, run_tile, decode<Coding> and, for
///   Coding::kMx, mx_scale.

/// WeightFormat, and E2M1 whose E8M0 scale is folded into the decoded weight (one chain over all
/// k).
enum class Coding : uint8_t { kF32, kF16, kBf16, kInt8, kE4m3, kE5m2, kInt4, kE2m1, kMx };

template <Coding C>
constexpr unsigned kCodesPerWord =
    C == Coding::kF32                                                ? 1
    : C == Coding::kF16 || C == Coding::kBf16                        ? 2
    : C == Coding::kInt8 || C == Coding::kE4m3 || C == Coding::kE5m2 ? 4
                                                                     : 8;

/// Decoded words per packed word.
template <class U, Coding C>
constexpr unsigned kSteps = kCodesPerWord<C> / U::kKPerWord;

constexpr int64_t kRowBytes = kPanelOutputs * 4;
/// Words per block along k; a row of x in scratch is one block and a line, so that rows of a tile
/// do not fall into the same sets of the first cache.
constexpr int64_t kBlockWords = 512;
constexpr int64_t kXBytes = kBlockWords * 4 + 64;
/// Bytes ahead of its loads that a stream of weights is prefetched.
constexpr int64_t kPrefetchBytes = 4096;

TRINE_INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
TRINE_INLINE int64_t round_up(int64_t a, int64_t multiple) {
  return (a + multiple - 1) / multiple * multiple;
}

/// The groups of a matmul, in words. Without scales: one group.
struct Groups {
  bool scaled;  ///< fold chains into totals
  ScaleKind kind;
  const uint8_t* scales;
  int64_t scale_bytes;  ///< of 16 scales
  int64_t per_panel;
  int64_t words;  ///< per group
  TRINE_INLINE const uint8_t* at(int64_t panel, int64_t group) const {
    return scales + (panel * per_panel + group) * scale_bytes;
  }
};

template <class U, Coding C>
Groups groups_of(const PackedView& w, int64_t words) {
  Groups g{};
  g.kind = w.scale_kind;
  g.scaled = w.scale_kind != ScaleKind::kNone && C != Coding::kMx;
  g.scales = static_cast<const uint8_t*>(w.scales);
  g.scale_bytes = w.scale_kind == ScaleKind::kF32 ? kPanelOutputs * 4 : kPanelOutputs;
  g.per_panel = w.scale_kind == ScaleKind::kNone ? 1 : (w.k_padded + w.group - 1) / w.group;
  g.words = w.scale_kind == ScaleKind::kNone ? words : w.group / U::kKPerWord;
  return g;
}

template <class U>
void load_scale(ScaleKind kind, const uint8_t* p, typename U::Vec (&out)[U::kVecs]) {
  if (kind == ScaleKind::kE8m0)
    U::load_e8m0(p, out);
  else
    U::load_f32(p, out);
}

/// How many of a panel's outputs exist.
TRINE_INLINE int64_t valid_outputs(const PackedView& w, int64_t panel) {
  return min64(kPanelOutputs, w.n - panel * kPanelOutputs);
}

}  // namespace trine::kernels::blocked
