// The chooser against a twin that sorts the whole vocabulary and sums in double; draws that depend
// on seed and number alone; logprobs against long double.
#include "serving/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "serving/logprobs.h"

namespace trine::serving {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

bool bit(const std::vector<uint64_t>& mask, size_t id) { return mask[id / 64] >> (id % 64) & 1; }

// What the header of request.h says, in the plainest way.
struct Twin {
  SamplingParams params;
  std::vector<int32_t> prompt;
  std::vector<int32_t> answer;

  struct Candidate {
    double logit;
    int32_t id;
    double p;
  };

  std::vector<Candidate> kept(const std::vector<float>& logits, const std::vector<uint64_t>& mask,
                              const std::vector<int32_t>& forbidden) const {
    std::vector<Candidate> all;
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto id = static_cast<int32_t>(i);
      if (!mask.empty() && !bit(mask, i)) continue;
      if (std::count(forbidden.begin(), forbidden.end(), id) > 0) continue;
      double x = static_cast<double>(logits[i]);
      const auto times = static_cast<double>(std::count(answer.begin(), answer.end(), id));
      const double r = static_cast<double>(params.repetition_penalty);
      if (times > 0 || std::count(prompt.begin(), prompt.end(), id) > 0) x = x > 0 ? x / r : x * r;
      if (times > 0)
        x -= static_cast<double>(params.presence_penalty) +
             times * static_cast<double>(params.frequency_penalty);
      // Steps round to float, as logits are floats.
      for (const auto& [biased, bias] : params.logit_bias)
        if (biased == id)
          x = static_cast<double>(static_cast<float>(x)) + static_cast<double>(bias);
      const auto logit = static_cast<double>(static_cast<float>(x));
      if (std::isfinite(logit)) all.push_back({logit, id, 0});
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    });
    if (all.empty() || params.temperature == 0.0f) return all;
    const double best = all[0].logit;
    for (Candidate& c : all)
      c.p = std::exp((c.logit - best) / static_cast<double>(params.temperature));
    if (params.top_k > 0 && static_cast<size_t>(params.top_k) < all.size())
      all.resize(static_cast<size_t>(params.top_k));
    double total = 0;
    for (const Candidate& c : all) total += c.p;
    if (params.top_p < 1.0f) {
      double sum = 0;
      size_t n = 0;
      while (n < all.size() && sum < static_cast<double>(params.top_p) * total) sum += all[n++].p;
      all.resize(n);
    }
    std::erase_if(all, [&](const Candidate& c) { return c.p < static_cast<double>(params.min_p); });
    return all;
  }

  int32_t choose(const std::vector<float>& logits, const std::vector<uint64_t>& mask,
                 const std::vector<int32_t>& forbidden) const {
    const std::vector<Candidate> all = kept(logits, mask, forbidden);
    if (all.empty()) return -1;
    if (params.temperature == 0.0f) return all[0].id;
    double total = 0;
    for (const Candidate& c : all) total += c.p;
    double left = static_cast<double>(random_bits(params.seed, answer.size())) * 0x1p-64 * total;
    for (const Candidate& c : all) {
      left -= c.p;
      if (left < 0) return c.id;
    }
    return all.back().id;
  }
};

