#include "grammar/fixtures.h"

#include <fstream>
#include <sstream>

#include "base/json.h"

namespace trine::test {
namespace {

using grammar::Grammar;
using grammar::Matcher;
using grammar::TokenTable;

std::string from_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) out.push_back(static_cast<char>(bits >> (count -= 8) & 0xFF));
  }
  return out;
}

}  // namespace

TablePtr table_of(const std::vector<std::string>& tokens, const std::vector<int32_t>& excluded) {
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  return TokenTable::build(views, excluded);
}

TablePtr byte_table() {
  std::vector<std::string> tokens;
  tokens.reserve(256);
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  return table_of(tokens);
}

TablePtr nano_table() {
  std::ifstream file(TRINE_SOURCE_DIR "/models/k3-nano/tiktoken.model");
  std::vector<std::string> tokens;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string token;
    size_t rank = 0;
    fields >> token >> rank;
    if (tokens.size() <= rank) tokens.resize(rank + 1);
    tokens[rank] = from_base64(token);
  }
  EXPECT_GT(tokens.size(), 256u);
  return table_of(tokens);
}

GrammarPtr schema_grammar(std::string_view schema, const grammar::SchemaOptions& options) {
  const Result<json::Value> value = json::parse(schema, "schema");
  EXPECT_TRUE(value.ok()) << value.status().message() << "\n" << schema;
  if (!value.ok()) return nullptr;
  Result<GrammarPtr> grammar = Grammar::from_schema(*value, options);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << schema;
  return grammar.ok() ? *grammar : nullptr;
}

GrammarPtr gbnf_grammar(std::string_view text) {
  Result<GrammarPtr> grammar = Grammar::from_gbnf(text);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << text;
  return grammar.ok() ? *grammar : nullptr;
}

std::string schema_error(std::string_view schema, const grammar::SchemaOptions& options) {
  const Result<json::Value> value = json::parse(schema, "schema");
  EXPECT_TRUE(value.ok()) << value.status().message() << "\n" << schema;
  if (!value.ok()) return "";
  const Result<GrammarPtr> grammar = Grammar::from_schema(*value, options);
  EXPECT_FALSE(grammar.ok()) << schema;
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.status().code(), Code::kInvalidArgument);
  return grammar.status().message();
}

bool accepts(const GrammarPtr& grammar, std::string_view text) {
  static const TablePtr bytes = byte_table();
  if (grammar == nullptr) return false;
  Matcher matcher(grammar, bytes);
  return matcher.accept_bytes(text).ok() && matcher.can_end();
}

std::vector<int32_t> allowed(Matcher* matcher, const TablePtr& table) {
  std::vector<uint64_t> bits(static_cast<size_t>(table->mask_words()));
  const Status status = matcher->fill_mask(bits);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < table->size(); ++id)
    if ((bits[static_cast<size_t>(id) / 64] >> (static_cast<size_t>(id) % 64) & 1) != 0)
      ids.push_back(id);
  return ids;
}

}  // namespace trine::test
