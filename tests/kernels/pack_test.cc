// Packing: every code of every format lands where unpack_code reads it, padding is zero, nothing
// else moves.
#include "kernels/pack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tensor/float_formats.h"

namespace trine::kernels {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kF32,  WeightFormat::kF16,  WeightFormat::kBf16,
                                     WeightFormat::kInt8, WeightFormat::kE4m3, WeightFormat::kE5m2,
                                     WeightFormat::kInt4, WeightFormat::kE2m1};

int64_t bits_of(WeightFormat format) { return 32 / per_word(format); }

/// The code of column k of a checkpoint row, least significant bits first.
uint32_t source_code(const uint8_t* row, int64_t bits, int64_t k) {
  if (bits == 4) return (row[k / 2] >> (4 * (k % 2))) & 15u;
  uint32_t code = 0;
  std::memcpy(&code, row + k * bits / 8, static_cast<size_t>(bits / 8));
  return code;
}

float decode(WeightFormat format, uint32_t code) {
  switch (format) {
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

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

/// Both NaN, or the same bits (so that -0 and 0 differ).
bool same(float a, float b) { return (a != a && b != b) || bits(a) == bits(b); }

struct Packed {
  std::vector<uint8_t> data;
  PackedView view;
};

Packed pack(WeightFormat format, const uint8_t* rows, int64_t row_bytes, int64_t n, int64_t k,
            bool flip) {
  Packed out;
  out.data.assign(static_cast<size_t>(packed_bytes(format, n, k)), 0xA5);
  for (int64_t panel = 0; panel < panel_count(n); ++panel) {
    const int64_t first = panel * kPanelOutputs;
    pack_panel({format, rows + first * row_bytes, row_bytes, std::min(kPanelOutputs, n - first), k,
                flip, out.data.data() + panel * panel_bytes(format, pad_k(k))});
  }
  out.view = {format, ScaleKind::kNone, n, k, pad_k(k), pad_k(k), out.data.data(), nullptr};
  return out;
}

TEST(Pack, EveryCodeIsWhereUnpackReadsItAndPaddingIsZero) {
  const uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (WeightFormat format : kFormats)
    for (int64_t n : {1, 15, 16, 17, 33})
      for (int64_t k : {1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 63, 65, 511, 513, 1027}) {
        const int64_t row_bytes =
            (k * bits_of(format) + 7) / 8 + static_cast<int64_t>(random() % 3);
        // The vector ends with the last byte of the last row: a read past it is a sanitizer error.
        std::vector<uint8_t> rows(
            static_cast<size_t>((n - 1) * row_bytes + (k * bits_of(format) + 7) / 8));
        for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
        const Packed packed = pack(format, rows.data(), row_bytes, n, k, false);
        PackedView whole = packed.view;
        whole.n = panel_count(n) * kPanelOutputs;
        for (int64_t o = 0; o < whole.n; ++o)
          for (int64_t i = 0; i < whole.k_padded; ++i) {
            const bool inside = o < n && i < k;
            const float expected =
                inside
                    ? decode(format, source_code(rows.data() + o * row_bytes, bits_of(format), i))
                    : 0.0f;
            ASSERT_TRUE(same(unpack_code(whole, o, i), expected))
                << "format " << static_cast<int>(format) << " n " << n << " k " << k << " at " << o
                << "," << i;
          }
      }
}

TEST(Pack, AWordHoldsEvenItemsInItsLowHalfAndOddOnesInItsHighHalf) {
  const uint8_t nibbles[4] = {0x10, 0x32, 0x54, 0x76};  // k = 0..7 have codes 0..7
  const Packed fp4 = pack(WeightFormat::kE2m1, nibbles, 4, 1, 8, false);
  uint32_t word;
  std::memcpy(&word, fp4.data.data(), 4);
  EXPECT_EQ(word, 0x75316420u);
  const uint8_t bytes[4] = {1, 2, 3, 4};
  const Packed int8 = pack(WeightFormat::kInt8, bytes, 4, 1, 4, false);
  std::memcpy(&word, int8.data.data(), 4);
  EXPECT_EQ(word, 0x04020301u);
}

TEST(Pack, FlipSignTurnsOffsetBinaryIntoSigned) {
  std::vector<uint8_t> row(37);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i * 7);
  const Packed packed = pack(WeightFormat::kInt8, row.data(), 37, 1, 37, true);
  for (int64_t i = 0; i < 37; ++i)
    EXPECT_EQ(unpack_code(packed.view, 0, i),
              static_cast<float>(row[static_cast<size_t>(i)]) - 128.0f);
  EXPECT_EQ(unpack_code(packed.view, 0, 37), 0.0f);
  EXPECT_EQ(unpack_code(packed.view, 3, 0), 0.0f);
}

TEST(Pack, ScalesMultiplyTheirGroup) {
  const std::vector<uint8_t> codes(32, 0x22);  // 1.0
  Packed packed = pack(WeightFormat::kE2m1, codes.data(), 32, 1, 64, false);
  std::vector<uint8_t> e8m0(static_cast<size_t>(scale_count(1, 64, 32)), 127);
  e8m0[0] = 0;
  e8m0[16] = 130;
  packed.view.scale_kind = ScaleKind::kE8m0;
  packed.view.group = 32;
  packed.view.scales = e8m0.data();
  EXPECT_EQ(unpack_weight(packed.view, 0, 31), 0x1p-127f);
  EXPECT_EQ(unpack_weight(packed.view, 0, 32), 8.0f);
}

TEST(Pack, SizesFollowTheLayout) {
  EXPECT_EQ(pad_k(1), 32);
  EXPECT_EQ(pad_k(64), 64);
  EXPECT_EQ(panel_count(17), 2);
  EXPECT_EQ(packed_bytes(WeightFormat::kBf16, 17, 33), 2 * 16 * 64 * 2);
  EXPECT_EQ(packed_bytes(WeightFormat::kE2m1, 16, 32), 16 * 32 / 2);
  EXPECT_EQ(scale_count(17, 96, 64), 2 * 2 * 16);
}

}  // namespace
}  // namespace trine::kernels
