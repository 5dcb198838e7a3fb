// UTF-8 as Unicode's table 3-7 has it: one U+FFFD for each maximal part of an ill-formed sequence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trine {

constexpr uint32_t kReplacementCharacter = 0xFFFD;

struct Utf8Char {
  uint32_t code = kReplacementCharacter;
  uint32_t bytes = 1;  ///< length in the text, >= 1
  bool valid = false;
  bool incomplete = false;  ///< invalid only because the text ends here
};

/// The character that starts at `at` (< text.size()).
Utf8Char decode_utf8(std::string_view text, size_t at);

/// Turns pieces of bytes, cut anywhere, into whole characters.
class Utf8Stream {
 public:
  /// Appends to `out` the characters that became complete.
  void push(std::string_view bytes, std::string* out);
  /// The text ends: a character that was begun becomes U+FFFD.
  void finish(std::string* out);
  /// True when a character has begun and may still be completed.
  bool waits() const { return !held_.empty(); }

 private:
  std::string held_;
};

/// Well-formed text: what is not UTF-8 becomes U+FFFD.
std::string replace_invalid_utf8(std::string_view bytes);

/// True when strip() of Python leaves nothing: only white space, or empty.
bool is_blank(std::string_view text);

}  // namespace trine
