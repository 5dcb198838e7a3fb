// Packing: 16 source rows are read side by side, one 32-bit word each, and written as one panel
// row. Narrow formats also move the even items of a word to its low half and the odd ones to its
// high half.
#include "kernels/pack.h"

#include <algorithm>
#include <cstring>

#include "tensor/float_formats.h"

namespace trine::kernels {
namespace {

constexpr int64_t kRowBytes = kPanelOutputs * 4;

uint32_t load_word(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

/// Swaps the bits of `mask` with those `shift` above.
constexpr uint32_t delta_swap(uint32_t word, uint32_t mask, int shift) {
  const uint32_t t = ((word >> shift) ^ word) & mask;
  return word ^ t ^ (t << shift);
}

/// Checkpoint order to word order: even items to the low half, odd items to the high half.
template <int kPerWord>
constexpr uint32_t split_even_odd(uint32_t word) {
  if constexpr (kPerWord == 8) word = delta_swap(word, 0x00F000F0u, 4);
  if constexpr (kPerWord >= 4) word = delta_swap(word, 0x0000FF00u, 8);
  return word;
}
static_assert(split_even_odd<8>(0x76543210u) == 0x75316420u);
static_assert(split_even_odd<4>(0x33221100u) == 0x33112200u);

/// The word whose first `items` items come from p (only their bytes are read), the rest from
/// `zero`.
uint32_t load_partial(const uint8_t* p, int64_t items, int64_t bits, uint32_t zero) {
  uint32_t word = 0;
  std::memcpy(&word, p, static_cast<size_t>((items * bits + 7) / 8));
  const uint32_t keep = (1u << (items * bits)) - 1u;
  return (word & keep) | (zero & ~keep);
}

/// `flip` is xored into the words of the source, `zero` is the word of zeros after that.
template <int kPerWord>
void pack_words(const PackPanelArgs& a, uint32_t flip, uint32_t zero) {
  const int64_t full = a.k / kPerWord;
  const int64_t words = pad_k(a.k) / kPerWord;
  const uint32_t fill = split_even_odd<kPerWord>(zero);
  constexpr int64_t kBlock = 64;  // words of a source row per step: 16 rows of 256 bytes stay in L1
  uint32_t block[kPanelOutputs][kBlock];
  for (int64_t first = 0; first < words; first += kBlock) {
    const int64_t count = std::min(kBlock, words - first);
    const int64_t whole = std::clamp<int64_t>(full - first, 0, count);
    for (int64_t j = 0; j < kPanelOutputs; ++j) {
      uint32_t* line = block[j];
      std::fill(line, line + count, fill);
      if (j >= a.outputs) continue;
      const uint8_t* source = a.rows + j * a.row_bytes + first * 4;
      for (int64_t i = 0; i < whole; ++i)
        line[i] = split_even_odd<kPerWord>(load_word(source + i * 4) ^ flip);
      const int64_t rest = a.k - (first + whole) * kPerWord;
      if (whole < count && rest > 0) {
        const uint32_t last = load_partial(source + whole * 4, rest, 32 / kPerWord, zero ^ flip);
        line[whole] = split_even_odd<kPerWord>(last ^ flip);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      uint32_t row[kPanelOutputs];
      for (int64_t j = 0; j < kPanelOutputs; ++j) row[j] = block[j][i];
      std::memcpy(a.out + (first + i) * kRowBytes, row, sizeof row);
    }
  }
}

uint32_t code_of(const PackedView& w, int64_t output, int64_t k) {
  const int64_t items = per_word(w.format);
  const int64_t bits = 32 / items;
  const uint8_t* panel = w.data + (output / kPanelOutputs) * panel_bytes(w.format, w.k_padded);
  const uint8_t* place = panel + (k / items) * kRowBytes + (output % kPanelOutputs) * 4;
  const int64_t item = k % items;
  const int64_t shift = items == 1 ? 0 : (item % 2) * 16 + (item / 2) * bits;
  const uint32_t mask = bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1u;
  return (load_word(place) >> shift) & mask;
}

}  // namespace

int64_t per_word(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32: return 1;
    case WeightFormat::kF16:
    case WeightFormat::kBf16: return 2;
    case WeightFormat::kInt8:
    case WeightFormat::kE4m3:
    case WeightFormat::kE5m2: return 4;
    case WeightFormat::kInt4:
    case WeightFormat::kE2m1: return 8;
  }
  return 1;
}

int64_t panel_count(int64_t n) { return (n + kPanelOutputs - 1) / kPanelOutputs; }

int64_t pad_k(int64_t k) { return (k + kKPadding - 1) / kKPadding * kKPadding; }

int64_t panel_bytes(WeightFormat format, int64_t k_padded) {
  return k_padded / per_word(format) * kRowBytes;
}

int64_t packed_bytes(WeightFormat format, int64_t n, int64_t k) {
  return panel_count(n) * panel_bytes(format, pad_k(k));
}

int64_t scale_count(int64_t n, int64_t k_padded, int64_t group) {
  return panel_count(n) * ((k_padded + group - 1) / group) * kPanelOutputs;
}

void pack_panel(const PackPanelArgs& args) {
  const bool flip = args.flip_sign && args.format == WeightFormat::kInt8;
  switch (per_word(args.format)) {
    case 1: return pack_words<1>(args, 0, 0);
    case 2: return pack_words<2>(args, 0, 0);
    case 4: return pack_words<4>(args, flip ? 0x80808080u : 0, 0);
    default: return pack_words<8>(args, 0, args.format == WeightFormat::kInt4 ? 0x88888888u : 0);
  }
}

float unpack_code(const PackedView& w, int64_t output, int64_t k) {
  const uint32_t code = code_of(w, output, k);
  switch (w.format) {
    case WeightFormat::kF32: return std::bit_cast<float>(code);
    case WeightFormat::kF16: return f16_to_float(static_cast<uint16_t>(code));
    case WeightFormat::kBf16: return bf16_to_float(static_cast<uint16_t>(code));
    case WeightFormat::kInt8: return static_cast<float>(static_cast<int8_t>(code));
    case WeightFormat::kE4m3: return e4m3_to_float(static_cast<uint8_t>(code));
    case WeightFormat::kE5m2: return e5m2_to_float(static_cast<uint8_t>(code));
    case WeightFormat::kInt4: return static_cast<float>(static_cast<int>(code) - 8);
    case WeightFormat::kE2m1: return e2m1_to_float(static_cast<uint8_t>(code));
  }
  return 0.0f;
}

float unpack_scale(const PackedView& w, int64_t output, int64_t k) {
  if (w.scale_kind == ScaleKind::kNone) return 1.0f;
  const int64_t groups = (w.k_padded + w.group - 1) / w.group;
  const int64_t panel = output / kPanelOutputs;
  const int64_t index = (panel * groups + k / w.group) * kPanelOutputs + output % kPanelOutputs;
  if (w.scale_kind == ScaleKind::kE8m0)
    return e8m0_to_float(static_cast<const uint8_t*>(w.scales)[index]);
  return static_cast<const float*>(w.scales)[index];
}

float unpack_weight(const PackedView& w, int64_t output, int64_t k) {
  return unpack_code(w, output, k) * unpack_scale(w, output, k);
}

}  // namespace trine::kernels
