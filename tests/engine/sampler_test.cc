// The sampler: deterministic, faithful to the distribution, and each filter does what its name
// says.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "trine/sampling.h"

namespace trine {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, 2.0f, 3.0f, -5.0f};

std::map<int32_t, int> counts(SamplingOptions options, const std::vector<float>& logits,
                              int draws) {
  Sampler sampler(options);
  std::map<int32_t, int> seen;
  for (int i = 0; i < draws; ++i) ++seen[sampler.sample(logits)];
  return seen;
}

TEST(Sampler, GreedyTakesTheLowestIdOfTheBest) {
  EXPECT_EQ(counts({}, kLogits, 10), (std::map<int32_t, int>{{1, 10}}));
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  SamplingOptions options{.temperature = 1.0f, .seed = 7};
  Sampler a(options);
  Sampler b(options);
  options.seed = 8;
  Sampler c(options);
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t token = a.sample(kLogits);
    EXPECT_EQ(token, b.sample(kLogits));
    differ += token != c.sample(kLogits) ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(Sampler, FrequenciesFollowTheSoftmaxAtTheTemperature) {
  constexpr int kDraws = 200000;
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    auto seen = counts({.temperature = temperature, .seed = 3}, kLogits, kDraws);
    double total = 0;
    for (const float l : kLogits) total += std::exp(static_cast<double>(l / temperature));
    for (size_t i = 0; i < kLogits.size(); ++i) {
      const double p = std::exp(static_cast<double>(kLogits[i] / temperature)) / total;
      const double deviation = std::sqrt(p * (1 - p) * kDraws);
      EXPECT_NEAR(seen[static_cast<int32_t>(i)], p * kDraws, 5 * deviation + 1)
          << "temperature " << temperature;
    }
  }
}

TEST(Sampler, TopKKeepsTheBestAndPrefersLowIdsOnTies) {
  const auto seen = counts({.temperature = 5.0f, .top_k = 1, .seed = 1}, kLogits, 100);
  EXPECT_EQ(seen, (std::map<int32_t, int>{{1, 100}}));
  const auto three = counts({.temperature = 5.0f, .top_k = 3, .seed = 1}, kLogits, 500);
  EXPECT_EQ(three.size(), 3u);
  EXPECT_EQ(three.count(0) + three.count(4), 0u);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  EXPECT_EQ(counts({.temperature = 1.0f, .top_p = 0.45f}, logits, 300).size(), 1u);
  EXPECT_EQ(counts({.temperature = 1.0f, .top_p = 0.7f}, logits, 300).size(), 2u);
  EXPECT_EQ(counts({.temperature = 1.0f, .top_p = 0.9f}, logits, 300).size(), 3u);
  EXPECT_EQ(counts({.temperature = 1.0f, .top_p = 0.0f}, logits, 300).size(), 1u);
}

TEST(Sampler, MinPDropsWhatIsFarBelowTheBest) {
  const std::vector<float> logits{std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  EXPECT_EQ(counts({.temperature = 1.0f, .min_p = 0.5f}, logits, 300).size(), 2u);
  EXPECT_EQ(counts({.temperature = 1.0f, .min_p = 2.0f}, logits, 300).size(), 1u);
}

TEST(Sampler, HugeLogitsDoNotOverflow) {
  const std::vector<float> logits{3e38f, -3e38f, 2.9e38f};
  EXPECT_EQ(counts({.temperature = 0.01f}, logits, 50), (std::map<int32_t, int>{{0, 50}}));
}

}  // namespace
}  // namespace trine
