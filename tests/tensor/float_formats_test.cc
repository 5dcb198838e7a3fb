// Every code of every small format against values spelled out digit by digit, not computed the same
// way.
#include "tensor/float_formats.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

namespace trine {
namespace {

// What a sign/exponent/mantissa code means, by way of text: strtof reads "0x1.8p-3" exactly.
struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool infinities;    // top exponent: mantissa 0 is infinity, others NaN
  bool one_nan_only;  // top exponent with all mantissa bits set is NaN, the others are numbers
};

float by_text(uint32_t code, const Layout& layout) {
  const uint32_t mantissa = code & ((1u << layout.mantissa_bits) - 1u);
  const uint32_t exponent = (code >> layout.mantissa_bits) & ((1u << layout.exponent_bits) - 1u);
  const bool negative = ((code >> (layout.mantissa_bits + layout.exponent_bits)) & 1u) != 0;
  const bool top = exponent == (1u << layout.exponent_bits) - 1u;
  std::string text = negative ? "-" : "";
  if (top && layout.infinities) {
    text += mantissa == 0 ? "inf" : "nan";
  } else if (top && layout.one_nan_only && mantissa == (1u << layout.mantissa_bits) - 1u) {
    text += "nan";
  } else {
    text += exponent == 0 ? "0x0." : "0x1.";
    for (int nibble = 0; nibble < 8; ++nibble) {  // mantissa as hexadecimal digits, left-aligned
      const uint32_t digits = mantissa << (32 - layout.mantissa_bits);
      text += "0123456789abcdef"[(digits >> (28 - 4 * nibble)) & 15u];
    }
    const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - layout.bias;
    text += "p" + std::to_string(power);
  }
  return std::strtof(text.c_str(), nullptr);
}

::testing::AssertionResult same(float found, float expected) {
  if (std::isnan(found) && std::isnan(expected)) return ::testing::AssertionSuccess();
  if (std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(expected))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << found << " instead of " << expected;
}

TEST(FloatFormats, AllBf16Codes) {
  for (uint32_t code = 0; code < 65536; ++code) {
    ASSERT_TRUE(
        same(bf16_to_float(static_cast<uint16_t>(code)), by_text(code, {8, 7, 127, true, false})))
        << code;
  }
}

TEST(FloatFormats, AllF16Codes) {
  for (uint32_t code = 0; code < 65536; ++code) {
    ASSERT_TRUE(
        same(f16_to_float(static_cast<uint16_t>(code)), by_text(code, {5, 10, 15, true, false})))
        << code;
  }
}

TEST(FloatFormats, AllE4m3Codes) {
  for (uint32_t code = 0; code < 256; ++code) {
    ASSERT_TRUE(
        same(e4m3_to_float(static_cast<uint8_t>(code)), by_text(code, {4, 3, 7, false, true})))
        << code;
  }
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0f);
}

TEST(FloatFormats, AllE5m2Codes) {
  for (uint32_t code = 0; code < 256; ++code) {
    ASSERT_TRUE(
        same(e5m2_to_float(static_cast<uint8_t>(code)), by_text(code, {5, 2, 15, true, false})))
        << code;
  }
  EXPECT_EQ(e5m2_to_float(0x7b), 57344.0f);
}

TEST(FloatFormats, AllE2m1Codes) {
  for (uint32_t code = 0; code < 16; ++code) {
    ASSERT_TRUE(
        same(e2m1_to_float(static_cast<uint8_t>(code)), by_text(code, {2, 1, 1, false, false})))
        << code;
  }
}

TEST(FloatFormats, AllE8m0Codes) {
  for (int code = 0; code < 255; ++code) {
    const std::string text = "0x1p" + std::to_string(code - 127);
    ASSERT_TRUE(same(e8m0_to_float(static_cast<uint8_t>(code)), std::strtof(text.c_str(), nullptr)))
        << code;
  }
  EXPECT_TRUE(std::isnan(e8m0_to_float(255)));
}

TEST(FloatToBf16, EveryBf16ValueStaysWhatItIs) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = bf16_to_float(static_cast<uint16_t>(code));
    const uint16_t back = float_to_bf16(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_to_float(back))) << code;
    } else {
      ASSERT_EQ(back, code);
    }
  }
}

TEST(FloatToBf16, HalfWayGoesToEvenAndNeighboursToTheNearer) {
  for (uint32_t code = 0; code < 0x7f80; ++code) {  // the next code up may be infinity
    const uint32_t middle = (code << 16) | 0x8000u;
    const uint32_t even = (code & 1u) == 0 ? code : code + 1;
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle)), even);
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle - 1)), code);
    ASSERT_EQ(float_to_bf16(std::bit_cast<float>(middle + 1)), code + 1);
    ASSERT_EQ(float_to_bf16(-std::bit_cast<float>(middle)), even | 0x8000u);
  }
}

TEST(FloatToBf16, EveryNanStaysANan) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const uint32_t payload = 1u + static_cast<uint32_t>(random()) % 0x7fffffu;
    const uint32_t bits = 0x7f800000u | payload | (i % 2 == 0 ? 0x80000000u : 0u);
    ASSERT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(bits))))) << bits;
  }
}

}  // namespace
}  // namespace trine
