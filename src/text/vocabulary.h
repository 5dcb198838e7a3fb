// The ranks of tiktoken.model: lines `base64(bytes) SPACE rank` (spec section 9).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace trine {

/// Files larger than this, and tokens longer than that, are refused (K3: 2.8 MB and 128 bytes).
constexpr int64_t kVocabularyFileBytesMax = int64_t{64} << 20;
constexpr size_t kTokenBytesMax = 4096;

/// Ranks 0..size-1, each with its bytes; every single byte is among them.
class Vocabulary {
 public:
  /// Errors (kCorrupt) lead with `where` and the line.
  static Result<Vocabulary> parse(std::string_view file, const std::string& where);

  int32_t size() const { return static_cast<int32_t>(offsets_.size()) - 1; }
  std::string_view bytes(int32_t rank) const {
    const auto i = static_cast<size_t>(rank);
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  /// The rank of these bytes, -1 if they are no token.
  int32_t find(std::string_view bytes) const;

 private:
  struct Slot {
    uint32_t tag = 0;  // high half of the hash, so that most mismatches need no comparison of bytes
    int32_t rank = -1;
  };

  Slot* slot_for(std::string_view bytes);
  void make_index();
  static size_t pair_index(std::string_view pair) {
    return (static_cast<size_t>(static_cast<uint8_t>(pair[0])) << 8) |
           static_cast<uint8_t>(pair[1]);
  }

  std::string bytes_;
  std::vector<uint32_t> offsets_;
  std::vector<Slot> slots_;     // open addressing, at most half full
  std::vector<int32_t> pairs_;  // ranks of two bytes: merging begins with them, so no search
  size_t longest_ = 0;
  friend class VocabularyReader;
};

}  // namespace trine
