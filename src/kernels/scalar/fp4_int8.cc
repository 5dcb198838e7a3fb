// MXFP4 to int8 one code at a time: the specification (fp4_int8_args.h).
#include "kernels/fp4_int8_args.h"
#include "kernels/levels.h"
#include "kernels/pack.h"
#include "kernels/table.h"

namespace trine::kernels {
namespace {

constexpr int32_t kSixteenTimes[8] = {0, 8, 16, 24, 32, 48, 64, 96};

/// One group of one output; `words` are its first E2M1 word and `code` its first int8 word.
struct Group {
  const uint8_t* words;
  const uint8_t* exponents;
  int64_t k;  ///< multiple of 32
  uint8_t* codes;

  /// The byte of a panel row that holds k, and where it stands in its word.
  static int32_t nibble(const uint8_t* words, int64_t k) {
    const int64_t bit = (k % 2) * 16 + (k % 8) / 2 * 4;
    return words[k / 8 * 64 + bit / 8] >> (bit % 8) & 15;
  }

  bool is_zero(int64_t begin) const {
    int32_t any = 0;
    for (int64_t i = begin; i < begin + kFp4Group; ++i) any |= nibble(words, i) & 7;
    return any == 0;
  }

  int32_t largest_exponent() const {
    int32_t most = 0;
    for (int64_t b = 0; b < k; b += kFp4Group) {
      const int32_t exponent = exponents[b / kFp4Group * kPanelOutputs];
      if (exponent > most && !is_zero(b)) most = exponent;
    }
    return most;
  }

  /// Writes the codes and returns their sum.
  int32_t decode(int32_t most) const {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const int32_t distance = most - exponents[i / kFp4Group * kPanelOutputs];
      const int32_t code = nibble(words, i);
      int32_t value = 0;
      if (distance >= 0 && distance < 8)
        value = (kSixteenTimes[code & 7] + ((1 << distance) >> 1)) >> distance;
      if ((code & 8) != 0) value = -value;
      codes[i / 4 * 64 + (i % 2) * 2 + i % 4 / 2] = static_cast<uint8_t>(value);
      sum += value;
    }
    return sum;
  }
};

void int8_from_fp4(const Int8FromFp4Args& a) {
  const int64_t k = a.w.k_padded;
  const int64_t groups = (k + a.group - 1) / a.group;
  const auto* exponents = static_cast<const uint8_t*>(a.w.scales);
  for (int64_t panel = a.panel_begin; panel < a.panel_end; ++panel) {
    const int64_t at = panel - a.panel_begin;
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t o = 0; o < kPanelOutputs; ++o) {
        const int64_t begin = g * a.group;
        const int64_t count = k - begin < a.group ? k - begin : a.group;
        const Group group{
            a.w.data + panel * panel_bytes(WeightFormat::kE2m1, k) + begin / 8 * 64 + o * 4,
            exponents + (panel * (k / kFp4Group) + begin / kFp4Group) * kPanelOutputs + o, count,
            a.codes + at * panel_bytes(WeightFormat::kInt8, k) + begin / 4 * 64 + o * 4};
        const int32_t most = group.largest_exponent();
        const int64_t place = (at * groups + g) * kPanelOutputs + o;
        a.offsets[place] = -128 * group.decode(most);
        a.scales[place] = most > 4 ? __builtin_ldexpf(1.0f, most - 131) : 0.0f;
      }
    }
  }
}

}  // namespace

void fill_scalar_int8(KernelTable& table) { table.int8_from_fp4 = int8_from_fp4; }

}  // namespace trine::kernels
