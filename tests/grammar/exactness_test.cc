// Masks against brute force: a token is allowed exactly when some whole text goes on with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "grammar/fixtures.h"
#include "grammar/oracle.h"

namespace trine::test {
namespace {

using grammar::Grammar;
using grammar::Matcher;

constexpr size_t kLength = 6;
constexpr size_t kTokenLength = 3;

std::vector<std::string> all_tokens() {
  std::vector<std::string> tokens = {""};
  for (size_t i = 0; tokens[i].size() < kTokenLength; ++i)
    for (const char c : {'a', 'b', 'c'}) tokens.push_back(tokens[i] + c);
  tokens.push_back("a");    // a second id for the same bytes
  tokens.push_back("abc");  // excluded below
  return tokens;
}

// One grammar: every beginning, every token.
void check(const std::vector<OracleNode>& rules, const GrammarPtr& grammar, const TablePtr& table,
           const std::vector<std::string>& tokens, size_t beginnings_max) {
  const Oracle oracle(rules, kLength);
  size_t checked = 0;
  for (const std::string& begun : oracle.beginnings()) {
    if (begun.size() + kTokenLength > kLength || checked++ >= beginnings_max) continue;
    Matcher matcher(grammar, table);
    ASSERT_TRUE(matcher.accept_bytes(begun).ok()) << to_gbnf(rules) << begun;
    ASSERT_EQ(matcher.can_end(), oracle.is_whole(begun)) << to_gbnf(rules) << begun;
    std::vector<int32_t> expected;
    for (size_t id = 1; id + 1 < tokens.size(); ++id)
      if (oracle.is_beginning(begun + tokens[id])) expected.push_back(static_cast<int32_t>(id));
    ASSERT_EQ(allowed(&matcher, table), expected) << to_gbnf(rules) << "after '" << begun << "'";
    for (const char c : {'a', 'b', 'c', 'd'}) {
      Matcher copy = matcher;
      ASSERT_EQ(copy.accept_bytes({&c, 1}).ok(), oracle.is_beginning(begun + c))
          << to_gbnf(rules) << begun << c;
    }
  }
}

TEST(Exactness, MasksOfRandomGrammarsAreThoseOfBruteForce) {
  const std::vector<std::string> tokens = all_tokens();
  const auto last = static_cast<int32_t>(tokens.size()) - 1;
  const TablePtr table = table_of(tokens, {last});
  const uint32_t seed = 20261201;
  std::mt19937 engine(seed);
  int compiled = 0;
  int left_recursive = 0;
  int empty = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::vector<OracleNode> rules = random_rules(&engine);
    const Result<GrammarPtr> grammar = Grammar::from_gbnf(to_gbnf(rules));
    if (!grammar.ok()) {
      const std::string why = grammar.status().message();
      const bool left = why.find("left recursion") != std::string::npos;
      ASSERT_TRUE(left || why.find("no text at all") != std::string::npos) << why;
      if (!left) {
        ASSERT_TRUE(Oracle(rules, kLength).beginnings().empty()) << to_gbnf(rules);
      }
      (left ? left_recursive : empty)++;
      continue;
    }
    ++compiled;
    check(rules, *grammar, table, tokens, 40);
    if (HasFatalFailure()) FAIL() << "seed " << seed << ", round " << round;
  }
  EXPECT_GT(compiled, 300);
  EXPECT_GT(left_recursive, 50);
  EXPECT_GT(empty, 5);
}

// Where the vocabulary is real, the mask must be what accept() says token by token.
TEST(Exactness, MasksOfARealVocabularyAreWhatAcceptSays) {
  const TablePtr table = nano_table();
  const std::vector<GrammarPtr> grammars = {
      schema_grammar(R"({"type":"object","properties":{"name":{"type":"string","minLength":3,
        "maxLength":200},"tags":{"type":"array","items":{"enum":["red","green","blue"]},
        "maxItems":300},"n":{"type":"number","minimum":-1.5},"d":{"format":"date-time"},
        "free":{}},"required":["name","tags"]})"),
      schema_grammar(R"({"anyOf":[{"type":"array","items":{"type":"string","pattern":"^[a-z]+@"}},
        {"type":"object","additionalProperties":{"$ref":"#"}}]})"),
      gbnf_grammar(
          "root ::= item{2,400}\nitem ::= [a-z]+ (\" \" | \", \") | \"(\" root \")\" \" \"\n")};
  const uint32_t seed = 7;
  std::mt19937 engine(seed);
  for (const GrammarPtr& grammar : grammars) {
    for (int walk = 0; walk < 6; ++walk) {
      Matcher matcher(grammar, table);
      for (int step = 0; step < 25; ++step) {
        const std::vector<int32_t> ids = allowed(&matcher, table);
        if (ids.empty()) {
          ASSERT_TRUE(matcher.can_end()) << "a dead end; seed " << seed;
          break;
        }
        std::vector<int32_t> expected;
        for (int32_t id = 0; id < table->size(); ++id) {
          Matcher copy = matcher;
          if (copy.accept(id).ok()) expected.push_back(id);
        }
        ASSERT_EQ(ids, expected) << "seed " << seed << ", walk " << walk << ", step " << step;
        ASSERT_TRUE(matcher.accept(ids[engine() % ids.size()]).ok());
      }
    }
  }
}

TEST(Exactness, DeepStacksAreFollowedToTheirLimitAndNoFurther) {
  const auto any = Grammar::from_json_mode();
  ASSERT_TRUE(any.ok());
  const TablePtr table =
      table_of({"[", "[[", "[[[[[[[[", "]", "]]", "1", ",", "{\"a\":", "}", "\"", "x"});
  Matcher matcher(*any, table);
  int open = 0;
  for (;; ++open) {
    const std::vector<int32_t> ids = allowed(&matcher, table);
    std::vector<int32_t> expected;
    for (int32_t id = 0; id < table->size(); ++id) {
      Matcher copy = matcher;
      if (copy.accept(id).ok()) expected.push_back(id);
    }
    ASSERT_EQ(ids, expected) << open;
    ASSERT_FALSE(ids.empty());
    if (!std::binary_search(ids.begin(), ids.end(), 0)) break;
    ASSERT_TRUE(matcher.accept(0).ok());
    ASSERT_LT(open, 100);
  }
  EXPECT_GE(open, 60);
  EXPECT_TRUE(matcher.accept_bytes("1").ok());
  EXPECT_TRUE(matcher.accept_bytes(std::string(static_cast<size_t>(open), ']')).ok());
  EXPECT_TRUE(matcher.can_end());
}

}  // namespace
}  // namespace trine::test