struct Case {
  Twin twin;
  std::vector<float> logits;
  std::vector<uint64_t> mask;
  std::vector<int32_t> forbidden;
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(engine_); }
  float real(double low, double high) {
    return static_cast<float>(std::uniform_real_distribution<double>(low, high)(engine_));
  }
  float normal(double deviation) {
    return static_cast<float>(std::normal_distribution<double>(0, deviation)(engine_));
  }
  bool coin() { return below(2) == 0; }

  Case make(int64_t size_max) {
    Case c;
    const auto size = static_cast<size_t>(1 + below(size_max));
    const double deviation = std::exp(static_cast<double>(real(-3, 3)));
    const bool coarse = coin();  // many ties
    for (size_t i = 0; i < size; ++i) {
      const float x = normal(deviation);
      c.logits.push_back(coarse ? std::round(x * 2) / 2 : x);
    }
    const auto id = [&] { return static_cast<int32_t>(below(static_cast<int64_t>(size))); };
    SamplingParams& p = c.twin.params;
    p.temperature = below(6) == 0 ? 0.0f : real(0.05, 2);
    if (coin()) p.top_p = real(0.01, 1);
    if (coin()) p.top_k = 1 + below(static_cast<int64_t>(size) + 3);
    if (coin()) p.min_p = real(0, 0.5);
    if (coin()) p.repetition_penalty = real(0.5, 2);
    if (coin()) p.presence_penalty = real(-2, 2);
    if (coin()) p.frequency_penalty = real(-2, 2);
    for (int64_t i = below(4); i > 0; --i) p.logit_bias.emplace_back(id(), real(-100, 100));
    p.seed = static_cast<uint64_t>(below(1000));
    for (int64_t i = below(8); i > 0; --i) c.twin.prompt.push_back(id());
    for (int64_t i = below(8); i > 0; --i) c.twin.answer.push_back(id());
    for (int64_t i = below(3); i > 0; --i) c.forbidden.push_back(id());
    if (coin()) {
      c.mask.resize((size + 63) / 64);
      const int64_t share = 1 + below(20);
      for (size_t i = 0; i < size; ++i)
        if (below(share) == 0) c.mask[i / 64] |= uint64_t{1} << (i % 64);
    }
    return c;
  }

 private:
  std::mt19937_64 engine_;
};

TokenChooser chooser_of(const Twin& twin) {
  TokenChooser chooser(twin.params, twin.prompt);
  for (const int32_t id : twin.answer) chooser.accept(id);
  return chooser;
}

int32_t once(const SamplingParams& params, std::vector<float> logits,
             const std::vector<uint64_t>& mask = {}, const std::vector<int32_t>& forbidden = {}) {
  return TokenChooser(params, {}).choose(logits, mask, forbidden);
}

std::map<int32_t, int64_t> histogram(const SamplingParams& params, std::vector<float> logits,
                                     int64_t draws) {
  TokenChooser chooser(params, {});
  std::map<int32_t, int64_t> seen;
  for (int64_t i = 0; i < draws; ++i) {
    const int32_t id = chooser.choose(logits, {}, {});
    ++seen[id];
    chooser.accept(id);
  }
  return seen;
}

TEST(Sampling, ChoosesWhatSortingEverythingWouldChoose) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 6000; ++i) {
    const int64_t size_max = i % 100 == 0 ? 20000 : i % 3 == 0 ? 8 : 300;
    Case c = random.make(size_max);
    const int32_t expected = c.twin.choose(c.logits, c.mask, c.forbidden);
    EXPECT_EQ(chooser_of(c.twin).choose(c.logits, c.mask, c.forbidden), expected)
        << "case " << i << ", " << c.logits.size() << " logits, temperature "
        << c.twin.params.temperature << " top_p " << c.twin.params.top_p << " top_k "
        << c.twin.params.top_k << " min_p " << c.twin.params.min_p;
  }
}

TEST(Sampling, ChoosesAmongAWholeVocabularyAsTheTwinDoes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const double deviation : {0.0, 0.2, 2.0, 8.0}) {
    Case c;
    for (int i = 0; i < 163840; ++i) c.logits.push_back(random.normal(deviation + 1e-30));
    if (deviation == 0.0) std::fill(c.logits.begin(), c.logits.end(), 0.0f);
    for (const auto& [top_k, top_p] :
         {std::pair<int64_t, float>{0, 1.0f}, {0, 0.95f}, {50, 0.9f}, {100000, 0.5f}}) {
      c.twin.params.top_k = top_k;
      c.twin.params.top_p = top_p;
      c.twin.params.seed = seed;
      EXPECT_EQ(chooser_of(c.twin).choose(c.logits, {}, {}), c.twin.choose(c.logits, {}, {}))
          << deviation << " " << top_k << " " << top_p;
    }
  }
}

