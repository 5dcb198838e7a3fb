// Float weights to int8 at load, and the offsets that unsigned inputs need (args.h: MatmulI8Args).
#include <algorithm>
#include <bit>
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

constexpr int64_t kStep = 32;  // loops of a known length are vectorised

/// The scale of one group of values, zero up to a multiple of kStep, its codes and their sum. A
/// value that is not finite makes the scale NaN, as in quantise_rows.
float quantise_group(const float* values, int64_t padded, int8_t* codes, int32_t* sum) {
  constexpr uint32_t kInfinity = 0x7f800000u;
  uint32_t bits = 0;  // magnitudes are ordered as their bits are
  for (int64_t begin = 0; begin < padded; begin += kStep) {
    for (int64_t i = 0; i < kStep; ++i)
      bits = std::max(bits, std::bit_cast<uint32_t>(values[begin + i]) & 0x7fffffffu);
  }
  const bool finite = bits < kInfinity;
  const float most = std::bit_cast<float>(bits);
  const float quotient = 127.0f / most;
  *sum = 0;
  if (!finite || !std::isfinite(quotient)) {
    std::fill(codes, codes + padded, int8_t{0});
    return finite ? most / 127.0f : std::numeric_limits<float>::quiet_NaN();
  }
  for (int64_t begin = 0; begin < padded; begin += kStep) {
    int32_t rounded[kStep];
    for (int64_t i = 0; i < kStep; ++i)
      rounded[i] = static_cast<int32_t>(round_even(values[begin + i] * quotient));
    for (int64_t i = 0; i < kStep; ++i) *sum += rounded[i];
    for (int64_t i = 0; i < kStep; ++i) codes[begin + i] = static_cast<int8_t>(rounded[i]);
  }
  return most / 127.0f;
}

}  // namespace

void quantise_panel_int8(const QuantisePanelArgs& args) {
  const int64_t k_padded = pad_k(args.k);
  const int64_t groups = (k_padded + args.group - 1) / args.group;
  std::vector<int8_t> codes(static_cast<size_t>(args.outputs * k_padded));
  std::vector<float> values(static_cast<size_t>(args.group));
  std::fill(args.scales, args.scales + groups * kPanelOutputs, 0.0f);
  std::fill(args.offsets, args.offsets + groups * kPanelOutputs, 0);
  for (int64_t o = 0; o < args.outputs; ++o) {
    const float* row = args.rows + o * args.row_stride;
    int8_t* out = codes.data() + o * k_padded;
    for (int64_t begin = 0; begin < args.k; begin += args.group) {
      const int64_t count = std::min(args.group, args.k - begin);
      const int64_t padded = std::min(args.group, k_padded - begin);
      std::copy(row + begin, row + begin + count, values.begin());
      std::fill(values.begin() + count, values.begin() + padded, 0.0f);
      const int64_t place = begin / args.group * kPanelOutputs + o;
      int32_t sum = 0;
      args.scales[place] = quantise_group(values.data(), padded, out + begin, &sum);
      args.offsets[place] = -128 * sum;
    }
  }
  pack_panel({WeightFormat::kInt8, reinterpret_cast<const uint8_t*>(codes.data()), k_padded,
              args.outputs, args.k, false, args.codes});
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
