// A hash of tokens that grows token by token, so that one walk over a prompt gives the hash of each
// of its prefixes. Only ever a hint: who finds an equal hash compares the tokens.
#pragma once

#include <cstdint>
#include <span>

namespace trine::serving {

class PrefixHash {
 public:
  void append(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {  // each round is the finaliser of splitmix64
      uint64_t h = value_ + 0x9E3779B97F4A7C15u + static_cast<uint32_t>(token);
      h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
      h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
      value_ = h ^ (h >> 31);
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace trine::serving
