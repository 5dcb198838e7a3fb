// What must hold for any text: round trips, no control ids, linear work, several threads at once.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "text/bpe.h"
#include "text/fixtures.h"

namespace trine::test {
namespace {

std::string random_text(std::mt19937* random, size_t pieces) {
  static const std::vector<std::string> kPieces = {" ",
                                                   "  ",
                                                   "\n",
                                                   "\r\n",
                                                   "\t",
                                                   "a",
                                                   "Ab",
                                                   "ABC",
                                                   "don't",
                                                   "'s",
                                                   "'LL",
                                                   "1",
                                                   "23",
                                                   "4567",
                                                   "!",
                                                   "...",
                                                   "\xE4\xBD\xA0",
                                                   "\xE3\x80\x85",
                                                   "\xF0\x9F\x98\x80",
                                                   "\xCC\x81",
                                                   "\xC5\xBF",
                                                   "\xC2\xA0",
                                                   "\x1C",
                                                   "<|open|>",
                                                   "<|end_of_msg|>",
                                                   "[EOS]",
                                                   "<|reserved_token_1800|>",
                                                   "<|op",
                                                   std::string(1, '\0'),
                                                   "\xFF",
                                                   "\xC3",
                                                   "\xE2\x82",
                                                   "\xF0\x9F",
                                                   "\xED\xA0\x80",
                                                   "\xC0\xAF",
                                                   "\xF4\x90\x80\x80"};
  std::uniform_int_distribution<size_t> pick(0, kPieces.size() - 1);
  std::string text;
  for (size_t i = 0; i < pieces; ++i) text += kPieces[pick(*random)];
  return text;
}

std::string decoded(const Tokenizer& t, const std::vector<int32_t>& ids) {
  const Result<std::string> bytes = t.decode_bytes(ids);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return bytes.ok() ? *bytes : "";
}

TEST(TokenizerProperty, DecodingGivesBackAnyBytesAndTextNeverBecomesControl) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(&random, 1 + random() % 40);
    for (const Tokenizer* t : {&golden_tokenizer(), &nano_tokenizer()}) {
      const std::vector<int32_t> ids = t->encode(text);
      EXPECT_EQ(decoded(*t, ids), text);
      for (const int32_t id : ids) ASSERT_FALSE(t->is_control(id)) << json::quote(text);
      EXPECT_EQ(decoded(*t, t->encode(text, true)), text);
    }
  }
}

TEST(TokenizerProperty, EachOfThe256ControlTokensSurvivesARoundTrip) {
  for (const Tokenizer* t : {&golden_tokenizer(), &nano_tokenizer()}) {
    const auto base = static_cast<int32_t>(t->vocab_size() - 256);
    for (int32_t id = base; id < base + 256; ++id) {
      const std::string spelling(t->token_bytes(id));
      ASSERT_FALSE(spelling.empty());
      EXPECT_TRUE(t->is_control(id));
      EXPECT_EQ(t->control_id(spelling), id);
      EXPECT_EQ(t->encode(spelling, true), std::vector<int32_t>{id}) << spelling;
      EXPECT_EQ(decoded(*t, {id}), spelling);
      EXPECT_GT(t->encode(spelling).size(), 1u) << spelling;
    }
    EXPECT_FALSE(t->is_control(base - 1));
    EXPECT_FALSE(t->is_control(base + 256));
  }
}

TEST(TokenizerProperty, TheSlotsOfTheSpecHaveTheirSpellings) {
  const std::vector<std::pair<int32_t, const char*>> slots = {
      {0, "[BOS]"},          {1, "[EOS]"},     {2, "<|end_of_msg|>"},
      {3, "<|open|>"},       {4, "<|close|>"}, {5, "<|sep|>"},
      {8, nullptr},          {9, "[EOT]"},     {18, "<|media_begin|>"},
      {21, "<|media_pad|>"}, {255, "[PAD]"}};
  for (const Tokenizer* t : {&golden_tokenizer(), &nano_tokenizer()}) {
    const auto base = static_cast<int32_t>(t->vocab_size() - 256);
    for (const auto& [slot, spelling] : slots) {
      const std::string expected =
          spelling != nullptr ? spelling : "<|reserved_token_" + std::to_string(base + slot) + "|>";
      EXPECT_EQ(t->token_bytes(base + slot), expected);
    }
  }
}

