// Thousands of steps of random life against runs alone: submits, cancels, forks, evictions,
// preemptions, deadlines, failures; memory and records are checked after every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "scheduler_harness.h"

namespace trine::serving {
namespace {

bool same(const TokenLogprobs& a, const TokenLogprobs& b) {
  return a.logprob == b.logprob && a.top == b.top;
}

class Simulation {
 public:
  Simulation(uint64_t seed, const Harness::Sizes& sizes)
      : random_(seed), sizes_(sizes), harness_(sizes) {}

  void run(int64_t steps) {
    for (int64_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      if (chance(3)) submit();
      if (chance(20) && !live_.empty()) cancel();
      if (chance(300)) harness_.cache->flush();
      if (chance(50)) harness_.now += std::chrono::milliseconds(200);
      harness_.step();
      collect();
    }
    harness_.drain();
    collect();
    EXPECT_TRUE(live_.empty());
    const int64_t snapshots = harness_.cache->size();
    EXPECT_EQ(harness_.pool->slots_free(), harness_.pool->options().slots - snapshots);
    harness_.cache->flush();
    EXPECT_EQ(harness_.pool->slots_free(), harness_.pool->options().slots);
    EXPECT_EQ(harness_.pool->blocks_free(), harness_.pool->options().blocks);
  }

  const Counters& counters() const { return harness_.scheduler->counters(); }
  int64_t compared() const { return compared_; }

 private:
  struct Live {
    Request request;
    std::shared_ptr<Recorder> recorder;
    RequestId id;
    bool bad = false;  ///< the prompt holds the token that is not finite
  };

  bool chance(uint64_t one_in) { return random_() % one_in == 0; }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::vector<int32_t> prompt() {
    std::vector<int32_t> ids;
    if (!histories_.empty() && !chance(4)) {
      ids = histories_[static_cast<size_t>(below(static_cast<int64_t>(histories_.size())))];
      if (chance(2)) ids.resize(static_cast<size_t>(1 + below(static_cast<int64_t>(ids.size()))));
      if (chance(6) && !ids.empty()) ids[ids.size() / 2] = static_cast<int32_t>(1 + below(3));
    }
    if (ids.empty() || !chance(5)) {
      const int64_t more = chance(3) ? below(30) : below(6);
      for (int64_t i = 0; i < more; ++i) ids.push_back(static_cast<int32_t>(1 + below(3)));
    }
    if (ids.empty()) ids.push_back(1);
    ids.resize(std::min(ids.size(), static_cast<size_t>(sizes_.context - 1)));
    return ids;
  }

  void submit() {
    Live live;
    Request& r = live.request;
    r.prompt = prompt();
    if (chance(40)) {
      r.prompt[static_cast<size_t>(below(static_cast<int64_t>(r.prompt.size())))] =
          ToyExecutor::kBadToken;
    }
    live.bad =
        std::find(r.prompt.begin(), r.prompt.end(), ToyExecutor::kBadToken) != r.prompt.end();
    const int64_t room = sizes_.context - static_cast<int64_t>(r.prompt.size());
    r.max_tokens = chance(15) ? 0 : 1 + below(room);
    if (chance(5)) r.max_tokens = room;
    r.min_tokens = chance(4) ? below(10) : 0;
    r.ignore_eos = chance(3);
    if (chance(4)) r.stop_token_ids = {static_cast<int32_t>(below(ToyExecutor::kVocab))};
    r.sampling.temperature = chance(3) ? 0.0f : 0.7f;
    r.sampling.top_p = chance(2) ? 1.0f : 0.8f;
    r.sampling.seed = random_();
    if (chance(4)) r.sampling.frequency_penalty = 1.0f;
    if (chance(4)) r.sampling.repetition_penalty = 1.3f;
    if (chance(5)) r.top_logprobs = static_cast<int>(below(6));
    r.prompt_logprobs = chance(12);
    r.client = std::string(1, static_cast<char>('a' + below(3)));
    if (chance(15)) r.deadline = harness_.now + std::chrono::milliseconds(below(300));
    live.recorder = std::make_shared<Recorder>();
    if (chance(6)) live.recorder->stop_after = 1 + below(20);
    if (chance(8)) {
      live.recorder->masker = [](std::span<uint64_t> allowed, const std::vector<int32_t>& so_far) {
        allowed[0] &= so_far.size() % 2 == 0 ? 0x5555555555u : 0xAAAAAAAAAAu;
        return true;
      };
    }
    const Result<RequestId> id = harness_.scheduler->submit(live.request, live.recorder);
    if (!id.ok()) {
      EXPECT_TRUE(id.status().code() == Code::kBusy || id.status().code() == Code::kOutOfMemory)
          << id.status().message();
      EXPECT_EQ(live.recorder->finishes, 0);
      return;
    }
    live.id = *id;
    live_.push_back(std::move(live));
  }

