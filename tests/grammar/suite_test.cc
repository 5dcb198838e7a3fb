// The JSON-Schema test suite (Debian: json-schema-test-suite): what it calls invalid is never
// produced, what it calls valid can be, and what is not supported is refused by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/json.h"
#include "grammar/fixtures.h"

namespace trine::test {
namespace {

const std::filesystem::path kSuite = "/usr/share/json-schema-test-suite/tests/draft7";

json::Value read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<json::Value> value = json::parse(text, path.string());
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? std::move(*value) : json::Value();
}

// Why schemas of the suite are refused: keywords that docs/design/grammar.md lists as not supported
// (`items` as a list and `additionalItems` are of older drafts; oneOf where the branches overlap;
// references to other documents), and schemas that nothing fits.
bool is_expected_refusal(const std::string& message) {
  for (const char* reason :
       {"'contains' is not supported", "'uniqueItems' is not supported", "'not' is not supported",
        "'dependencies' is not supported", "'if' is not supported", "'then' is not supported",
        "'else' is not supported", "'additionalItems' is not supported",
        "'items' must be one schema", "'oneOf' has branches", "only places in the same schema",
        "no text at all fits", "'tilda~field' is not supported"})
    if (message.find(reason) != std::string::npos) return true;
  return false;
}

// Valid, but never written: members in another order than the schema's; and one case of draft 7,
// where $ref switches off what stands beside it.
bool is_expected_miss(const std::string& text) {
  for (const char* known : {R"({"foo":"baz","bar":2})", R"({"foo":"quux","bar":2,"baz":null})",
                            R"({"baz":"bax","foo":"bar"})", R"({"foo":[1,2,3]})"})
    if (text == known) return true;
  return false;
}

struct Counts {
  int compiled = 0, refused = 0, valid = 0, missed = 0, invalid = 0;
};

void check(const json::Value& group, const std::string& file, Counts* counts) {
  grammar::SchemaOptions options;
  options.infer_types = false;  // the suite is about what is valid, not about what is meant
  const json::Value& schema = *group.find("schema");
  const Result<GrammarPtr> grammar = grammar::Grammar::from_schema(schema, options);
  if (!grammar.ok()) {
    EXPECT_TRUE(is_expected_refusal(grammar.status().message()))
        << file << ": " << json::dump(schema) << "\n"
        << grammar.status().message();
    ++counts->refused;
    return;
  }
  ++counts->compiled;
  for (const json::Value& test : group.find("tests")->as_array()) {
    const std::string text = json::dump(*test.find("data"));
    const bool is_valid = test.find("valid")->as_bool();
    const bool produced = accepts(*grammar, text);
    ++(is_valid ? counts->valid : counts->invalid);
    if (is_valid && !produced) ++counts->missed;
    EXPECT_TRUE(produced == is_valid || (is_valid && is_expected_miss(text)))
        << file << ": " << json::dump(schema) << "\n"
        << text;
  }
}

TEST(Suite, WhatIsInvalidIsNeverWrittenAndWhatIsValidCanBe) {
  if (!std::filesystem::exists(kSuite))
    GTEST_SKIP() << "Debian's json-schema-test-suite is not installed";
  Counts all;
  for (const auto& entry : std::filesystem::directory_iterator(kSuite)) {
    if (entry.path().extension() != ".json") continue;
    const json::Value groups = read(entry.path());
    for (const json::Value& group : groups.as_array())
      check(group, entry.path().stem().string(), &all);
  }
  EXPECT_GE(all.compiled, 70);
  EXPECT_LE(all.refused, 54);
  EXPECT_GE(all.valid, 148);
  EXPECT_LE(all.missed, 4);
  EXPECT_GE(all.invalid, 121);
}

}  // namespace
}  // namespace trine::test
