// Small float formats, one value at a time: the specification that vector code is tested against.
// Sources: OCP Microscaling 1.0 (E2M1, E8M0), OCP 8-bit floating point 1.0 (E4M3, E5M2), IEEE 754.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace trine {

inline float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Round to nearest even; NaN stays NaN (quiet).
inline uint16_t float_to_bf16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
  return static_cast<uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

inline float f16_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

/// No infinity; 0x7F and 0xFF are NaN.
inline float e4m3_to_float(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
  return sign * std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
}

inline float e5m2_to_float(uint8_t bits) { return f16_to_float(static_cast<uint16_t>(bits << 8)); }

/// Magnitudes 0, .5, 1, 1.5, 2, 3, 4, 6; bit 3 is the sign.
inline float e2m1_to_float(uint8_t nibble) {
  constexpr float kMagnitude[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  return (nibble & 8) != 0 ? -kMagnitude[nibble & 7] : kMagnitude[nibble & 7];
}

/// 2^(e-127); 255 is NaN.
inline float e8m0_to_float(uint8_t e) {
  return e == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, e - 127);
}

}  // namespace trine
