// GBNF text: what llama.cpp reads is read, what is wrong is named with its line.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/fixtures.h"

namespace trine::test {
namespace {

using grammar::Grammar;

struct Case {
  std::string text;
  std::vector<std::string> fit, refused;
};

TEST(Gbnf, ReadsEveryConstruct) {
  const std::vector<Case> cases = {
      {"root ::= \"a\"", {"a"}, {"", "b", "aa"}},
      {"root::=\"a\" |\"b\"|", {"a", "b", ""}, {"ab"}},
      {"# comment\nroot ::= x y # more\nx ::= [a-c]\n\ny ::= [^a-c\\n]\n",
       {"ad", "cz", "b\xC3\xA9"},
       {"aa", "a\n", "d"}},
      {"root ::= (\"a\" | \"b\"\n  \"c\")+ \"d\"?", {"a", "bc", "abcd", "aad"}, {"", "b", "dd"}},
      {"root ::= \"a\"{2} \"b\"{1,} \"c\"{,2} \"d\"{0,1}",
       {"aab", "aabbccd"},
       {"ab", "aa", "aabccc"}},
      {"root ::=\n  \"x\"\n  | \"y\"\n", {"x", "y"}, {"xy"}},
      {"root ::= \"\\\"\\\\\\n\\t\\r\\x41\\u00e9\\U0001F600\"",
       {"\"\\\n\t\rA\xC3\xA9\xF0\x9F\x98\x80"},
       {}},
      {"root ::= [\\x00-\\x1F] [\\]\\-a] .",
       {std::string("\0]z", 3), "\x1F-\n",
        "\x01"
        "a\xF0\x9F\x98\x80"},
       {" ]z", "\x01zz"}},
      {"root ::= [\\u4e00-\\u9fff]+", {"\xE4\xB8\xAD\xE6\x96\x87"}, {"a", "\xE4\xB8"}},
      {"root ::= \"<\" root \">\" | \"\"", {"", "<>", "<<<>>>"}, {"<", "<>>", "<><>"}},
      {"root ::= a-b_1 \"!\"\na-b_1 ::= \"k\"*", {"!", "kkk!"}, {"k"}},
      {"root ::= [0-9]{3,2000}", {"123", std::string(2000, '7')}, {"12", std::string(2001, '7')}},
      {"root ::= (\"ab\"{2,3}){100,200}",
       {std::string(400, 'x').replace(0, 400,
                                      [] {
                                        std::string s;
                                        for (int i = 0; i < 200; ++i) s += "ab";
                                        return s;
                                      }())},
       {"abab"}},
  };
  for (const Case& c : cases) {
    const GrammarPtr g = gbnf_grammar(c.text);
    for (const std::string& text : c.fit) EXPECT_TRUE(accepts(g, text)) << c.text << "\n" << text;
    for (const std::string& text : c.refused)
      EXPECT_FALSE(accepts(g, text)) << c.text << "\n" << text;
  }
}

TEST(Gbnf, ReadsLlamaCppsJsonGrammar) {
  const GrammarPtr g = gbnf_grammar(R"(root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
)");
  EXPECT_TRUE(accepts(g, R"({"a": [1, -2.5e3, "x\u00e9"], "b": {"c": null}})"));
  EXPECT_FALSE(accepts(g, R"(["a"])"));
  EXPECT_FALSE(accepts(g, R"({"a": 01})"));
}

TEST(Gbnf, ErrorsNameTheLineAndTheRule) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "'root'"},
      {"rot ::= \"a\"", "'root'"},
      {"root ::= x\n", "line 1: rule 'x' is not defined"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2: rule 'root' is defined twice"},
      {"root = \"a\"", "expected ::="},
      {"root ::= \"a", "unexpected end"},
      {"root ::= [a", "unexpected end"},
      {"root ::= (\"a\"", "expected ')'"},
      {"root ::= \"a\")", "unexpected ')'"},
      {"root ::= \"\\q\"", "escape '\\q'"},
      {"root ::= \"\\x4\"", "hexadecimal"},
      {"root ::= \"\\ud800\"", "no Unicode character"},
      {"root ::= [b-a]", "out of order"},
      {"root ::= \"a\"{3,2}", "out of order"},
      {"root ::= \"a\"{x}", "expected a number"},
      {"root ::= \"\xFF\"", "not UTF-8"},
      {"root ::= <[123]>", "unexpected '<'"},
      {"root ::= root \"a\" | \"b\"", "left recursion"},
      {"root ::= x root | \"b\"\nx ::= \"a\"?", "left recursion"},
      {"root ::= a\na ::= b \"x\"\nb ::= a | \"y\"", "left recursion"},
      {"root ::= \"a\" root", "no text at all"},
      {"root ::= []", "no text at all"},
  };
  for (const auto& [text, words] : cases) {
    const Result<GrammarPtr> g = Grammar::from_gbnf(text);
    ASSERT_FALSE(g.ok()) << text;
    EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
    EXPECT_NE(g.status().message().find(words), std::string::npos) << text << "\n"
                                                                   << g.status().message();
  }
}

TEST(Gbnf, PatternsOfWholeAnswers) {
  const Result<GrammarPtr> g = Grammar::from_regex("(yes|no)( [a-z]+){0,2}");
  ASSERT_TRUE(g.ok());
  for (const char* text : {"yes", "no way", "yes a b"}) EXPECT_TRUE(accepts(*g, text)) << text;
  for (const char* text : {"", "xyes", "yes a b c", "yes "})
    EXPECT_FALSE(accepts(*g, text)) << text;
  EXPECT_FALSE(Grammar::from_regex("a(?=b)").ok());
}

}  // namespace
}  // namespace trine::test
