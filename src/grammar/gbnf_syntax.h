// The syntax tree of GBNF text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"
#include "trine/status.h"

namespace trine::grammar {

struct GbnfNode {
  enum class Kind { kSequence, kAlternatives, kLiteral, kChars, kRule, kRepeat };
  Kind kind = Kind::kSequence;
  std::vector<GbnfNode> parts;  ///< of a repeat: one
  std::string text;             ///< of a literal: its UTF-8
  CharSet chars;
  size_t rule = 0;
  int64_t min = 0, max = 0;
};

struct GbnfRule {
  std::string name;
  GbnfNode body;
  bool defined = false;
  size_t line = 0;  ///< where it was first named
};

Result<std::vector<GbnfRule>> parse_gbnf(std::string_view text);

}  // namespace trine::grammar
