// Hostile and damaged tokenizer files: each refused with the place and the reason.
#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "text/control_tokens.h"
#include "text/fixtures.h"

namespace trine::test {
namespace {

std::string base64_of_byte(int byte) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
}

// All single bytes, ranks 0..255, each line ended by `ending`.
std::string bytes_only(const std::string& ending = "\n") {
  std::string file;
  for (int byte = 0; byte < 256; ++byte)
    file += base64_of_byte(byte) + " " + std::to_string(byte) + ending;
  return file;
}

void expect_refused(const std::string& file, const std::vector<std::string>& words) {
  const Result<Vocabulary> v = Vocabulary::parse(file, "tiktoken.model");
  ASSERT_FALSE(v.ok()) << words[0];
  EXPECT_EQ(v.status().code(), Code::kCorrupt);
  EXPECT_EQ(v.status().message().rfind("tiktoken.model", 0), 0u);
  for (const std::string& word : words)
    EXPECT_NE(v.status().message().find(word), std::string::npos) << v.status().message();
}

TEST(Vocabulary, ReadsLinesInAnyOrderOfRanksAndWithAnyLineEnd) {
  for (const std::string& ending : {std::string("\n"), std::string("\r\n"), std::string("\n\n")}) {
    const Result<Vocabulary> v = Vocabulary::parse("YWI= 256\n" + bytes_only(ending), "f");
    ASSERT_TRUE(v.ok()) << v.status().to_string();
    EXPECT_EQ(v->size(), 257);
    EXPECT_EQ(v->find("ab"), 256);
    EXPECT_EQ(v->bytes(256), "ab");
    EXPECT_EQ(v->find("b"), 98);
    EXPECT_EQ(v->find("abc"), -1);
    EXPECT_EQ(v->find(""), -1);
  }
}

TEST(Vocabulary, RefusesLinesThatAreNotATokenAndARank) {
  expect_refused(bytes_only() + "YWI=\n", {"line 257", "without a rank"});
  expect_refused(bytes_only() + "Y*I= 256\n", {"line 257", "base64"});
  expect_refused(bytes_only() + "YWI 256\n", {"line 257", "base64"});
  expect_refused(bytes_only() + "YWJ= 256\n", {"line 257", "base64"});  // stray bits
  expect_refused(bytes_only() + "Y=I= 256\n", {"line 257", "base64"});
  expect_refused(bytes_only() + "==== 256\n", {"line 257", "base64"});
  expect_refused(bytes_only() + " 256\n", {"line 257", "base64"});
  for (const char* rank :
       {"", "-1", "x", "256 ", "25 6", "+256", "99999999999999999999", "0x100", "2.5"})
    expect_refused(bytes_only() + "YWI= " + rank + "\n", {"line 257", "rank"});
  expect_refused(std::string(100, '\0'), {"line 1", "without a rank"});
}

TEST(Vocabulary, RefusesGapsAndRepetitions) {
  expect_refused(bytes_only() + "YWI= 257\n", {"line 257", "rank 257", "257 tokens", "missing"});
  expect_refused(bytes_only() + "YWI= 9\n", {"line 257", "rank 9", "line 10"});
  expect_refused(bytes_only() + "YQ== 256\n", {"line 257", "same bytes as rank 97"});
}

TEST(Vocabulary, RefusesAFileWithoutAllSingleBytes) {
  expect_refused("", {"single byte 0", "among 0"});
  std::string file = bytes_only();
  file.resize(file.size() - 9);  // the last line: 255
  expect_refused(file, {"single byte 255", "among 255"});
}

TEST(Vocabulary, RefusesWhatIsTooLargeBeforeWorkingOnIt) {
  expect_refused(bytes_only() + repeat("YWJj", 2000) + " 256\n", {"line 257", "6000 bytes"});
  expect_refused(std::string(static_cast<size_t>(kVocabularyFileBytesMax) + 1, 'A'), {"at most"});
}

void expect_config_refused(const std::string& config, const std::vector<std::string>& words) {
  const Result<ControlTokens> c = ControlTokens::parse(config, 256, "tokenizer_config.json");
  ASSERT_FALSE(c.ok()) << config;
  EXPECT_EQ(c.status().code(), Code::kCorrupt);
  for (const std::string& word : words)
    EXPECT_NE(c.status().message().find(word), std::string::npos) << c.status().message();
}

TEST(ControlTokens, RefusesConfigsThatDoNotFitTheVocabulary) {
  expect_config_refused("{", {"tokenizer_config.json"});
  expect_config_refused("[]", {"added_tokens_decoder"});
  expect_config_refused("{}", {"added_tokens_decoder"});
  expect_config_refused(R"({"added_tokens_decoder": [1]})", {"added_tokens_decoder"});
  expect_config_refused(R"({"added_tokens_decoder": {"x": {"content": "a"}}})", {"\"x\"", "no id"});
  expect_config_refused(R"({"added_tokens_decoder": {"256": {"content": 1}}})",
                        {"\"256\"", "content"});
  expect_config_refused(R"({"added_tokens_decoder": {"256": {"content": ""}}})",
                        {"\"256\"", "0 bytes"});
  expect_config_refused(R"({"added_tokens_decoder": {"255": {"content": "a"}}})", {"256..511"});
  expect_config_refused(R"({"added_tokens_decoder": {"512": {"content": "a"}}})", {"256..511"});
  expect_config_refused(
      R"({"added_tokens_decoder": {"256": {"content": "a"}, "257": {"content": "a"}}})",
      {"\"a\"", "two ids"});
  expect_config_refused(
      R"({"added_tokens_decoder": {"256": {"content": "<|reserved_token_300|>"}}})", {"two ids"});
  expect_config_refused(
      R"({"added_tokens_decoder": {"256": {"content": "a"}, "0256": {"content": "b"}}})",
      {"twice"});
}

TEST(ControlTokens, FindsTheLongestSpelling) {
  const Result<ControlTokens> c = ControlTokens::parse(
      R"({"added_tokens_decoder": {"256": {"content": "ab"}, "257": {"content": "abcd"},
          "258": {"content": "b"}}})",
      256, "f");
  ASSERT_TRUE(c.ok()) << c.status().to_string();
  EXPECT_EQ(c->match_prefix("abcde").id, 257);
  EXPECT_EQ(c->match_prefix("abcde").bytes, 4u);
  EXPECT_EQ(c->match_prefix("abcx").id, 256);
  EXPECT_EQ(c->match_prefix("ab").id, 256);
  EXPECT_EQ(c->match_prefix("a").id, -1);
  EXPECT_EQ(c->match_prefix("").id, -1);
  EXPECT_EQ(c->match_prefix("bb").id, 258);
  EXPECT_EQ(c->find("abcd"), 257);
  EXPECT_EQ(c->find("abc"), -1);
  EXPECT_EQ(c->find("<|reserved_token_511|>"), 511);
  EXPECT_EQ(c->find("<|reserved_token_512|>"), -1);
}

TEST(TokenizerLoad, NamesTheFileThatIsMissing) {
  trine::testing::TempDir folder;
  Result<Tokenizer> t = Tokenizer::load(folder.path());
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.status().code(), Code::kNotFound);
  EXPECT_NE(t.status().message().find("tiktoken.model"), std::string::npos);
  folder.write("tiktoken.model", bytes_only());
  t = Tokenizer::load(folder.path());
  ASSERT_FALSE(t.ok());
  EXPECT_NE(t.status().message().find("tokenizer_config.json"), std::string::npos);
  folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {}})");
  t = Tokenizer::load(folder.path());
  ASSERT_TRUE(t.ok()) << t.status().to_string();
  EXPECT_EQ(t->vocab_size(), 512);
  EXPECT_EQ(t->encode("hi"), (std::vector<int32_t>{'h', 'i'}));
}

}  // namespace
}  // namespace trine::test
