// Random walks through the masks: whatever is written, an independent validator accepts it.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/fixtures.h"
#include "support/json_schema_validator.h"

namespace trine::test {
namespace {

using grammar::Matcher;

constexpr int kFreeSteps = 60;  ///< then the walk looks for the end
constexpr int kStepsMax = 20'000;

// Prefers what closes, so that walks end; a full string or list leaves nothing else.
int32_t closing(const TablePtr& table, const std::vector<int32_t>& ids) {
  for (const std::string_view wanted : {"\"", "}", "]", "}]", "\"}", "0", "1", "null", "e"})
    for (const int32_t id : ids)
      if (table->bytes(id) == wanted) return id;
  return ids[0];
}

std::string walk(const GrammarPtr& grammar, const TablePtr& table, std::mt19937* engine) {
  Matcher matcher(grammar, table);
  std::string text;
  for (int step = 0; step < kStepsMax; ++step) {
    if (matcher.can_end() && (step > kFreeSteps || (*engine)() % 4 == 0)) return text;
    const std::vector<int32_t> ids = allowed(&matcher, table);
    if (ids.empty()) {
      EXPECT_TRUE(matcher.can_end()) << "a dead end after " << text;
      return text;
    }
    const std::string forced = matcher.forced_bytes();
    int32_t id = ids[(*engine)() % ids.size()];
    if (step > kFreeSteps && (*engine)() % 4 != 0) id = closing(table, ids);
    const std::string_view bytes = table->bytes(id);
    const size_t common = std::min(forced.size(), bytes.size());
    EXPECT_EQ(forced.substr(0, common), bytes.substr(0, common)) << "forced after " << text;
    EXPECT_TRUE(matcher.accept(id).ok());
    text += bytes;
  }
  ADD_FAILURE() << "no end after " << text.substr(0, 500);
  return text;
}

const std::vector<std::string>& schemas() {
  static const std::vector<std::string> list = {
      R"({"type":"object","properties":{"city":{"type":"string","maxLength":30},
          "unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,
          "maximum":14}},"required":["city"],"additionalProperties":false})",
      R"({"type":"array","items":{"type":"number","exclusiveMinimum":-2.5,"maximum":17.25},
          "minItems":3,"maxItems":6})",
      R"({"$defs":{"n":{"type":"object","properties":{"v":{"type":["integer","null"]},
          "l":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/n"}]}},"required":["v","l"],
          "additionalProperties":false}},"$ref":"#/$defs/n"})",
      R"({"type":"object","properties":{"id":{"format":"uuid","type":"string"},
          "at":{"type":"string","format":"date-time"},"mail":{"type":"string","format":"email"},
          "day":{"type":"string","format":"date"},"t":{"type":"string","format":"time"}},
          "required":["id","at","mail","day","t"],"additionalProperties":false})",
      R"({"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}-\\d{2,4}$"},
          "free":{"type":"string","pattern":"\\}.\\}"},
          "neg":{"type":"string","pattern":"^[^a-z\"]+$"}},
          "required":["code","free","neg"]})",
      R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"integer"}},
          "required":["k","x"],"additionalProperties":false},
          {"type":"object","properties":{"k":{"const":"b"},"y":{"type":"boolean"}},
          "required":["k"],"additionalProperties":false}]})",
      R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"maxProperties":3})",
      R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
          {"properties":{"a":{"minimum":10,"multipleOf":5},"b":{"type":"string","minLength":2}},
          "required":["b"]}]})",
      R"({"type":"object","patternProperties":{"^i":{"type":"integer"},"s$":{"type":"string"}},
          "additionalProperties":{"type":"null"},"minProperties":2,"maxProperties":4})",
      R"({"type":"object","propertyNames":{"pattern":"^[a-z]{1,3}$"},"maxProperties":3})",
      R"({"prefixItems":[{"type":"integer"},{"enum":["x",{"deep":[1,null]}]}],
          "items":{"type":"boolean"},"minItems":2,"maxItems":4,"type":"array"})",
      R"({"type":"number","multipleOf":0.25,"minimum":-1,"maximum":1})",
      R"({"type":"string","minLength":2,"maxLength":5})",
      R"({"type":["string","integer","null"],"minimum":-5,"maximum":17,"maxLength":3})",
      R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"minProperties":2,
          "maxProperties":2,"additionalProperties":false})",
      R"({})"};
  return list;
}

TEST(Walks, EveryTextIsValid) {
  const TablePtr table = nano_table();
  const TablePtr bytes = byte_table();
  const uint32_t seed = 4711;
  std::mt19937 engine(seed);
  for (const std::string& schema_text : schemas()) {
    const GrammarPtr grammar = schema_grammar(schema_text);
    ASSERT_NE(grammar, nullptr);
    const Result<json::Value> schema = json::parse(schema_text, "schema");
    for (int i = 0; i < 24; ++i) {
      const std::string text = walk(grammar, i % 4 == 0 ? bytes : table, &engine);
      json::ParseLimits limits;
      limits.depth_max = 100;
      limits.allow_duplicate_keys = true;  // of free names: no grammar can tell
      const Result<json::Value> value = json::parse(text, "text", limits);
      ASSERT_TRUE(value.ok()) << value.status().message() << "\n" << text << "\nseed " << seed;
      const auto violation = schema_violation(*schema, *value);
      ASSERT_FALSE(violation) << *violation << "\n"
                              << schema_text << "\n"
                              << text << "\nseed " << seed;
    }
  }
}

}  // namespace
}  // namespace trine::test
