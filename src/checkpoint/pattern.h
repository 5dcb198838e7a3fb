// Regular expressions of quantisation configs, matched in time linear in the text.
//
// The part of Python's `re` that such configs use: literals, . ^ $ | ( ) (?: ) [ ] * + ? {m,n} and
// \d \w \s \D \W \S. Look-around and back-references are refused. Matching is that of re.match: at
// the beginning of the text, not necessarily to its end.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace trine::checkpoint {

class Pattern {
 public:
  /// kUnsupported with the place of what is not understood.
  static Result<Pattern> compile(std::string_view source);
  bool match(std::string_view text) const;
  const std::string& source() const { return source_; }

 private:
  friend class PatternCompiler;
  enum class Op : uint8_t { kChar, kAnyOf, kSplit, kJump, kBegin, kEnd, kMatch };
  struct Step {
    Op op = Op::kMatch;
    char c = 0;
    int32_t a = 0;  ///< kSplit, kJump: next step; kAnyOf: index into sets_
    int32_t b = 0;  ///< kSplit: the other next step
  };
  void follow(std::vector<int32_t>* now, std::vector<uint8_t>* seen, int32_t start, size_t at,
              size_t size) const;

  std::string source_;
  std::vector<Step> steps_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace trine::checkpoint
