// Every keyword with texts that fit and texts that do not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/fixtures.h"

namespace trine::test {
namespace {

struct Case {
  std::string schema;
  std::vector<std::string> fit;
  std::vector<std::string> refused;
};

void check(const std::vector<Case>& cases, const grammar::SchemaOptions& options = {}) {
  for (const Case& c : cases) {
    const GrammarPtr g = schema_grammar(c.schema, options);
    for (const std::string& text : c.fit) EXPECT_TRUE(accepts(g, text)) << c.schema << "\n" << text;
    for (const std::string& text : c.refused)
      EXPECT_FALSE(accepts(g, text)) << c.schema << "\n" << text;
  }
}

TEST(Schema, TypesAtTheRootAndInLists) {
  check({
      {R"({"type":"null"})", {"null"}, {"nul", "nulll", "0", ""}},
      {R"({"type":"boolean"})", {"true", "false"}, {"True", "1", "null"}},
      {R"({"type":"string"})", {R"("")", R"("a b")"}, {"a", "1", R"(")", R"("a)"}},
      {R"({"type":"integer"})", {"0", "-1", "120"}, {"01", "-0", "1.0", "1e3", "+1", "-", "--1"}},
      {R"({"type":"number"})",
       {"0", "-0.5", "1.25", "1e3", "1E-10", "0.0"},
       {"01", ".5", "1.", "1e", "1e+", "-", "NaN", "Infinity", "0x1", "1e999"}},
      {R"({"type":["string","null"]})", {"null", R"("x")"}, {"1", "[]"}},
      {R"({"type":"string","nullable":true})", {"null", R"("x")"}, {"1"}},
      {R"({"type":"array"})", {"[]", "[1, {}, [null]]", "[[]]"}, {"[1,]", "[", "[,1]", "{}"}},
      {R"({"type":"object"})", {"{}", R"({"a": {"b":[]}})"}, {R"({"a"})", "[]", R"({a:1})"}},
      {R"({})", {"{}", "[]", "1", "null", R"("x")"}, {"", " ", "x"}},
      {R"(true)", {"{}", "1"}, {""}},
  });
}

TEST(Schema, WhiteSpaceIsBounded) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"array"}}})";
  const std::string indent(32, ' ');
  check({{schema,
          {R"({"a":[1,2]})", R"({"a": [1, 2]})", "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
           "{\n\t\"a\": []\n}", "{\n" + indent + "\"a\":[]}"},
          {R"({  "a":[]})", R"({"a" :[]})", R"({"a":  []})", "{\n\n\"a\":[]}", " {}", "{} ",
           "{\r\n\"a\":[]}", "{\n" + indent + " \"a\":[]}", R"({"a":[1 ,2]})"}}});
  grammar::SchemaOptions compact;
  compact.white_space = grammar::WhiteSpace::kCompact;
  check({{schema, {R"({"a":[1,2]})"}, {R"({"a": [1,2]})", R"({"a":[1, 2]})", "{\n\"a\":[]}"}}},
        compact);
}

TEST(Schema, StringsAreStrictJson) {
  check({{R"({"type":"string"})",
          {R"("\"\\\/\b\f\n\r\t")", R"("\u00e9\uD83D\uDE00")", "\"\xC3\xA9\xF0\x9F\x98\x80\"",
           "\"\x7F\"", R"("\uD7ff\uE000")", "\"\xEF\xBF\xBF\"", "\"\xF4\x8F\xBF\xBF\""},
          {"\"\n\"", "\"\t\"", std::string("\"\0\"", 3), R"("\x41")", R"("\u12")", R"("\uD83D")",
           R"("\uDE00")", R"("\uD83D\u0041")", R"("\uD83Dx")", "\"\xC3\"", "\"\xA9\"",
           "\"\xED\xA0\x80\"", "\"\xC0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xE0\x80\x80\"",
           "\"\xFF\""}}});
}

