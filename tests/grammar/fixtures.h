// Small vocabularies, and grammars asked about whole texts.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"

namespace trine::test {

using GrammarPtr = std::shared_ptr<const grammar::Grammar>;
using TablePtr = std::shared_ptr<const grammar::TokenTable>;

TablePtr table_of(const std::vector<std::string>& tokens,
                  const std::vector<int32_t>& excluded = {});
/// Token i is byte i.
TablePtr byte_table();
/// The tokens of models/k3-nano.
TablePtr nano_table();

/// Fails the test when the schema does not compile (the returned pointer is then null).
GrammarPtr schema_grammar(std::string_view schema, const grammar::SchemaOptions& options = {});
GrammarPtr gbnf_grammar(std::string_view text);
/// The message of a schema that is refused; fails the test when it compiles.
std::string schema_error(std::string_view schema, const grammar::SchemaOptions& options = {});

/// Whether the grammar can produce exactly this text.
bool accepts(const GrammarPtr& grammar, std::string_view text);

std::vector<int32_t> allowed(grammar::Matcher* matcher, const TablePtr& table);

}  // namespace trine::test
