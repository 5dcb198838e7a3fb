// Matchers: copies, forced text, excluded tokens, sharing between threads, and bounds on the work.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "grammar/fixtures.h"

namespace trine::test {
namespace {

using grammar::Grammar;
using grammar::Matcher;

TEST(Matcher, RefusedTokensChangeNothing) {
  const TablePtr table = table_of({"a", "b", "ab", "<eos>", ""}, {3});
  Matcher m(gbnf_grammar("root ::= \"ab\" \"ab\"? | \"<eos>\""), table);
  EXPECT_EQ(allowed(&m, table), (std::vector<int32_t>{0, 2}));
  for (const int32_t id : {1, 3, 4, 5, -1})
    EXPECT_EQ(m.accept(id).code(), Code::kInvalidArgument) << id;
  EXPECT_FALSE(m.can_end());
  ASSERT_TRUE(m.accept(2).ok());
  EXPECT_TRUE(m.can_end());
  EXPECT_FALSE(m.accept_bytes("aa").ok());
  EXPECT_TRUE(m.can_end());
  ASSERT_TRUE(m.accept_bytes("ab").ok());
  EXPECT_TRUE(allowed(&m, table).empty());
  EXPECT_TRUE(m.can_end());
}

TEST(Matcher, CopiesGoTheirOwnWay) {
  const TablePtr table = byte_table();
  Matcher m(schema_grammar(R"({"enum":["left","right"]})"), table);
  ASSERT_TRUE(m.accept_bytes("\"").ok());
  const Matcher saved = m;
  ASSERT_TRUE(m.accept_bytes("left\"").ok());
  EXPECT_TRUE(m.can_end());
  m = saved;
  ASSERT_TRUE(m.accept_bytes("right\"").ok());
  EXPECT_TRUE(m.can_end());
}

TEST(Matcher, ForcedTextIsWhatEveryAnswerSays) {
  grammar::SchemaOptions compact;
  compact.white_space = grammar::WhiteSpace::kCompact;
  const GrammarPtr g = schema_grammar(
      R"({"type":"object","properties":{"name":{"enum":["Ada","Adam"]},"ok":{"type":"boolean"}},
          "required":["name","ok"],"additionalProperties":false})",
      compact);
  Matcher m(g, byte_table());
  EXPECT_EQ(m.forced_bytes(), R"({"name":"Ada)");
  EXPECT_EQ(m.forced_bytes(3), R"({"n)");
  ASSERT_TRUE(m.accept_bytes(m.forced_bytes()).ok());
  EXPECT_EQ(m.forced_bytes(), "");
  ASSERT_TRUE(m.accept_bytes("\"").ok());
  EXPECT_EQ(m.forced_bytes(), ",\"ok\":");
  ASSERT_TRUE(m.accept_bytes(",\"ok\":t").ok());
  EXPECT_EQ(m.forced_bytes(), "rue}");
  ASSERT_TRUE(m.accept_bytes("rue}").ok());
  EXPECT_EQ(m.forced_bytes(), "");
  EXPECT_TRUE(m.can_end());
}

TEST(Matcher, ShortMasksAreRefused) {
  const TablePtr table = byte_table();
  Matcher m(schema_grammar("{}"), table);
  std::vector<uint64_t> bits(3);
  EXPECT_EQ(m.fill_mask(bits).code(), Code::kInvalidArgument);
  std::vector<uint64_t> longer(8, ~uint64_t{0});
  EXPECT_TRUE(m.fill_mask(longer).ok());
  for (size_t w = 4; w < 8; ++w) EXPECT_EQ(longer[w], 0u);
}

TEST(Matcher, ManyThreadsShareOneGrammar) {
  const TablePtr table = nano_table();
  const GrammarPtr g = schema_grammar(
      R"({"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},
          "b":{"type":"number","minimum":0}}}})");
  const std::string text = R"([{"a": "some words here", "b": 12.5}, {"b": 0.25}])";
  const auto follow = [&] {
    std::vector<std::vector<int32_t>> masks;
    Matcher m(g, table);
    for (const char c : text) {
      masks.push_back(allowed(&m, table));
      EXPECT_TRUE(m.accept_bytes({&c, 1}).ok());
    }
    return masks;
  };
  std::vector<std::vector<std::vector<int32_t>>> results(4);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (auto& result : results) threads.emplace_back([&] { result = follow(); });
  for (std::thread& t : threads) t.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(follow(), results[0]);
}

TEST(Matcher, PreparedMasksAreTheSame) {
  const TablePtr table = nano_table();
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"string"},
      "b":{"type":"string","minLength":2,"maxLength":400},"c":{"type":"string","maxLength":3}}})";
  const GrammarPtr prepared = schema_grammar(schema);
  prepared->prepare(table);
  prepared->prepare(table);
  Matcher x(prepared, table);
  Matcher y(schema_grammar(schema), table);
  for (const char c : std::string(R"({"a": "some", "b": "text", "c": "abc"})")) {
    EXPECT_EQ(allowed(&x, table), allowed(&y, table));
    ASSERT_TRUE(x.accept_bytes({&c, 1}).ok());
    ASSERT_TRUE(y.accept_bytes({&c, 1}).ok());
  }
  EXPECT_TRUE(x.can_end());
}

