// A schema from anywhere: refused by name, or a grammar whose masks never lead into a dead end.
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schema = trine::json::parse(text, "schema");
  if (!schema.ok()) return 0;
  trine::grammar::SchemaOptions options;
  options.closed_objects = size % 2 == 0;
  const auto grammar = trine::grammar::Grammar::from_schema(*schema, options);
  if (!grammar.ok()) {
    trine::fuzz::require(!grammar.status().message().empty());
    return 0;
  }
  trine::fuzz::walk(*grammar, size);
  return 0;
}
