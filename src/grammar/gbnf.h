// GBNF, the grammar format of llama.cpp, read into rules.
//
// name ::= alternatives of sequences of "literals", [character classes], ., rule names and
// (groups), each with * + ? {m} {m,} {m,n}; # begins a comment. Escapes: \n \r \t \\ \" \[ \] \xHH
// \uHHHH \UHHHHHHHH. A rule ends at a line break, except in a group and before or after `|`.
#pragma once

#include <string_view>

#include "grammar/program.h"

namespace trine::grammar {

/// Errors (kInvalidArgument) name the line and the rule.
Result<Program> compile_gbnf(std::string_view text);

}  // namespace trine::grammar