TEST(Matcher, SeveralVocabulariesOfOneGrammar) {
  const GrammarPtr g = gbnf_grammar("root ::= [a-z]+");
  for (int n = 1; n < 9; ++n) {
    std::vector<std::string> tokens;
    tokens.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) tokens.emplace_back(1, static_cast<char>('a' + i));
    const TablePtr table = table_of(tokens);
    Matcher m(g, table);
    EXPECT_EQ(allowed(&m, table).size(), static_cast<size_t>(n));
  }
}

// Pathological requests. Their limits are counts of states and steps, so the outcome is the same on
// every machine: compiled with few states, or refused by name.
TEST(Limits, LargeCountsCostNothing) {
  EXPECT_LT(schema_grammar(R"({"type":"array","maxItems":1000000000,"minItems":999999999,
      "items":{"type":"string","maxLength":1000000000}})")
                ->state_count(),
            400);
  EXPECT_LT(gbnf_grammar("root ::= ([a-z]{1,1000000} \" \"){1,1000000}")->state_count(), 100);
  const GrammarPtr g = schema_grammar(R"({"type":"string","minLength":300,"maxLength":100000})");
  EXPECT_TRUE(accepts(g, '"' + std::string(300, 'x') + '"'));
  EXPECT_TRUE(accepts(g, '"' + std::string(100000, 'x') + '"'));
  EXPECT_FALSE(accepts(g, '"' + std::string(299, 'x') + '"'));
  EXPECT_FALSE(accepts(g, '"' + std::string(100001, 'x') + '"'));
}

TEST(Limits, LargeEnumsWork) {
  std::string schema = R"({"enum":[)";
  for (int i = 0; i < 100'000; ++i) schema += (i > 0 ? ",\"v" : "\"v") + std::to_string(i) + '"';
  const GrammarPtr g = schema_grammar(schema + "]}");
  EXPECT_TRUE(accepts(g, "\"v99999\""));
  EXPECT_FALSE(accepts(g, "\"v100000\""));
}

TEST(Limits, WhatUnfoldsTooFarIsRefused) {
  // 8^8 alternatives.
  std::string any = R"({"anyOf":[)";
  for (int i = 0; i < 8; ++i)
    any += (i > 0 ? "," : "") + std::string(R"({"required":["k)") + std::to_string(i) + R"("]})";
  std::string all = R"({"allOf":[)";
  for (int i = 0; i < 8; ++i) all += (i > 0 ? "," : "") + any + "]}";
  EXPECT_NE(schema_error(all + "]}").find("alternatives"), std::string::npos);
  // Every level doubles.
  std::string defs = R"({"$defs":{"d0":{"type":"null"})";
  for (int i = 1; i < 26; ++i) {
    const std::string below = R"({"$ref":"#/$defs/d)" + std::to_string(i - 1) + R"("})";
    defs += R"(,"d)" + std::to_string(i) + R"(":{"allOf":[)" + below + "," + below + "]}";
  }
  EXPECT_NE(schema_error(defs + R"(},"$ref":"#/$defs/d25"})").find("too much work"),
            std::string::npos);
  for (const char* pattern : {"^(a|b)*a(a|b){30}$", "((a{100}){100}){100}", "(x{1,900}){1,900}"})
    EXPECT_NE(schema_error(R"({"pattern":")" + std::string(pattern) + "\"}").find("pattern"),
              std::string::npos)
        << pattern;
  EXPECT_NE(
      schema_error(R"({"pattern":"^[a-z0-9]+-[a-z0-9]+$","maxLength":100000})").find("maxLength"),
      std::string::npos);
  const std::string deep_group =
      "root ::= " + std::string(200, '(') + "\"a\"" + std::string(200, ')');
  EXPECT_FALSE(Grammar::from_gbnf(deep_group).ok());
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 30; ++i)
    doubling += "r" + std::to_string(i) + " ::= (r" + std::to_string(i + 1) + " r" +
                std::to_string(i + 1) + "){3}\n";
  EXPECT_LT(gbnf_grammar(doubling + "r30 ::= \"a\"")->state_count(), 20000);
}

// Each a may open an e, close one or end one: as many readings as there are numbers, in one set.
// The stacks stay within the limit however long the text is.
TEST(Limits, AmbiguityIsFollowedTogether) {
  const GrammarPtr g = gbnf_grammar("root ::= e{1,}\ne ::= \"a\" | \"a\" e | \"b\" e \"a\" e?\n");
  const TablePtr table = table_of({"a", "b", "aa", "ba", "c"});
  Matcher m(g, table);
  for (int i = 0; i < 3000; ++i) {
    const Status status = m.accept_bytes(i % 3 == 0 ? "b" : "a");
    ASSERT_TRUE(status.ok()) << i << ": " << status.message();
  }
  EXPECT_EQ(allowed(&m, table), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(m.can_end());
}

// At its own limit a rule that only closes what it opened can still be finished.
TEST(Limits, DeepRecursionCanAlwaysBeFinished) {
  const GrammarPtr g = gbnf_grammar("root ::= \"(\" root \")\" | \"[\" root \"]\" | \"x\"");
  const TablePtr table = table_of({"(", "[", ")", "]", "x", "((((((((", "))))"});
  Matcher m(g, table);
  int open = 0;
  while (m.accept(0).ok()) ASSERT_LT(++open, 1000);
  EXPECT_GE(open, 250);
  EXPECT_EQ(allowed(&m, table), (std::vector<int32_t>{4}));
  ASSERT_TRUE(m.accept(4).ok());
  while (m.accept(2).ok()) --open;
  EXPECT_EQ(open, 0);
  EXPECT_TRUE(m.can_end());
}

}  // namespace
}  // namespace trine::test
