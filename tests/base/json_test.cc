// Parsing within limits, faithful numbers, and the three ways of writing.
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace trine::json {
namespace {

Value parsed(std::string_view text) {
  Result<Value> result = parse(text, "test");
  EXPECT_TRUE(result.ok()) << text << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : Value();
}

Code refusal(std::string_view text, const ParseLimits& limits = {}) {
  const Result<Value> result = parse(text, "test", limits);
  EXPECT_FALSE(result.ok()) << text;
  return result.status().code();
}

std::string python(std::string_view text, PythonStyle style = {}) {
  return dump_python(parsed(text), style);
}

TEST(JsonParse, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump(parsed(R"({"z":1,"a":{"y":[],"b":null}})")), R"({"z":1,"a":{"y":[],"b":null}})");
}

TEST(JsonParse, KeepsTheSpellingOfNumbers) {
  for (const char* text : {"0", "-1", "123456789012345678901234567890", "1.0", "1e5", "1E+5",
                           "0.10", "-0.0", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_EQ(dump(parsed(text)), text);
  }
}

TEST(JsonParse, IntegersKnowWhetherTheyFit) {
  int64_t out = 0;
  EXPECT_TRUE(parsed("9223372036854775807").to_int64(&out));
  EXPECT_EQ(out, INT64_MAX);
  EXPECT_TRUE(parsed("-9223372036854775808").to_int64(&out));
  EXPECT_EQ(out, INT64_MIN);
  EXPECT_FALSE(parsed("9223372036854775808").to_int64(&out));
  EXPECT_FALSE(parsed("18446744073709551615").to_int64(&out));
  EXPECT_FALSE(parsed("123456789012345678901234567890").to_int64(&out));
  EXPECT_TRUE(parsed("4096.0").to_int64(&out));
  EXPECT_EQ(out, 4096);
  EXPECT_TRUE(parsed("1e3").to_int64(&out));
  EXPECT_EQ(out, 1000);
  EXPECT_FALSE(parsed("1.5").to_int64(&out));
  EXPECT_FALSE(parsed("1e300").to_int64(&out));
  EXPECT_FALSE(parsed("\"7\"").to_int64(&out));
  EXPECT_FALSE(parsed("true").to_int64(&out));
}

TEST(JsonParse, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",        " ",     "{",        "[1,",          "[1,]",       "{\"a\":1,}", "{a:1}",
        "'x'",     "01",    "1.",       ".5",           "+1",         "NaN",        "Infinity",
        "nul",     "1 2",   "{} []",    "[1]x",         "\"\\x\"",    "\"\\u12\"",  "\"\t\"",
        "// c\n1", "1e999", "\"\xff\"", "\"\xc0\x80\"", "\"\\ud800\""}) {
    EXPECT_EQ(refusal(text), Code::kCorrupt) << text;
  }
}

TEST(JsonParse, MessageNamesTheFileAndTheByte) {
  const Status status = parse("{\"a\": tru}", "config.json").status();
  EXPECT_EQ(status.message().find("config.json: not valid JSON at byte "), 0u) << status.message();
}

TEST(JsonParse, RefusesDuplicateKeysUnlessAllowed) {
  EXPECT_EQ(refusal(R"({"a":1,"b":2,"a":3})"), Code::kCorrupt);
  EXPECT_EQ(refusal(R"([{"x":{"a":1,"\u0061":3}}])"), Code::kCorrupt);
  ParseLimits limits;
  limits.allow_duplicate_keys = true;
  const Result<Value> last = parse(R"({"a":1,"b":2,"a":3})", "", limits);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(dump(*last), R"({"a":3,"b":2})");
  EXPECT_EQ(dump(parsed(R"([{"a":1},{"a":2}])")), R"([{"a":1},{"a":2}])");
}

TEST(JsonParse, DepthIsLimitedAndDeepTextIsNoCrash) {
  ParseLimits limits;
  limits.depth_max = 3;
  EXPECT_TRUE(parse("[[[1]]]", "", limits).ok());
  EXPECT_EQ(refusal("[[[[1]]]]", limits), Code::kInvalidArgument);
  EXPECT_EQ(refusal(R"({"a":{"a":{"a":{}}}})", limits), Code::kInvalidArgument);
  EXPECT_EQ(refusal(std::string(5000000, '[')), Code::kInvalidArgument);
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refusal(objects), Code::kInvalidArgument);
}

TEST(JsonParse, SizeIsLimited) {
  ParseLimits limits;
  limits.bytes_max = 4;
  EXPECT_TRUE(parse("1234", "", limits).ok());
  EXPECT_EQ(refusal("12345", limits), Code::kInvalidArgument);
}

TEST(JsonParse, DecodesEscapesAndKeepsNul) {
  EXPECT_EQ(parsed(R"("\u0000a\n\"\\\/\u00e9\ud83d\ude00")").as_string(),
            std::string("\0a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80", 12));
}

TEST(JsonValue, FindSetAndPush) {
  Value value;
  value.set("a", 1).set("b", Value::array()).set("a", "two");
  value.as_object()[1].second.push(true).push(nullptr).push(2.5);
  EXPECT_EQ(dump(value), R"({"a":"two","b":[true,null,2.5]})");
  ASSERT_NE(value.find("b"), nullptr);
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(Value(3).find("a"), nullptr);
  EXPECT_EQ(parsed("[]").find(""), nullptr);
}

TEST(JsonDump, PrettyIndentsByTwo) {
  EXPECT_EQ(dump_pretty(parsed(R"({"a":[1,{}],"b":[]})")),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(JsonDump, EscapesOnlyWhatJsonDemands) {
  EXPECT_EQ(quote(std::string("\x01\x1f\x7f\"\\/\b\f\n\r\t\0\xc3\xa9", 14)),
            "\"\\u0001\\u001f\x7f\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\xc3\xa9\"");
}

TEST(JsonDump, NonFiniteNumbersAreNull) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(dump(Value(inf)), "null");
  EXPECT_EQ(dump(Value(std::nan(""))), "null");
}

TEST(JsonDump, FloatsSurviveARoundTrip) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(parsed(dump(Value(value))).as_double(), value);
    EXPECT_EQ(parsed(dump_python(Value(value), {})).as_double(), value);
  }
}

TEST(JsonPython, FloatsAreSpelledAsReprDoes) {
  // Left: JSON input; right: json.dumps(json.loads(input)) of CPython 3.11.
  const std::pair<const char*, const char*> cases[] = {
      {"1.0", "1.0"},
      {"1.10", "1.1"},
      {"1e5", "100000.0"},
      {"1e15", "1000000000000000.0"},
      {"9999999999999998.0", "9999999999999998.0"},
      {"1e16", "1e+16"},
      {"1.5e300", "1.5e+300"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"1.25e-7", "1.25e-07"},
      {"-0.0", "-0.0"},
      {"0e5", "0.0"},
      {"5e-324", "5e-324"},
      {"123456.789", "123456.789"},
      {"0.1", "0.1"},
      {"3.0e2", "300.0"},
      {"2.5e-5", "2.5e-05"},
      {"-0", "0"},
      {"123456789012345678901234567890", "123456789012345678901234567890"}};
  for (const auto& [input, expected] : cases) EXPECT_EQ(python(input), expected) << input;
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(dump_python(Value(inf), {}), "Infinity");
  EXPECT_EQ(dump_python(Value(-inf), {}), "-Infinity");
  EXPECT_EQ(dump_python(Value(std::nan("")), {}), "NaN");
}

TEST(JsonPython, SeparatorsAndSorting) {
  const char* text = R"({"b":[1,2],"a":{"d":1,"c":"x"},"\ud83d\ude00":0,"\uffee":1,"":2})";
  EXPECT_EQ(python(text),
            "{\"b\": [1, 2], \"a\": {\"d\": 1, \"c\": \"x\"}, \"\xf0\x9f\x98\x80\": 0, "
            "\"\xef\xbf\xae\": 1, \"\": 2}");
  PythonStyle style;
  style.sort_keys = true;
  style.compact = true;
  // By code point: U+FFEE sorts before U+1F600, unlike in UTF-16.
  EXPECT_EQ(
      python(text, style),
      "{\"\":2,\"a\":{\"c\":\"x\",\"d\":1},\"b\":[1,2],\"\xef\xbf\xae\":1,\"\xf0\x9f\x98\x80\":0}");
}

}  // namespace
}  // namespace trine::json