TEST(Schema, LengthsCountCodePoints) {
  const std::string emoji = "\xF0\x9F\x98\x80";
  check({
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("abc")", '"' + emoji + emoji + '"', R"("\n\u0041")",
        R"("\uD83D\uDE00\uD83D\uDE00\\")"},
       {R"("a")", R"("abcd")", '"' + emoji + '"', R"("\uD83D\uDE00")", R"("\n")", R"("")"}},
      {R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"}},
      {R"({"type":"string","minLength":3})", {R"("abc")", R"("abcdefghi")"}, {R"("ab")"}},
      {R"({"type":"string","maxLength":1000000000})", {R"("")", R"("abc")"}, {"1"}},
      {R"({"type":"string","minLength":2.0})", {R"("ab")"}, {R"("a")"}},
  });
}

TEST(Schema, IntegersBetweenBounds) {
  for (const auto& [low, high] : std::vector<std::pair<int, int>>{{0, 0},
                                                                  {-5, 17},
                                                                  {0, 9},
                                                                  {10, 10},
                                                                  {99, 101},
                                                                  {-120, -7},
                                                                  {-1, 1},
                                                                  {1, 1000},
                                                                  {-10, 0},
                                                                  {7, 12345}}) {
    const GrammarPtr g = schema_grammar(R"({"type":"integer","minimum":)" + std::to_string(low) +
                                        R"(,"maximum":)" + std::to_string(high) + "}");
    const GrammarPtr open =
        schema_grammar(R"({"type":"integer","exclusiveMinimum":)" + std::to_string(low - 1) +
                       R"(,"exclusiveMaximum":)" + std::to_string(high + 1) + "}");
    for (int i = -1500; i <= 13000; ++i) {
      const bool inside = low <= i && i <= high;
      ASSERT_EQ(accepts(g, std::to_string(i)), inside) << i << " in " << low << ".." << high;
      ASSERT_EQ(accepts(open, std::to_string(i)), inside) << i << " in " << low << ".." << high;
    }
    for (const char* text : {"-0", "00", "007", "1.0", "1e1"}) EXPECT_FALSE(accepts(g, text));
  }
}

TEST(Schema, NumbersBetweenDecimalBounds) {
  check({
      {R"({"type":"number","minimum":1.5,"maximum":2.25})",
       {"1.5", "1.50", "2", "2.25", "2.2499999", "1.500001", "2.0"},
       {"1.49", "1.4999999", "2.26", "2.250001", "1", "3", "-2", "15", "1.5e0"}},
      {R"({"type":"number","exclusiveMinimum":0})",
       {"0.1", "1", "0.0001", "123456"},
       {"0", "0.0", "-1", "-0.0", "0.000"}},
      {R"({"type":"number","exclusiveMinimum":-1,"exclusiveMaximum":1})",
       {"0", "-0.5", "0.999", "-0.999", "-0.0"},
       {"1", "-1", "1.0", "-1.0", "1.5", "-1.5"}},
      {R"({"type":"number","minimum":-0.25})",
       {"-0.25", "-0.2", "0", "5"},
       {"-0.26", "-1", "-0.250001"}},
      {R"({"type":"number","maximum":1e2})", {"100", "99.9", "-1000", "100.0"}, {"100.1", "101"}},
      {R"({"type":"number","minimum":5e-324})", {"0.001", "1"}, {"0", "0.0", "-1"}},
      {R"({"type":"integer","minimum":1.5,"maximum":3.5})", {"2", "3"}, {"1", "4"}},
      {R"({"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807})",
       {"9223372036854775807", "-9223372036854775808", "0"},
       {"9223372036854775808", "-9223372036854775809"}},
      {R"({"type":"integer","maximum":1.7976931348623157e308})", {"9999999999999999"}, {"1.5"}},
  });
}