TEST(Sampling, LogitsAreAsBeforeWhenAChoiceReturns) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    Case c = random.make(200);
    if (!c.forbidden.empty()) c.twin.params.logit_bias.emplace_back(c.forbidden[0], 3.0f);
    const std::vector<float> before = c.logits;
    chooser_of(c.twin).choose(c.logits, c.mask, c.forbidden);
    EXPECT_EQ(c.logits, before);
  }
}

TEST(Sampling, TheNthDrawDependsOnSeedAndNumberAlone) {
  Random random(6);
  for (int i = 0; i < 50; ++i) {
    Case c = random.make(200);
    c.forbidden.clear();
    c.mask.clear();
    c.twin.answer.clear();
    TokenChooser through(c.twin.params, c.twin.prompt);
    std::vector<int32_t> answer;
    for (int n = 0; n < 30; ++n) {
      // One that was preempted here and is made again from prompt and answer, and a fork.
      TokenChooser again(c.twin.params, c.twin.prompt);
      for (const int32_t id : answer) again.accept(id);
      const TokenChooser fork = through;
      const int32_t id = through.choose(c.logits, {}, {});
      EXPECT_EQ(again.generated(), through.generated());
      EXPECT_EQ(again.choose(c.logits, {}, {}), id);
      EXPECT_EQ(fork.choose(c.logits, {}, {}), id);
      EXPECT_EQ(through.choose(c.logits, {}, {}), id) << "asking twice is not a draw";
      through.accept(id);
      answer.push_back(id);
    }
  }
}

TEST(Sampling, DrawsOfNeighbouringSeedsAndNumbersDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 200; ++seed)
    for (uint64_t n = 0; n < 200; ++n) seen.insert(random_bits(seed, n));
  EXPECT_EQ(seen.size(), 200u * 200u);
}

TEST(Sampling, FrequenciesFollowTheSoftmaxAtTheTemperature) {
  const std::vector<float> logits{1.0f, 3.0f, 2.0f, 3.0f, -5.0f, -40.0f};
  constexpr int64_t kDraws = 100000;
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    params.seed = 3;
    const std::map<int32_t, int64_t> seen = histogram(params, logits, kDraws);
    double total = 0;
    for (const float l : logits) total += std::exp(static_cast<double>(l / temperature));
    for (size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(static_cast<double>(logits[i] / temperature)) / total;
      const auto found = seen.find(static_cast<int32_t>(i));
      const double times = found == seen.end() ? 0.0 : static_cast<double>(found->second);
      EXPECT_NEAR(times, p * kDraws, 5 * std::sqrt(p * (1 - p) * kDraws) + 1) << temperature;
    }
  }
}

TEST(Sampling, GreedyTakesTheLowestIdOfTheBest) {
  SamplingParams params;
  params.temperature = 0;
  EXPECT_EQ(once(params, {1, 3, 2, 3}), 1);
  EXPECT_EQ(once(params, {-0.0f, 0.0f}), 0);
  EXPECT_EQ(once(params, {1, 3, 2, 3}, {0b1001}), 3);
  EXPECT_EQ(once(params, {1, 3, 2, 3}, {}, {1, 3}), 2);
}

TEST(Sampling, WhatIsNotFiniteIsNeverChosen) {
  SamplingParams params;
  for (const float temperature : {0.0f, 1.0f}) {
    params.temperature = temperature;
    EXPECT_EQ(once(params, {kNan, kInf, 1.0f, kNan, -kInf}), 2);
    EXPECT_EQ(once(params, {kNan, kInf, -kInf}), -1);
    params.logit_bias = {{0, 5.0f}, {1, -5.0f}};
    params.repetition_penalty = 2;
    EXPECT_EQ(once(params, {kNan, kInf, 1.0f, kNan, -kInf}), 2);
  }
}

TEST(Sampling, NothingLeftIsMinusOne) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    EXPECT_EQ(once(params, {1, 2, 3}, {0}), -1);
    EXPECT_EQ(once(params, {1, 2, 3}, {0b010}, {1}), -1);
    EXPECT_EQ(once(params, {1, 2, 3}, {~uint64_t{0b111}}), -1) << "bits beyond the vocabulary";
    EXPECT_EQ(once(params, {}), -1);
  }
}

