// The syntax tree of a pattern.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"
#include "trine/status.h"

namespace trine::grammar {

struct RegexNode {
  enum class Kind { kChars, kSequence, kAlternatives, kRepeat, kBegin, kEnd };
  Kind kind = Kind::kSequence;
  CharSet chars;
  std::vector<RegexNode> parts;  ///< of a repeat: one
  int64_t min = 0, max = 0;      ///< of a repeat
};

Result<RegexNode> parse_regex(std::string_view pattern);

}  // namespace trine::grammar