TEST(Schema, Multiples) {
  const GrammarPtr seven = schema_grammar(R"({"type":"integer","multipleOf":7,"minimum":-30})");
  for (int i = -50; i < 1000; ++i)
    ASSERT_EQ(accepts(seven, std::to_string(i)), i % 7 == 0 && i >= -30) << i;
  check({
      {R"({"type":"number","multipleOf":0.01})", {"1.25", "0.1", "3", "0.00", "-4.50"}, {"1.255"}},
      {R"({"type":"number","multipleOf":0.25})",
       {"0.5", "0.75", "2", "1.0"},
       {"0.3", "0.7", "0.125"}},
      {R"({"type":"integer","multipleOf":2.5})", {"5", "10", "0"}, {"2", "4", "7"}},
      {R"({"type":"integer","allOf":[{"multipleOf":4},{"multipleOf":2}]})", {"4", "8"}, {"2", "6"}},
  });
  EXPECT_NE(schema_error(R"({"multipleOf":1234567})").find("multipleOf"), std::string::npos);
  EXPECT_NE(schema_error(R"({"multipleOf":0})").find("multipleOf"), std::string::npos);
}

TEST(Schema, ObjectsInTheOrderOfTheSchema) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"},
    "b":{"type":"string"},"c":{"type":"null"}},"required":["b"],"additionalProperties":false})";
  check({{schema,
          {R"({"b":""})", R"({"a":1,"b":""})", R"({"b":"","c":null})",
           R"({"a":1, "b":"", "c":null})"},
          {R"({})", R"({"a":1})", R"({"b":"","a":1})", R"({"b":"","b":""})", R"({"b":"","d":1})",
           R"({"b":1})", R"({"b":"",})", R"({,"b":""})"}}});
  check({{R"({"type":"object","properties":{"x":{"type":"null"}},"required":["y","x"]})",
          {R"({"x":null,"y":[1]})"},
          {R"({"x":null})", R"({"y":1})", R"({"x":null,"y":1,"y":2})"}}});
}

TEST(Schema, AdditionalPropertiesNeverRepeatADeclaredName) {
  check({
      {R"({"type":"object","properties":{"ab":{"type":"null"}},
          "additionalProperties":{"type":"integer"}})",
       {R"({})", R"({"ab":null})", R"({"ab":null,"x":1,"y":2})", R"({"abc":1})", R"({"a":1})",
        R"({"":1})", R"({"\n":1})"},
       {R"({"ab":1})", R"({"x":null})", R"({"x":1,"ab":null})", R"({"\u0061b":1})"}},
      {R"({"properties":{"a":{}}})", {R"({"a":1,"zz":[]})", R"({"zz":0})"}, {"1"}},
      {R"({"additionalProperties":{"type":"string"}})", {R"({"k":"v"})"}, {R"({"k":1})"}},
  });
  grammar::SchemaOptions closed;
  closed.closed_objects = true;
  check({{R"({"properties":{"a":{}}})", {R"({"a":1})", "{}"}, {R"({"a":1,"z":1})"}},
         {R"({"type":"object"})", {R"({"z":1})"}, {}},
         {R"({"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]})",
          {R"({"a":1,"b":2})"},
          {R"({"c":1})"}}},
        closed);
}

TEST(Schema, PatternsOfNamesAndCounts) {
  check({
      {R"({"type":"object","patternProperties":{"^n_":{"type":"integer"},"_s$":{"type":"string"}},
          "properties":{"n_0":{"minimum":5}},"additionalProperties":false})",
       {R"({"n_0":5})", R"({"n_1":1,"x_s":"t"})", "{}"},
       {R"({"n_0":4})", R"({"n_1":"t"})", R"({"q":1})", R"({"n_s":1})", R"({"n_s":"t"})"}},
      {R"({"type":"object","propertyNames":{"pattern":"^[a-c]+$","maxLength":2}})",
       {R"({"ab":1})"},
       {R"({"abc":1})", R"({"d":1})", R"({"":1})"}},
      {R"({"type":"object","propertyNames":{"enum":["x","y"]}})", {R"({"y":1})"}, {R"({"z":1})"}},
      {R"({"type":"object","minProperties":2,"maxProperties":3})",
       {R"({"a":1,"b":2})", R"({"a":1,"b":2,"c":3})"},
       {"{}", R"({"a":1})", R"({"a":1,"b":2,"c":3,"d":4})"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"minProperties":2,"additionalProperties":false})",
       {R"({"a":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
       {"{}", R"({"b":1})"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"maxProperties":1,"required":["b"]})",
       {R"({"b":1})"},
       {"{}", R"({"a":1,"b":1})", R"({"a":1})"}},
      {R"({"type":"object","maxProperties":0})", {"{}"}, {R"({"a":1})"}},
  });
}

