// Registers and their lanes for the emulated instructions of immintrin.h.
#pragma once

#include <emmintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float __m512 __attribute__((vector_size(64)));
typedef long long __m512i __attribute__((vector_size(64)));
typedef short __m512bh __attribute__((vector_size(64)));
typedef long long __m256i __attribute__((vector_size(32)));
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;

namespace emulated {

/// The lanes of a register as an array.
template <typename T, typename V>
struct Lanes {
  static constexpr int kCount = sizeof(V) / sizeof(T);
  T lane[sizeof(V) / sizeof(T)];
  explicit Lanes(const V& v) { memcpy(lane, &v, sizeof v); }
  V vector() const {
    V v;
    memcpy(&v, lane, sizeof v);
    return v;
  }
};

template <typename T, typename V, typename F>
V each(const V& a, F f) {
  Lanes<T, V> x(a);
  for (T& lane : x.lane) lane = static_cast<T>(f(lane));
  return x.vector();
}
template <typename T, typename V, typename F>
V each2(const V& a, const V& b, F f) {
  Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  for (int i = 0; i < x.kCount; ++i) x.lane[i] = static_cast<T>(f(x.lane[i], y.lane[i]));
  return x.vector();
}
template <typename T, typename V, typename F>
uint64_t mask2(const V& a, const V& b, F f) {
  const Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  uint64_t mask = 0;
  for (int i = 0; i < x.kCount; ++i)
    mask |= static_cast<uint64_t>(f(x.lane[i], y.lane[i]) ? 1 : 0) << i;
  return mask;
}
/// Lanes of b where the mask is set, else of a.
template <typename T, typename V>
V blend(const V& a, uint64_t mask, const V& b) {
  Lanes<T, V> x(a);
  const Lanes<T, V> y(b);
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0) x.lane[i] = y.lane[i];
  return x.vector();
}
/// Reads and writes only the lanes of the mask.
template <typename T, typename V>
V load_masked(uint64_t mask, const void* p) {
  Lanes<T, V> x(V{});
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0)
      memcpy(x.lane + i, static_cast<const char*>(p) + i * int{sizeof(T)}, sizeof(T));
  return x.vector();
}
template <typename T, typename V>
void store_masked(void* p, uint64_t mask, const V& v) {
  const Lanes<T, V> x(v);
  for (int i = 0; i < x.kCount; ++i)
    if ((mask >> i & 1) != 0)
      memcpy(static_cast<char*>(p) + i * int{sizeof(T)}, x.lane + i, sizeof(T));
}
/// Lane i of `to` from lane i of `from`.
template <typename To, typename ToV, typename From, typename FromV, typename F>
ToV convert(const FromV& v, F f) {
  Lanes<To, ToV> out(ToV{});
  const Lanes<From, FromV> in(v);
  for (int i = 0; i < out.kCount; ++i) out.lane[i] = f(in.lane[i]);
  return out.vector();
}
/// Aligned access to memory that is not aligned is a fault on the real machine.
inline const void* aligned(const void* p) {
  if ((reinterpret_cast<uintptr_t>(p) & 63u) != 0) __builtin_trap();
  return p;
}

inline float half_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexpf(static_cast<float>(mantissa), -24);
  return sign * ldexpf(static_cast<float>(mantissa + 1024), exponent - 25);
}
inline float flush(float v) { return fabsf(v) < 0x1p-126f ? copysignf(0.0f, v) : v; }
/// A bf16 as VDPBF16PS takes it: subnormals are zero.
inline float bf16_to_float(uint16_t bits) {
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return flush(value);
}

}  // namespace emulated

#define TRINE_EMULATED static inline
