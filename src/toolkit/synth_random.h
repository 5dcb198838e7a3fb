// Random numbers of `synth`: a function of (seed, name, index) in integers alone, so that a
// checkpoint has the same bytes on every machine, whatever its libm, its threads and the order of
// writing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/splitmix.h"

namespace trine {

/// A stream of 64-bit words that can be read at any index (SplitMix64 over a counter).
class CounterStream {
 public:
  CounterStream(uint64_t seed, std::string_view name);
  uint64_t word(int64_t index) const {
    return splitmix(key_ + (static_cast<uint64_t>(index) + 1) * kSplitMixStep);
  }

 private:
  uint64_t key_;
};

/// Equally likely values of the standard normal distribution, ascending and symmetric:
/// entry i is the quantile (i + 1/2) / kNormalLevels.
constexpr int64_t kNormalLevels = 4096;
const std::array<double, kNormalLevels>& normal_quantiles();

}  // namespace trine