TEST(Schema, Arrays) {
  check({
      {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
       {"[1,2]", "[1, 2, 3]"},
       {"[]", "[1]", "[1,2,3,4]", R"([1,"a"])"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"type":"array","maxItems":1000000000,"items":{"type":"null"}})",
       {"[]", "[null,null]"},
       {}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
       {"[]", "[1]", R"([1,"a"])"},
       {R"(["a"])", R"([1,"a",1])"}},
      {R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
       {"[1,null]", "[1,null,null]"},
       {"[1]", "[]", "[null,null]", "[1,1]"}},
      {R"({"type":"array","items":{"type":"array","items":{"type":"boolean"}}})",
       {"[[true],[]]"},
       {"[true]"}},
      {R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[1]"}, {"[1,1]"}},
  });
}

TEST(Schema, EnumAndConst) {
  check({
      {R"({"enum":["a","ab","b\n\"",1,-2.5,null,true,[1,{"x":[]}],{}]})",
       {R"("a")", R"("ab")", R"("b\n\"")", "1", "-2.5", "null", "true", R"([1, {"x": []}])", "{}"},
       {R"("b")", R"("")", "2", "false", "[1]", R"("abc")"}},
      {R"({"const":{"k":[1,2]}})", {R"({"k":[1,2]})"}, {R"({"k":[2,1]})", "{}"}},
      {R"({"type":"string","enum":["a",1,"b"]})", {R"("a")", R"("b")"}, {"1"}},
      {R"({"enum":["abc","d","ef"],"minLength":2,"pattern":"^[a-e]"})",
       {R"("abc")", R"("ef")"},
       {R"("d")"}},
      {R"({"enum":[1,5,9,"x"],"minimum":4})", {"5", "9", R"("x")"}, {"1"}},
      {R"({"enum":[{"a":1},{"a":"x"}],"properties":{"a":{"type":"string"}}})",
       {R"({"a":"x"})"},
       {R"({"a":1})"}},
      {R"({"type":"integer","enum":[1.0,2]})", {"1.0", "2"}, {"1"}},
      {R"({"allOf":[{"enum":[1,2,3]},{"enum":[3.0,2,7]}]})", {"2", "3"}, {"1", "7"}},
      {R"({"const":"\u00e9\ud83d\ude00"})", {"\"\xC3\xA9\xF0\x9F\x98\x80\""}, {}},
  });
}

TEST(Schema, Combinations) {
  check({
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"12", R"("a")"},
       {R"("ab")", "null"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
          "anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}"}},
      {R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5}]})", {"3", "5"}, {"2", "6"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},
                    {"properties":{"a":{"minimum":5},"b":{"type":"null"}}}]})",
       {R"({"a":5})", R"({"a":7,"b":null})"},
       {R"({"a":4})", R"({"b":null})"}},
      {R"({"oneOf":[{"type":"integer"},{"type":"null"}]})", {"1", "null"}, {R"("x")"}},
      {R"({"oneOf":[{"properties":{"t":{"const":"a"},"x":{"type":"integer"}},"required":["t"]},
                    {"properties":{"t":{"const":"b"},"y":{"type":"integer"}},"required":["t"]}]})",
       {R"({"t":"a","x":1})", R"({"t":"b","y":1})"},
       {R"({"t":"c"})", "{}"}},
      {R"({"type":"object","oneOf":[{"required":["a"],"properties":{"a":{"type":"integer"}}},
                                    {"required":["b"],"properties":{"b":{"type":"integer"}}}]})",
       {R"({"a":1})", R"({"b":1})"},
       {R"({"a":1,"b":1})", "{}"}},
      {R"({"oneOf":[{"type":"string","format":"uuid"},{"type":"string","format":"date"}]})",
       {R"("2024-02-29")"},
       {R"("x")"}},
      {R"({"oneOf":[{"type":"number","maximum":1},{"type":"number","exclusiveMinimum":1}]})",
       {"1", "2", "0.5"},
       {"null"}},
      {R"({"oneOf":[{"const":1},{"const":2}]})", {"1", "2"}, {"3"}},
  });
  for (const char* schema : {R"({"oneOf":[{"type":"integer"},{"minimum":2}]})",
                             R"({"oneOf":[{"type":"string"},{"type":"string","maxLength":2}]})",
                             R"({"oneOf":[{"type":"object"},{"type":"object"}]})"})
    EXPECT_NE(schema_error(schema).find("oneOf"), std::string::npos);
}

