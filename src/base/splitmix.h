// The finaliser of SplitMix64: a bijection of 64 bits whose output looks random. Fed with a counter
// in steps of kSplitMixStep it is the generator of that name, at any place of its sequence.
#pragma once

#include <cstdint>

namespace trine {

constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15u;

constexpr uint64_t splitmix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace trine
