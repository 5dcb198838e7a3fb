// The generation loop and stop strings.
#include "trine/generate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trine {
namespace {

std::string golden_model() { return std::string(TRINE_SOURCE_DIR) + "/tests/golden/k3_base/model"; }

TEST(StopMatcher, FindsAStopStringWhereverTheTextIsCut) {
  const std::string text = "one two stop three";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (size_t second = cut; second <= text.size(); ++second) {
      StopMatcher matcher({"stop", "never"});
      std::string out = matcher.push(text.substr(0, cut));
      out += matcher.push(text.substr(cut, second - cut));
      out += matcher.push(text.substr(second));
      out += matcher.finish();
      EXPECT_EQ(out, "one two ");
      EXPECT_TRUE(matcher.stopped());
    }
  }
}

TEST(StopMatcher, HoldsBackOnlyWhatCouldBeAStopString) {
  StopMatcher matcher({"abac"});
  EXPECT_EQ(matcher.push("xab"), "x");
  EXPECT_EQ(matcher.push("ab"), "ab");  // "abab": only the last "ab" can begin "abac"
  EXPECT_EQ(matcher.push("z"), "abz");
  EXPECT_EQ(matcher.push("aba"), "");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.finish(), "aba");
}

TEST(StopMatcher, TakesTheEarliestOfSeveralAndIgnoresEmptyOnes) {
  StopMatcher matcher({"", "cd", "bc"});
  EXPECT_EQ(matcher.push("abcd"), "a");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("more"), "");
  StopMatcher none({""});
  EXPECT_EQ(none.push("abc"), "abc");
}

class Generate : public ::testing::Test {
 protected:
  void SetUp() override {
    LoadOptions options;
    options.context = 64;
    Result<Model> loaded = Model::load(golden_model(), options);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    model_ = std::make_unique<Model>(std::move(loaded).value());
    Result<Sequence> sequence = model_->new_sequence();
    ASSERT_TRUE(sequence.ok());
    sequence_ = std::make_unique<Sequence>(std::move(sequence).value());
  }

  Generation must(const GenerateOptions& options) {
    Sampler sampler{SamplingOptions{}};
    const Result<Generation> out = generate(*model_, sequence_.get(), &sampler, prompt_, options);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out : Generation();
  }

  const std::vector<int32_t> prompt_{166, 304, 53, 389, 53};
  std::unique_ptr<Model> model_;
  std::unique_ptr<Sequence> sequence_;
};

TEST_F(Generate, FillsTheContextAndNotMore) {
  const Generation out = must({});
  EXPECT_EQ(out.finish, FinishReason::kLength);
  // 59 ids fit after the prompt; one more is known without being appended.
  EXPECT_EQ(out.ids.size(), 60u);
  EXPECT_EQ(sequence_->position(), 64);
  EXPECT_EQ(out.prompt_tokens, 5);
}

TEST_F(Generate, StopsAfterAStopId) {
  GenerateOptions options;
  options.max_tokens = 20;
  const std::vector<int32_t> all = must(options).ids;
  ASSERT_EQ(all.size(), 20u);
  options.stop_ids = {all[7]};
  sequence_->reset();
  const Generation out = must(options);
  EXPECT_EQ(out.finish, FinishReason::kStop);
  EXPECT_EQ(out.ids.back(), all[7]);
  EXPECT_LE(out.ids.size(), 8u);
  EXPECT_EQ(sequence_->position(), 5 + static_cast<int64_t>(out.ids.size()) - 1);
}

TEST_F(Generate, ListensToItsCallbacks) {
  GenerateOptions options;
  std::vector<int32_t> seen;
  options.on_token = [&](int32_t id) {
    seen.push_back(id);
    return seen.size() < 3;
  };
  const Generation out = must(options);
  EXPECT_EQ(out.finish, FinishReason::kByCaller);
  EXPECT_EQ(out.ids, seen);
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(Generate, GoesOnFromWhereTheSequenceIs) {
  GenerateOptions options;
  options.max_tokens = 12;
  const std::vector<int32_t> all = must(options).ids;
  sequence_->reset();
  options.max_tokens = 6;
  std::vector<int32_t> halves = must(options).ids;
  Sampler sampler{SamplingOptions{}};
  const std::vector<int32_t> next{halves.back()};
  const Result<Generation> rest = generate(*model_, sequence_.get(), &sampler, next, options);
  ASSERT_TRUE(rest.ok());
  halves.insert(halves.end(), rest->ids.begin(), rest->ids.end());
  EXPECT_EQ(halves, all);
}

TEST_F(Generate, APromptThatDoesNotFitIsAnError) {
  Sampler sampler{SamplingOptions{}};
  const std::vector<int32_t> longer(65, 7);
  const Result<Generation> out = generate(*model_, sequence_.get(), &sampler, longer, {});
  EXPECT_EQ(out.status().code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace trine
