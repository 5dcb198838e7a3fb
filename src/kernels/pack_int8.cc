// Float weights to int8 at load, and the offsets that unsigned inputs need (args.h: MatmulI8Args).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pack.h"

namespace trine::kernels {
namespace {

/// To nearest even for |v| < 2^22; vectorises on every machine, unlike the library's functions.
float round_even(float v) {
  constexpr float kShift = 0x1.8p23f;
  return (v + kShift) - kShift;
}

/// Codes of one group and its scale. A value that is not finite makes the scale NaN, as in
/// quantise_rows.
float quantise_group(const float* values, int64_t count, uint8_t* codes) {
  float most = 0.0f;
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    most = std::max(most, std::fabs(values[i]));
    finite = finite && std::isfinite(values[i]);
  }
  const float quotient = 127.0f / most;
  const float inverse = finite && std::isfinite(quotient) ? quotient : 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    const float code = finite ? round_even(values[i] * inverse) : 0.0f;
    codes[i] = static_cast<uint8_t>(static_cast<int8_t>(code));
  }
  return finite ? most / 127.0f : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void quantise_panel_int8(const QuantisePanelArgs& args) {
  const int64_t groups = (pad_k(args.k) + args.group - 1) / args.group;
  std::vector<uint8_t> codes(static_cast<size_t>(args.outputs * args.k));
  std::fill(args.scales, args.scales + groups * kPanelOutputs, 0.0f);
  for (int64_t o = 0; o < args.outputs; ++o) {
    const float* row = args.rows + o * args.row_stride;
    uint8_t* out = codes.data() + o * args.k;
    for (int64_t begin = 0; begin < args.k; begin += args.group) {
      const int64_t end = std::min(begin + args.group, args.k);
      args.scales[begin / args.group * kPanelOutputs + o] =
          quantise_group(row + begin, end - begin, out + begin);
    }
  }
  pack_panel({WeightFormat::kInt8, codes.data(), args.k, args.outputs, args.k, false, args.codes});
  int8_offsets(args.codes, pad_k(args.k), args.group, args.offsets);
}

void int8_offsets(const uint8_t* codes, int64_t k_padded, int64_t group, int32_t* offsets) {
  for (int64_t begin = 0; begin < k_padded; begin += group, offsets += kPanelOutputs) {
    const int64_t end = std::min(begin + group, k_padded);
    int32_t sums[kPanelOutputs] = {};
    for (const uint8_t* row = codes + begin * kPanelOutputs; row < codes + end * kPanelOutputs;
         row += 64)
      for (int64_t i = 0; i < 64; ++i) sums[i / 4] += static_cast<int8_t>(row[i]);
    for (int64_t o = 0; o < kPanelOutputs; ++o) offsets[o] = -128 * sums[o];
  }
}

}  // namespace trine::kernels
