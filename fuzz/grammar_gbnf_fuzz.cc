// GBNF text and patterns from anywhere: refused, or a grammar without dead ends.
#include <cstdint>
#include <string_view>

#include "grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grammar = trine::grammar::Grammar::from_gbnf(text);
  if (grammar.ok()) trine::fuzz::walk(*grammar, size);
  const auto pattern = trine::grammar::Grammar::from_regex(text);
  if (pattern.ok()) trine::fuzz::walk(*pattern, size);
  return 0;
}
