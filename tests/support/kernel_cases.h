// What tests of kernels share: the levels to run, guarded arrays, random numbers and comparisons.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "platform/cpu.h"
#if defined(TRINE_EMULATED_AVX512)
#include "kernels/emulated_ops/table.h"
#endif

namespace trine::testing {

constexpr double kEps = 0x1p-24;  ///< largest relative error of one fp32 rounding

struct Level {
  std::string name;
  const kernels::KernelTable* table;
};

#if defined(TRINE_EMULATED_AVX512)
/// AVX-512 alone, its instructions emulated.
inline std::vector<Level> kernel_levels() {
  return {{"avx512 emulated", &emulated_avx512_table()}};
}
#else
/// Every level this machine can execute.
inline std::vector<Level> kernel_levels() {
  std::vector<Level> levels;
  for (const Isa isa : supported_isas()) {
    levels.push_back({isa_name(isa), &kernels::kernel_table(isa)});
  }
  return levels;
}
#endif

/// An array between two guards, one element off any alignment. The guards are NaN for floats, so
/// that a read beyond the ends shows in the result, and check() finds a write.
template <typename T>
class Guarded {
 public:
  explicit Guarded(int64_t n, T value = T{})
      : n_(static_cast<size_t>(n)), all_(kGuard + 1, guard()) {
    all_.insert(all_.end(), n_, value);
    all_.insert(all_.end(), kGuard, guard());
  }
  T* data() { return all_.data() + kGuard + 1; }
  const T* data() const { return all_.data() + kGuard + 1; }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  int64_t size() const { return static_cast<int64_t>(n_); }
  bool check() const {
    const T wanted = guard();
    for (size_t i = 0; i < all_.size(); ++i) {
      const bool inside = i > kGuard && i <= kGuard + n_;
      if (!inside && std::memcmp(&all_[i], &wanted, sizeof(T)) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static T guard() {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
      return std::numeric_limits<T>::quiet_NaN();
    } else {
      return static_cast<T>(0x7fc1);
    }
  }
  size_t n_;
  std::vector<T> all_;
};

using Floats = Guarded<float>;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float normal(float scale = 1.0F) { return std::normal_distribution<float>(0.0F, scale)(engine_); }
  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  void fill_normal(Floats* x, float scale = 1.0F) {
    for (int64_t i = 0; i < x->size(); ++i) {
      (*x)[i] = normal(scale);
    }
  }

 private:
  std::mt19937 engine_;
};

/// A seed for a test of its own, printed when the test fails.
inline uint32_t seed_of_test() {
  const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  uint32_t seed = 2166136261U;
  for (; *name != '\0'; ++name) {
    seed = (seed ^ static_cast<uint8_t>(*name)) * 16777619U;
  }
  return seed;
}

inline bool same_bits(const float* a, const float* b, int64_t n) {
  return n == 0 || std::memcmp(a, b, static_cast<size_t>(n) * sizeof(float)) == 0;
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}

/// |found - wanted| <= absolute + relative * |wanted|, and not NaN.
inline bool close(float found, double wanted, double relative, double absolute) {
  return std::fabs(static_cast<double>(found) - wanted) <= absolute + relative * std::fabs(wanted);
}

/// Lengths around every vector width and its multiples.
inline std::vector<int64_t> odd_lengths() {
  return {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 257, 1031};
}

inline double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace trine::testing
