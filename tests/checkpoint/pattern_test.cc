// Patterns of quantisation configs against what Python's re.match says.
#include "checkpoint/pattern.h"

#include <gtest/gtest.h>

#include "checkpoint/quant_config.h"
#include "support/finding_checks.h"

namespace trine::testing {
namespace {

using checkpoint::Pattern;

struct Case {
  const char* pattern;
  const char* text;
  bool match;
};

TEST(Pattern, MatchesAsPythonDoes) {
  const Case cases[] = {
      {"", "", true},
      {"", "abc", true},
      {"abc", "abcdef", true},  // from the beginning, not to the end
      {"abc", "xabc", false},
      {".*self_attn.*", "model.layers.0.self_attn.q_proj", true},
      {".*self_attn.*", "model.layers.0.mlp.up_proj", false},
      {R"(.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlp.gate_up_proj", true},
      {R"(.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlpXgate_proj", false},
      {R"(.*mlp\.(gate|up|gate_up|down)_proj.*)", "m.mlp.side_proj", false},
      {R"(model\.layers\.\d+\.mlp)", "model.layers.12.mlp.x", true},
      {R"(model\.layers\.\d+\.mlp)", "model.layers..mlp.x", false},
      {"^lm_head$", "lm_head", true},
      {"^lm_head$", "lm_head.x", false},
      {"a$b", "a$b", false},
      {"a|b", "b", true},
      {"a|", "x", true},
      {"(a|b|cd)e", "cde", true},
      {"(a|b|cd)e", "ce", false},
      {"((a|b)(c|d))+$", "acbdad", true},
      {"((a|b)(c|d))+$", "acbda", false},
      {"(?:ab)*c", "ababc", true},
      {"(?:ab)*c", "abac", false},
      {"a?b", "b", true},
      {"a+b", "b", false},
      {"a{2}$", "aa", true},
      {"a{2}$", "aaa", false},
      {"a{2,}$", "aaaa", true},
      {"a{1,3}$", "aaaa", false},
      {"a{0,2}b", "b", true},
      {"(ab){2,3}c", "abababc", true},
      {"(a|bc){2}d", "bcad", true},
      {"[abc]+$", "cab", true},
      {"[a-c0-9]+$", "a5d", false},
      {"[^/]+$", "a/b", false},
      {"[]a]+$", "]a]", true},
      {"[a-]+$", "a-", true},
      {R"([\w.]+$)", "a.b_9", true},
      {R"(\D\W\S)", "a-b", true},
      {R"(\.\*\\)", ".*\\", true},
      {".", "\n", false},
      {".*?x", "aax", true},
      {"(a*)*$", "aaaa", true},
      {"(a|a?)+b", "aaab", true},
      {"()*a", "a", true},
  };
  for (const Case& c : cases) {
    Result<Pattern> pattern = Pattern::compile(c.pattern);
    ASSERT_TRUE(pattern.ok()) << pattern.status().to_string();
    EXPECT_EQ(pattern->match(c.text), c.match) << c.pattern << " on " << c.text;
  }
}

TEST(Pattern, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"(?!x)", "(?=x)",  "(?<n>x)", "(?P<n>x)", "(?i)x", "a**",    "*",
                           "+a",    "(a",     "a)",      "[a",       "a\\",   R"(\b)",  R"((a)\1)",
                           "a{2",   "a{3,2}", "a{,2}",   "a{999}",   "[z-a]", R"(\x41)"}) {
    const auto pattern = Pattern::compile(text);
    EXPECT_EQ(pattern.status().code(), Code::kUnsupported) << text;
  }
}

TEST(Pattern, IsBoundedForHostileSources) {
  EXPECT_FALSE(Pattern::compile(std::string(5000, 'a')).ok());
  EXPECT_FALSE(Pattern::compile(std::string(2000, '(')).ok());
  EXPECT_FALSE(Pattern::compile("((((a{250}){250}){250}){250})").ok());
  // Exponential for a backtracking matcher.
  const auto pattern = Pattern::compile("(a|aa|a*)*(a|aa)*(a*)*b");
  ASSERT_TRUE(pattern.ok());
  EXPECT_FALSE(pattern->match(std::string(5000, 'a')));
}

checkpoint::QuantConfig parse(const std::string& text, checkpoint::Findings* findings) {
  const Result<json::Value> value = json::parse(text, "test");
  EXPECT_TRUE(value.ok());
  return checkpoint::QuantConfig::parse(&*value, "config.json", findings);
}

TEST(QuantConfig, ResolvesNamesThenPatternsThenClasses) {
  checkpoint::Findings findings;
  const auto config = parse(R"({"quant_method":"compressed-tensors","format":"pack-quantized",
    "ignore":["lm_head","re:.*gate$"],"config_groups":{
      "wide":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int","group_size":128}},
      "mine":{"targets":["re:.*experts.*"],"weights":{"num_bits":4,"type":"int","group_size":32}},
      "one":{"format":"float-quantized","targets":["m.experts.0.w1"],
             "weights":{"num_bits":8,"type":"float"}}}})",
                            &findings);
  EXPECT_TRUE(findings.empty()) << all_findings(findings);
  const auto group = [&](const char* module, const char* type) {
    const checkpoint::QuantScheme* scheme = config.resolve(module, type);
    return scheme == nullptr ? std::string() : scheme->group;
  };
  EXPECT_EQ(group("m.experts.0.w1", "Linear"), "one");
  EXPECT_EQ(group("m.experts.0.w2", "Linear"), "mine");
  EXPECT_EQ(group("m.mlp.up_proj", "Linear"), "wide");
  EXPECT_EQ(group("m.embed", "Embedding"), "");
  EXPECT_EQ(group("lm_head", "Linear"), "");
  EXPECT_EQ(group("m.gate", "Linear"), "");
  EXPECT_EQ(group("m.gate.x", "Linear"), "wide");
  EXPECT_EQ(config.resolve("m.mlp.up_proj", "Linear")->format, "pack-quantized");
}

TEST(QuantConfig, TakesAPatternItCannotReadAsANote) {
  checkpoint::Findings findings;
  parse(R"({"quant_method":"compressed-tensors","format":"pack-quantized","ignore":["re:^(?!x).*"],
           "config_groups":{"g":{"targets":["Linear"]}}})",
        &findings);
  EXPECT_EQ(count_findings(findings, "pattern-unsupported", "look-around"), 1);
  EXPECT_FALSE(has_errors(findings));
}

TEST(QuantConfig, ReadsDeepSeekFp8) {
  checkpoint::Findings findings;
  const auto config = parse(R"({"quant_method":"fp8","weight_block_size":[64,128],
                               "modules_to_not_convert":["lm_head"]})",
                            &findings);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(config.resolve("x", "Linear")->block_out, 64);
  EXPECT_EQ(config.resolve("x", "Linear")->block_in, 128);
  EXPECT_EQ(config.resolve("lm_head", "Linear"), nullptr);
}

}  // namespace
}  // namespace trine::testing