  void cancel() {
    harness_.scheduler->cancel(
        live_[static_cast<size_t>(below(static_cast<int64_t>(live_.size())))].id);
  }

  void collect() {
    for (const Live& live : live_) {
      ASSERT_LE(live.recorder->finishes, 1);
      if (live.recorder->finishes == 1) compare(live);
    }
    std::erase_if(live_, [](const Live& live) { return live.recorder->finishes == 1; });
  }

  void compare(const Live& live) {
    const Recorder& got = *live.recorder;
    const SingleRun want = run_alone(live.request, harness_.end_tokens, got);
    const bool whole = got.outcome.finish == Finish::kStop || got.outcome.finish == Finish::kLength;
    SCOPED_TRACE("request " + std::to_string(live.id));
    ASSERT_LE(got.tokens.size(), want.tokens.size());
    EXPECT_TRUE(std::equal(got.tokens.begin(), got.tokens.end(), want.tokens.begin()));
    EXPECT_EQ(got.outcome.completion_tokens, static_cast<int64_t>(got.tokens.size()));
    EXPECT_LE(got.outcome.cached_tokens, got.outcome.prompt_tokens);
    if (live.bad) {
      EXPECT_TRUE(got.tokens.empty() && got.outcome.finish != Finish::kStop &&
                  got.outcome.finish != Finish::kLength);
    } else {
      EXPECT_TRUE(got.outcome.finish != Finish::kError || got.tokens.size() == want.tokens.size())
          << got.outcome.status.message();
    }
    if (whole) {
      EXPECT_EQ(got.tokens, want.tokens);
      if (live.request.prompt_logprobs) {
        ASSERT_EQ(got.prompt.size(), want.prompt.size());
        for (size_t i = 0; i < want.prompt.size(); ++i) {
          EXPECT_EQ(got.prompt[i].first, static_cast<int64_t>(i) + 1);
          EXPECT_TRUE(same(got.prompt[i].second, want.prompt[i]));
        }
      }
    }
    if (live.request.top_logprobs >= 0) {
      ASSERT_EQ(got.logprobs.size(), got.tokens.size());
      for (size_t i = 0; i < got.logprobs.size(); ++i)
        EXPECT_TRUE(same(got.logprobs[i], want.logprobs[i]));
    }
    ++compared_;
    std::vector<int32_t> history = live.request.prompt;
    history.insert(history.end(), got.tokens.begin(), got.tokens.end());
    if (live.bad) return;
    if (histories_.size() < 40) {
      histories_.push_back(std::move(history));
    } else {
      histories_[static_cast<size_t>(below(40))] = std::move(history);
    }
  }

  std::mt19937_64 random_;
  Harness::Sizes sizes_;
  Harness harness_;
  std::vector<Live> live_;
  std::vector<std::vector<int32_t>> histories_;
  int64_t compared_ = 0;
};

TEST(Simulator, RandomLifeGivesWhatEveryRequestGetsAlone) {
  Counters sum;
  int64_t compared = 0;
  for (uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Harness::Sizes sizes;
    std::mt19937_64 random(seed);
    sizes.concurrency = 1 + static_cast<int64_t>(random() % 6);
    sizes.snapshots = static_cast<int64_t>(random() % 7);
    sizes.blocks = 17 + static_cast<int64_t>(random() % 60);  // often too few for all: preemption
    sizes.queue_max = 4 + static_cast<int64_t>(random() % 20);
    sizes.spacing = 1 + static_cast<int64_t>(random() % 20);
    sizes.pass_rows = 6 + static_cast<int64_t>(random() % 30);
    Simulation simulation(seed, sizes);
    simulation.run(1500);
    const Counters& c = simulation.counters();
    compared += simulation.compared();
    sum.preempted += c.preempted;
    sum.cancelled += c.cancelled;
    sum.deadline += c.deadline;
    sum.failed += c.failed;
    sum.cache_hits += c.cache_hits;
    sum.cache_hits_partial += c.cache_hits_partial;
    sum.cache_misses_evicted += c.cache_misses_evicted;
    sum.snapshots_evicted += c.snapshots_evicted;
    sum.refused += c.refused;
  }
  // What the simulation is for has really happened.
  EXPECT_GT(compared, 5000);
  EXPECT_GT(sum.preempted, 100);
  EXPECT_GT(sum.cancelled, 100);
  EXPECT_GT(sum.deadline, 50);
  EXPECT_GT(sum.failed, 50);
  EXPECT_GT(sum.cache_hits, 100);
  EXPECT_GT(sum.cache_hits_partial, 100);
  EXPECT_GT(sum.cache_misses_evicted, 20);
  EXPECT_GT(sum.snapshots_evicted, 100);
  EXPECT_GT(sum.refused, 20);
}

}  // namespace
}  // namespace trine::serving
