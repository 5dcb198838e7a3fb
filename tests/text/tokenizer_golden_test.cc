// Ids of the golden cases (computed with tiktoken) and of more cases found by comparing with it.
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include "text/fixtures.h"

namespace trine::test {
namespace {

std::string text_of_long_case(const std::string& name) {
  if (name == "25001 a") return repeat("a", 25001);
  if (name == "25000 spaces + x") return repeat(" ", 25000) + "x";
  ADD_FAILURE() << "unknown long case " << name;
  return "";
}

std::string sha256_of(const std::vector<int32_t>& ids) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(ids.data()), ids.size() * sizeof(int32_t), digest);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string from_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t value = kDigits.find(c);
    if (value == std::string::npos) break;
    held = (held << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) out += static_cast<char>((held >> (bits -= 8)) & 0xFF);
  }
  return out;
}

TEST(TokenizerGolden, EveryCaseHasTheIdsOfTheReference) {
  const json::Value file = read_json("tests/golden/tokenizer.json");
  ASSERT_EQ(file.find("cases")->as_array().size(), 68u);
  for (const json::Value& c : file.find("cases")->as_array()) {
    const std::string& text = c.find("text")->as_string();
    EXPECT_EQ(golden_tokenizer().encode(text), ids_of(*c.find("ids"))) << json::quote(text);
    EXPECT_EQ(golden_tokenizer().encode(text, true), ids_of(*c.find("ids_special")))
        << json::quote(text);
  }
}

TEST(TokenizerGolden, LongRunsAreCutWhereTheReferenceCutsThem) {
  const json::Value file = read_json("tests/golden/tokenizer.json");
  ASSERT_FALSE(file.find("long_cases")->as_array().empty());
  for (const json::Value& c : file.find("long_cases")->as_array()) {
    const std::string& name = c.find("name")->as_string();
    const std::vector<int32_t> ids = golden_tokenizer().encode(text_of_long_case(name));
    int64_t count = 0;
    ASSERT_TRUE(c.find("count")->to_int64(&count));
    EXPECT_EQ(static_cast<int64_t>(ids.size()), count) << name;
    EXPECT_EQ(sha256_of(ids), c.find("sha256_u32le")->as_string()) << name;
  }
}

TEST(TokenizerGolden, DecodingGivesTheBytesAndTheText) {
  const json::Value file = read_json("tests/golden/tokenizer.json");
  ASSERT_EQ(file.find("decode")->as_array().size(), 12u);
  for (const json::Value& c : file.find("decode")->as_array()) {
    const std::vector<int32_t> ids = ids_of(*c.find("ids"));
    const Result<std::string> bytes = golden_tokenizer().decode_bytes(ids);
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    EXPECT_EQ(*bytes, from_base64(c.find("bytes_b64")->as_string()));
    const Result<std::string> text = golden_tokenizer().decode(ids);
    ASSERT_TRUE(text.ok()) << text.status().to_string();
    EXPECT_EQ(*text, c.find("text")->as_string());
  }
}

// tokenizer_more.json: random mixes of scripts, blanks, contractions and control spellings, with
// the ids that tiktoken 0.14 gives them under both committed vocabularies.
TEST(TokenizerGolden, RandomMixesHaveTheIdsOfTheReferenceUnderBothVocabularies) {
  const json::Value file = read_json("tests/text/tokenizer_more.json");
  for (const char* folder : {"tests/golden/tok", "models/k3-nano"}) {
    const Tokenizer& t =
        std::string(folder) == "models/k3-nano" ? nano_tokenizer() : golden_tokenizer();
    const json::Value* cases = file.find(folder);
    ASSERT_NE(cases, nullptr);
    ASSERT_GE(cases->as_array().size(), 300u);
    for (const json::Value& c : cases->as_array()) {
      const std::string& text = c.find("text")->as_string();
      EXPECT_EQ(t.encode(text), ids_of(*c.find("ids"))) << folder << " " << json::quote(text);
      EXPECT_EQ(t.encode(text, true), ids_of(*c.find("ids_special")))
          << folder << " " << json::quote(text);
    }
  }
}

}  // namespace
}  // namespace trine::test