TEST(TokenizerProperty, AControlTokenIsFoundAfterAnyCharacter) {
  const Tokenizer& t = golden_tokenizer();
  const std::vector<int32_t> ids = t.encode("role=\"user\"<|sep|>x", true);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), t.control_id("<|sep|>")), 1);
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return t.is_control(id); }), 1);
}

// A run of a million: quadratic work would take hours, so that finishing is the assertion.
TEST(TokenizerProperty, AMillionOfOneCharacterTakesLinearTime) {
  for (const char* piece : {"a", "A", " ", "\n", "7", "!", "\t", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80",
                            "\xFF", "\xE2\x82", "<", "<|", "\xCC\x81", "'", "\xC2\xAA", "aA", " \n",
                            "\xC2\xAA"
                            "A"}) {
    const std::string text = repeat(piece, 1000000);
    for (const bool special : {false, true}) {
      if (special && *piece != '<') continue;  // only these begin a control spelling
      const std::vector<int32_t> ids = nano_tokenizer().encode(text, special);
      EXPECT_EQ(decoded(nano_tokenizer(), ids).size(), text.size()) << json::quote(piece);
    }
  }
}

TEST(TokenizerProperty, SeveralThreadsEncodeAtOnce) {
  std::mt19937 random(7);
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> expected;
  for (int i = 0; i < 50; ++i) {
    texts.push_back(random_text(&random, 200));
    expected.push_back(nano_tokenizer().encode(texts.back(), i % 2 == 1));
  }
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < wrong.size(); ++n)
    threads.emplace_back([&, n] {
      for (int round = 0; round < 4; ++round)
        for (size_t i = 0; i < texts.size(); ++i)
          if (nano_tokenizer().encode(texts[i], i % 2 == 1) != expected[i]) ++wrong[n];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(TokenizerProperty, UnknownIdsAreNamedWhenDecoding) {
  const Result<std::string> text = golden_tokenizer().decode_bytes(std::vector<int32_t>{1, 2048});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
  EXPECT_NE(text.status().message().find("2048"), std::string::npos);
  EXPECT_NE(text.status().message().find("0..2047"), std::string::npos);
  EXPECT_FALSE(golden_tokenizer().decode(std::vector<int32_t>{-1}).ok());
  EXPECT_EQ(golden_tokenizer().token_bytes(-1), "");
  EXPECT_EQ(golden_tokenizer().token_bytes(2048), "");
}

// The plain definition of merging, quadratic.
std::vector<int32_t> merge_by_definition(const Vocabulary& v, std::string_view piece) {
  if (v.find(piece) >= 0) return {v.find(piece)};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    size_t best = parts.size();
    int32_t best_rank = INT32_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const int32_t rank = v.find(parts[i] + parts[i + 1]);
      if (rank >= 0 && rank < best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  std::vector<int32_t> ids;
  for (const std::string& part : parts) ids.push_back(v.find(part));
  return ids;
}

TEST(Bpe, TheHeapMergesAsTheDefinitionDoes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const char* folder : {"tests/golden/tok", "models/k3-nano"}) {
    const std::string path = source_path(std::string(folder) + "/tiktoken.model");
    const Result<Vocabulary> v = Vocabulary::parse(slurp(path), path);
    ASSERT_TRUE(v.ok()) << v.status().to_string();
    BpeMerger merger(*v);
    for (int round = 0; round < 3000; ++round) {
      static constexpr std::string_view kLetters = "aeinorst he";
      std::string piece;
      const size_t size = 1 + random() % 30;
      for (size_t i = 0; i < size; ++i) {
        if (round % 3 == 0)
          piece += static_cast<char>(random() % 256);
        else if (round % 3 == 1)
          piece += kLetters[random() % kLetters.size()];
        else
          piece += v->bytes(static_cast<int32_t>(random() % static_cast<uint32_t>(v->size())));
      }
      std::vector<int32_t> ids;
      merger.append_ids(piece, &ids);
      EXPECT_EQ(ids, merge_by_definition(*v, piece)) << json::quote(piece);
    }
  }
}

}  // namespace
}  // namespace trine::test