TEST(Schema, References) {
  check({
      {R"({"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
           "next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
           "required":["v","next"],"additionalProperties":false}},"$ref":"#/$defs/node"})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":{"v":3,"next":null}}})"},
       {R"({"v":1})", R"({"v":1,"next":{}})"}},
      {R"({"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},
          "additionalProperties":false})",
       {R"({"kids":[{},{"kids":[{}]}]})"},
       {R"({"kids":[1]})"}},
      {R"({"definitions":{"a/b~c d":{"type":"null"}},"$ref":"#/definitions/a~1b~0c%20d"})",
       {"null"},
       {"1"}},
      {R"({"$defs":{"i":{"type":"integer"}},"$ref":"#/$defs/i","minimum":3})",
       {"3"},
       {"2", "null"}},
      {R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"null"}},"$ref":"#/$defs/a"})",
       {"null"},
       {}},
  });
  for (const char* schema :
       {R"({"$ref":"other.json"})", R"({"$ref":"#/$defs/none"})", R"({"$ref":"#"})",
        R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})",
        R"({"properties":{"x":{"$ref":"#/properties/x"}},"required":["x"]})"})
    EXPECT_NE(schema_error(schema).find("$ref"), std::string::npos) << schema;
  EXPECT_NE(schema_error(R"({"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},
      "required":["a"]}},"$ref":"#/$defs/a"})")
                .find("no text at all"),
            std::string::npos);
}

