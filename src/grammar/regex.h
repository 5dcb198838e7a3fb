// ECMAScript patterns as automata over characters (JSON Schema's `pattern`).
//
// Understood: characters and escapes, `.`, classes, \d \w \s and their opposites, groups, named and
// non-capturing groups, alternatives, * + ? {m,n} (lazy ones too: the language is the same), ^ and
// $. Not regular or not understood, and refused by name: look-around, back references, \b, \B, \p,
// flags.
#pragma once

#include <string_view>

#include "grammar/char_dfa.h"

namespace trine::grammar {

enum class Anchoring {
  kSearch,  ///< the pattern matches somewhere in the text (JSON Schema)
  kWhole,   ///< the whole text
};

/// Errors (kInvalidArgument) name the construct and its byte offset.
Result<CharDfa> regex_dfa(std::string_view pattern, Anchoring anchoring);

}  // namespace trine::grammar
