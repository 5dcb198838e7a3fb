// The character classes of the release's split pattern (spec section 9), one byte for each code
// point.
#pragma once

#include <cstdint>
#include <vector>

#include "trine/status.h"

namespace trine {

/// Bits of a class. The pattern's two big sets exclude Han and overlap in Lm, Lo and M.
enum CharClass : uint8_t {
  kHan = 1,        ///< \p{Han}, the Script property
  kUpper = 2,      ///< [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]
  kLower = 4,      ///< [\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]
  kLetter = 8,     ///< \p{L}
  kNumber = 16,    ///< \p{N}
  kSpace = 32,     ///< \s, the White_Space property
  kNewline = 64,   ///< [\r\n]
  kRunSpace = 128  ///< what ends a run where long runs are cut: \s and U+001C..U+001F
};

class UnicodeClasses {
 public:
  /// Reads the properties from ICU; what Unicode 16 added is known even to an older ICU.
  static Result<UnicodeClasses> build();

  uint8_t of(uint32_t code) const {
    return pages_[(static_cast<uint32_t>(page_of_[code >> kPageBits]) << kPageBits) |
                  (code & ((1u << kPageBits) - 1))];
  }

 private:
  static constexpr uint32_t kPageBits = 8;
  std::vector<uint16_t> page_of_;
  std::vector<uint8_t> pages_;  // equal pages are stored once
};

}  // namespace trine