TEST(Schema, Formats) {
  const auto quoted = [](std::vector<std::string> texts) {
    for (std::string& t : texts) t = '"' + t + '"';
    return texts;
  };
  check({
      {R"({"type":"string","format":"date"})",
       quoted({"2024-02-29", "2000-02-29", "1999-12-31", "2023-04-30"}),
       quoted(
           {"2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "2024-1-1", "24-01-01", ""})},
      {R"({"type":"string","format":"time"})", quoted({"00:00:00Z", "23:59:59.123+14:00"}),
       quoted({"24:00:00Z", "12:60:00Z", "12:00:00", "12:00Z"})},
      {R"({"type":"string","format":"date-time"})",
       quoted({"2024-02-29T23:59:59Z", "2024-01-01T00:00:00.5-08:00"}),
       quoted({"2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "2024-01-01"})},
      {R"({"type":"string","format":"uuid"})",
       quoted({"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"}),
       quoted({"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"})},
      {R"({"type":"string","format":"email"})", quoted({"a@b.co", "a.b+c@x-y.example.org"}),
       quoted({"a", "a@", "@b.co", ".a@b.co", "a..b@c.de", "a@-b.co", "a@b",
               std::string(65, 'a') + "@b.co"})},
      {R"({"format":"ipv4"})", quoted({"127.0.0.1", "255.255.255.255"}),
       quoted({"256.0.0.1", "1.2.3", "01.2.3.4"})},
      {R"({"format":"ipv6"})", quoted({"::1", "::", "1:2:3:4:5:6:7:8", "fe80::1", "1::"}),
       quoted({"1:2:3:4:5:6:7", "1::2::3", "12345::", ":1", "1:2:3:4:5:6:7:8:9"})},
      {R"({"format":"uri"})", quoted({"https://example.org/a?b=c#d", "http://x:80/%20"}),
       quoted({"/a", "http://a b"})},
      {R"({"format":"hostname"})", quoted({"a.example"}), quoted({"-a", "a_b", ""})},
      {R"({"format":"duration"})", quoted({"P1Y2M3D", "PT1H", "P4W", "P1DT2H3M4S"}),
       quoted({"P", "PT", "P1DT", "1D"})},
      {R"({"type":"integer","format":"int32"})", {"2147483647"}, {"2147483648"}},
      {R"({"type":"string","format":"date","pattern":"^2024"})", quoted({"2024-05-05"}),
       quoted({"2023-05-05"})},
  });
}

TEST(Schema, PatternsAreSearched) {
  const auto quoted = [](std::vector<std::string> texts) {
    for (std::string& t : texts) t = '"' + t + '"';
    return texts;
  };
  const std::string e_acute = "\xC3\xA9";
  check({
      {R"({"type":"string","pattern":"b+"})", quoted({"b", "abbc", "xb"}), quoted({"", "ac"})},
      {R"({"type":"string","pattern":"^a|b$"})", quoted({"a", "ax", "xb", "ab"}),
       quoted({"xa", "bx", ""})},
      {R"({"type":"string","pattern":"^(ab|c)*$"})", quoted({"", "abc", "cab"}),
       quoted({"a", "b", "abx"})},
      {R"({"type":"string","pattern":"^\\d{3}-[^\\s\"]$"})", quoted({"123-x", "123-" + e_acute}),
       quoted({"12-x", "123- ", "123-\\\"", "123-xy"})},
      {R"({"type":"string","pattern":"^.$"})", quoted({"x", e_acute, "\\\\", "\\\""}),
       quoted({"", "xx", "\\n"})},
      {R"({"type":"string","pattern":"^[\\u00e0-\\u00ff]+$"})", quoted({e_acute}), quoted({"e"})},
      {R"({"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":4})",
       quoted({"ab", "abcd"}), quoted({"a", "abcde", "AB"})},
      {R"({"type":"string","pattern":"^\\w+\\.(?:png|jpe?g)$"})",
       quoted({"a.png", "b_1.jpg", "c.jpeg"}), quoted({"a.gif", ".png"})},
      {R"({"type":"string","pattern":"^$"})", quoted({""}), quoted({"a"})},
      {R"({"type":"string","pattern":""})", quoted({"", "anything", "\\u0041"}), {}},
      {R"({"allOf":[{"pattern":"^a"},{"pattern":"z$"}]})", quoted({"az", "abcz"}),
       quoted({"a", "z", "za"})},
      {R"({"type":"string","pattern":"^[\\x00-\\x1f]$"})",
       quoted({"\\n", "\\u0000", "\\u001F", "\\u001f"}), quoted({"a", "\\u0020"})},
  });
  for (const char* pattern :
       {"(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "\\\\1", "\\\\b", "\\\\B", "\\\\p{L}", "\\\\k<a>",
        "(", ")", "[", "a**", "*", "a{3,2}", "\\\\", "(?i:a)", "[b-a]"})
    EXPECT_NE(schema_error(R"({"type":"string","pattern":")" + std::string(pattern) + "\"}")
                  .find("'pattern'"),
              std::string::npos)
        << pattern;
}

TEST(Schema, WhatIsNotSupportedIsNamedWithItsPlace) {
  for (const std::string keyword :
       {"not", "if", "then", "else", "contains", "minContains", "maxContains", "dependentRequired",
        "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentEncoding",
        "$dynamicRef", "$anchor", "additionalItems", "dependencies", "nonsense", "minimun"}) {
    const std::string message =
        schema_error(R"({"type":"object","properties":{"x":{")" + keyword + R"(":{}}}})");
    EXPECT_NE(message.find("#/properties/x: '" + keyword + "'"), std::string::npos) << message;
  }
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"type":"str"})", "type"},
      {R"({"type":[]})", "type"},
      {R"({"type":3})", "type"},
      {R"({"minLength":-1})", "minLength"},
      {R"({"minLength":1.5})", "minLength"},
      {R"({"maxItems":"1"})", "maxItems"},
      {R"({"minimum":"1"})", "minimum"},
      {R"({"exclusiveMinimum":true})", "exclusiveMinimum"},
      {R"({"enum":1})", "enum"},
      {R"({"required":"a"})", "required"},
      {R"({"required":[1]})", "required"},
      {R"({"properties":[]})", "properties"},
      {R"({"items":[{}]})", "items"},
      {R"({"prefixItems":{}})", "prefixItems"},
      {R"({"anyOf":[]})", "anyOf"},
      {R"({"anyOf":{}})", "anyOf"},
      {R"({"allOf":[1]})", "#/allOf"},
      {R"({"format":"zip"})", "format"},
      {R"({"pattern":1})", "pattern"},
      {R"({"uniqueItems":true})", "uniqueItems"},
      {R"({"nullable":1})", "nullable"},
      {R"({"$ref":1})", "$ref"},
      {R"({"properties":{"a":1}})", "#"},
      {R"(3)", "#"}};
  for (const auto& [schema, word] : wrong)
    EXPECT_NE(schema_error(schema).find(word), std::string::npos) << schema;
  for (const char* schema : {R"({"type":"integer","minimum":5,"maximum":3})", R"({"enum":[]})",
                             "false", R"({"type":"string","minLength":3,"maxLength":2})",
                             R"({"allOf":[{"type":"null"},{"type":"array"}]})",
                             R"({"type":"string","format":"date","maxLength":9})",
                             R"({"type":"object","properties":{"a":false},"required":["a"]})"})
    EXPECT_NE(schema_error(schema).find("no text at all"), std::string::npos) << schema;
}

TEST(Schema, AnnotationsHaveNoSay) {
  check({{R"({"$schema":"x","$id":"y","$comment":"z","title":"t","description":"d","default":[],
    "examples":[1],"example":2,"deprecated":true,"readOnly":true,"writeOnly":true,"x-order":1,
    "type":"null"})",
          {"null"},
          {"[]"}}});
}