TEST(Sampling, ABiasOfAHundredForcesOrForbids) {
  SamplingParams params;
  params.logit_bias = {{2, 100.0f}};
  EXPECT_EQ(histogram(params, {5, 4, -3, 5}, 200), (std::map<int32_t, int64_t>{{2, 200}}));
  params.logit_bias = {{0, -100.0f}, {3, -100.0f}, {7, 100.0f}, {-1, 100.0f}};
  EXPECT_EQ(histogram(params, {5, 4, -90, 5}, 200), (std::map<int32_t, int64_t>{{1, 200}}));
}

TEST(Sampling, PenaltiesStayFiniteAtTheirExtremes) {
  SamplingParams params;
  params.repetition_penalty = std::numeric_limits<float>::denorm_min();
  params.temperature = std::numeric_limits<float>::denorm_min();
  TokenChooser chooser(params, std::vector<int32_t>{0, 1});
  std::vector<float> logits{3e38f, -3e38f, 1.0f};
  EXPECT_EQ(chooser.choose(logits, {}, {}), 0);
  EXPECT_EQ(chooser.choose(logits, std::vector<uint64_t>{0b110}, {}), 2);
}

TEST(Sampling, FrequencyCountsTheAnswerAndRepetitionThePromptToo) {
  SamplingParams params;
  params.temperature = 0;
  params.frequency_penalty = 1;
  const std::vector<int32_t> prompt{0, 0, 0};
  std::vector<float> logits{2.5f, 1.0f};
  TokenChooser frequency(params, prompt);
  EXPECT_EQ(frequency.choose(logits, {}, {}), 0) << "the prompt does not count";
  frequency.accept(0);
  EXPECT_EQ(frequency.choose(logits, {}, {}), 0);
  frequency.accept(0);
  EXPECT_EQ(frequency.choose(logits, {}, {}), 1);
  params.frequency_penalty = 0;
  params.repetition_penalty = 3;
  EXPECT_EQ(TokenChooser(params, prompt).choose(logits, {}, {}), 1);
}

TEST(Logprobs, AreTheLogSoftmaxOfTheRow) {
  Random random(9);
  for (const int64_t size : {1, 2, 5, 1000}) {
    std::vector<float> logits;
    for (int64_t i = 0; i < size; ++i) logits.push_back(random.normal(4) + 1000);
    long double sum = 0;
    for (const float l : logits) sum += std::exp(static_cast<long double>(l) - 1000);
    for (const int32_t id : {0, static_cast<int32_t>(size) - 1}) {
      const auto expected = static_cast<double>(
          static_cast<long double>(logits[static_cast<size_t>(id)]) - 1000 - std::log(sum));
      const double got = static_cast<double>(logprobs_of(logits, id, 0).logprob);
      EXPECT_NEAR(got, expected, std::abs(expected) * 1e-7 + 1e-12);
    }
  }
}

TEST(Logprobs, TheTopIsBestFirstWithTiesById) {
  const std::vector<float> logits{1, 7, 3, 7, 3, 9};
  for (const int top : {0, 1, 5, 20}) {
    const TokenLogprobs got = logprobs_of(logits, 0, top);
    const std::vector<int32_t> order{5, 1, 3, 2, 4, 0};
    ASSERT_EQ(got.top.size(), std::min<size_t>(static_cast<size_t>(top), 6));
    for (size_t i = 0; i < got.top.size(); ++i) {
      EXPECT_EQ(got.top[i].first, order[i]);
      EXPECT_EQ(got.top[i].second, logprobs_of(logits, order[i], 0).logprob);
    }
  }
}

TEST(Logprobs, AreFiniteWhateverTheRange) {
  const TokenLogprobs got = logprobs_of(std::vector<float>{3e38f, -3e38f, -kInf}, 2, 3);
  EXPECT_TRUE(std::isfinite(got.logprob));
  for (const auto& [id, logprob] : got.top) EXPECT_TRUE(std::isfinite(logprob)) << id;
  EXPECT_EQ(got.top[0], (std::pair<int32_t, float>{0, 0.0f}));
}

}  // namespace
}  // namespace trine::serving
