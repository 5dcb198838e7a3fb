// A hash of tokens that grows token by token, so that one walk over a prompt gives the hash of each
// of its prefixes. Only ever a hint: who finds an equal hash compares the tokens.
#pragma once

#include <cstdint>
#include <span>

#include "base/splitmix.h"

namespace trine::serving {

class PrefixHash {
 public:
  void append(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens)
      value_ = splitmix(value_ + kSplitMixStep + static_cast<uint32_t>(token));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace trine::serving