TEST(Schema, ArgumentsOneByOne) {
  grammar::SchemaOptions options;
  options.root_pointer = "/properties/city";
  options.bare_root_string = true;
  options.root_types = grammar::kStringBit;
  const std::string schema = R"({"$defs":{"c":{"type":["string","null"],"maxLength":5}},
    "properties":{"city":{"$ref":"#/$defs/c"},"unit":{"enum":["c","f",1]}}})";
  check({{schema, {"Paris", "", "a\"b\\", "\n"}, {"Berlin", "\"Paris\" "}}}, options);
  options.root_pointer = "/properties/unit";
  check({{schema, {"c", "f"}, {"\"c\"", "1"}}}, options);
  options.root_types = grammar::kNumberBits;
  check({{schema, {"1"}, {"c"}}}, options);
  options.root_types = grammar::kObjectBit;
  EXPECT_NE(schema_error(schema, options).find("#/properties/unit"), std::string::npos);
  options.root_pointer = "/properties/none";
  EXPECT_NE(schema_error(schema, options).find("/properties/none"), std::string::npos);
}

TEST(Schema, JsonMode) {
  grammar::JsonOptions options;
  options.root_types = grammar::kObjectBit;
  const auto g = grammar::Grammar::from_json_mode(options);
  ASSERT_TRUE(g.ok());
  EXPECT_TRUE(accepts(*g, R"({"a": [1, {"b": null}], "c": "\u00e9"})"));
  for (const char* text : {"[]", "1", "{", R"({"a":1}{)", R"({"a":01})"})
    EXPECT_FALSE(accepts(*g, text)) << text;
}

TEST(Schema, NestingEndsInTime) {
  const auto g = grammar::Grammar::from_json_mode();
  ASSERT_TRUE(g.ok());
  const std::string sixty = std::string(60, '[') + std::string(60, ']');
  EXPECT_TRUE(accepts(*g, sixty));
  const std::string many = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(accepts(*g, many));
}

}  // namespace
}  // namespace trine::test
