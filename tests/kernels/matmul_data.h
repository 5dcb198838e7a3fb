// Random packed weights for the matmul tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/args.h"
#include "kernels/pack.h"
#include "tensor/float_formats.h"

namespace trine::kernels {

/// One way weights are stored: format, scales, k per scale (0: one scale per output).
struct Storage {
  const char* name;
  WeightFormat format;
  ScaleKind scale_kind;
  int64_t group;
};

constexpr Storage kStorages[] = {
    {"f32", WeightFormat::kF32, ScaleKind::kNone, 0},
    {"f16", WeightFormat::kF16, ScaleKind::kNone, 0},
    {"bf16", WeightFormat::kBf16, ScaleKind::kNone, 0},
    {"int8_channel", WeightFormat::kInt8, ScaleKind::kF32, 0},
    {"int8_g32", WeightFormat::kInt8, ScaleKind::kF32, 32},
    {"e4m3", WeightFormat::kE4m3, ScaleKind::kNone, 0},
    {"e4m3_channel", WeightFormat::kE4m3, ScaleKind::kF32, 0},
    {"e4m3_g128", WeightFormat::kE4m3, ScaleKind::kF32, 128},
    {"mxfp8", WeightFormat::kE4m3, ScaleKind::kE8m0, 32},
    {"e5m2_channel", WeightFormat::kE5m2, ScaleKind::kF32, 0},
    {"int4_g32", WeightFormat::kInt4, ScaleKind::kF32, 32},
    {"int4_g128", WeightFormat::kInt4, ScaleKind::kF32, 128},
    {"int4_g96", WeightFormat::kInt4, ScaleKind::kF32, 96},
    {"int4_g1024", WeightFormat::kInt4, ScaleKind::kF32, 1024},
    {"int4_channel", WeightFormat::kInt4, ScaleKind::kF32, 0},
    {"mxfp4", WeightFormat::kE2m1, ScaleKind::kE8m0, 32},
    {"mxfp4_g64", WeightFormat::kE2m1, ScaleKind::kE8m0, 64},
    {"nvfp4", WeightFormat::kE2m1, ScaleKind::kF32, 16},
};

struct AlignedBytes {
  std::vector<uint8_t> bytes;
  int64_t offset = 0;
  explicit AlignedBytes(int64_t size) : bytes(static_cast<size_t>(size) + 64) {
    offset = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(bytes.data()) & 63u);
  }
  uint8_t* data() { return bytes.data() + offset; }
};

struct RandomWeights {
  AlignedBytes codes{0};
  std::vector<float> scales_f32;
  std::vector<uint8_t> scales_e8m0;
  PackedView view{};
};

/// A random code that is a finite number of moderate size.
inline uint32_t random_code(WeightFormat format, std::mt19937& random) {
  std::normal_distribution<float> normal;
  switch (format) {
    case WeightFormat::kF32: return std::bit_cast<uint32_t>(normal(random));
    case WeightFormat::kF16: return static_cast<uint32_t>(random() & 0xBFFFu);  // |v| < 2
    case WeightFormat::kBf16: return float_to_bf16(normal(random));
    case WeightFormat::kE4m3: {
      const auto code = static_cast<uint32_t>(random() & 0xFFu);
      return (code & 0x7Fu) == 0x7Fu ? code ^ 1u : code;
    }
    case WeightFormat::kE5m2: {
      const auto code = static_cast<uint32_t>(random() & 0xFFu);
      return (code & 0x7Cu) == 0x7Cu ? code ^ 0x40u : code;
    }
    case WeightFormat::kInt8: return static_cast<uint32_t>(random() & 0xFFu);
    case WeightFormat::kInt4:
    case WeightFormat::kE2m1: return static_cast<uint32_t>(random() & 0xFu);
  }
  return 0;
}

/// Packs what `code(output, k)` gives.
template <typename Code>
RandomWeights pack_codes(const Storage& storage, int64_t n, int64_t k, Code code) {
  const int64_t bits = 32 / per_word(storage.format);
  const int64_t row_bytes = (k * bits + 7) / 8;
  std::vector<uint8_t> source(static_cast<size_t>(n * row_bytes));
  for (int64_t o = 0; o < n; ++o)
    for (int64_t i = 0; i < k; ++i) {
      const uint32_t value = code(o, i);
      uint8_t* row = source.data() + o * row_bytes;
      if (bits == 4)
        row[i / 2] = static_cast<uint8_t>(row[i / 2] | value << (4 * (i % 2)));
      else
        std::memcpy(row + i * bits / 8, &value, static_cast<size_t>(bits / 8));
    }
  RandomWeights out;
  out.codes = AlignedBytes(packed_bytes(storage.format, n, k));
  for (int64_t panel = 0; panel < panel_count(n); ++panel)
    pack_panel({storage.format, source.data() + panel * kPanelOutputs * row_bytes, row_bytes,
                std::min(kPanelOutputs, n - panel * kPanelOutputs), k, false,
                out.codes.data() + panel * panel_bytes(storage.format, pad_k(k))});
  const int64_t group = storage.group == 0 ? pad_k(k) : storage.group;
  out.view = {storage.format, storage.scale_kind, n, k, pad_k(k), group, out.codes.data(), nullptr};
  return out;
}

inline RandomWeights random_weights(const Storage& storage, int64_t n, int64_t k,
                                    std::mt19937& random) {
  RandomWeights out = pack_codes(
      storage, n, k, [&](int64_t, int64_t) { return random_code(storage.format, random); });
  const auto count = static_cast<size_t>(scale_count(n, out.view.k_padded, out.view.group));
  if (storage.scale_kind == ScaleKind::kF32) {
    std::uniform_real_distribution<float> scale(0.5f, 2.0f);
    for (size_t i = 0; i < count; ++i) out.scales_f32.push_back(scale(random));
    out.view.scales = out.scales_f32.data();
  } else if (storage.scale_kind == ScaleKind::kE8m0) {
    for (size_t i = 0; i < count; ++i)
      out.scales_e8m0.push_back(static_cast<uint8_t>(120 + random() % 12));
    out.view.scales = out.scales_e8m0.data();
  }
  return out;
}

}  // namespace trine::kernels
