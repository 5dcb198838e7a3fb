// A scheduler with a toy model, a clock that tests move, and sinks that remember.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serving/logprobs.h"
#include "serving/scheduler.h"
#include "toy_executor.h"

namespace trine::serving {

/// Remembers what it was told.
struct Recorder : Sink {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;
  std::vector<std::pair<int64_t, TokenLogprobs>> prompt;
  std::vector<int64_t> admissions;
  int64_t prefilled_to = 0;
  int finishes = 0;
  Outcome outcome;
  int64_t stop_after = -1;  ///< says kStop with that many tokens
  std::function<bool(std::span<uint64_t>, const std::vector<int32_t>&)> masker;

  void admitted(int64_t cached) override { admissions.push_back(cached); }
  void prefilled(int64_t done, int64_t) override { prefilled_to = done; }
  void prompt_token(int64_t index, const Token& token) override {
    prompt.emplace_back(index, *token.logprobs);
  }
  bool mask(std::span<uint64_t> allowed) override { return masker && masker(allowed, tokens); }
  Verdict token(const Token& token) override {
    tokens.push_back(token.id);
    if (token.logprobs != nullptr) logprobs.push_back(*token.logprobs);
    return static_cast<int64_t>(tokens.size()) == stop_after ? Verdict::kStop : Verdict::kGoOn;
  }
  void finished(const Outcome& result) override {
    ++finishes;
    outcome = result;
  }
};

/// What a run alone gives: up to max_tokens tokens, then nothing else.
struct SingleRun {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;
  std::vector<TokenLogprobs> prompt;  ///< of prompt[1..]
};
inline SingleRun run_alone(const Request& request, std::span<const int32_t> end_tokens,
                           const Recorder& like) {
  SingleRun result;
  TokenChooser chooser(request.sampling, request.prompt);
  std::vector<float> logits(ToyExecutor::kVocab);
  uint64_t hash = 0;
  const int top = std::max(0, request.top_logprobs);
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    hash = ToyExecutor::next_hash(hash, request.prompt[i]);
    if (i + 1 == request.prompt.size()) break;
    ToyExecutor::logits_of(hash, logits.data());
    result.prompt.push_back(logprobs_of(logits, request.prompt[i + 1], top));
  }
  while (static_cast<int64_t>(result.tokens.size()) < request.max_tokens) {
    ToyExecutor::logits_of(hash, logits.data());
    std::vector<int32_t> forbidden;
    if (static_cast<int64_t>(result.tokens.size()) < request.min_tokens) {
      forbidden.assign(end_tokens.begin(), end_tokens.end());
      forbidden.insert(forbidden.end(), request.stop_token_ids.begin(),
                       request.stop_token_ids.end());
    }
    std::vector<uint64_t> mask(1, ~uint64_t{0});
    const bool masked = like.masker && like.masker(mask, result.tokens);
    const int32_t id = chooser.choose(
        logits, masked ? std::span<const uint64_t>(mask) : std::span<const uint64_t>(), forbidden);
    if (id < 0) break;
    if (request.top_logprobs >= 0) result.logprobs.push_back(logprobs_of(logits, id, top));
    result.tokens.push_back(id);
    chooser.accept(id);
    hash = ToyExecutor::next_hash(hash, id);
    const auto in = [&](std::span<const int32_t> ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    if ((in(end_tokens) && !request.ignore_eos) || in(request.stop_token_ids)) break;
    if (static_cast<int64_t>(result.tokens.size()) == like.stop_after) break;
  }
  return result;
}

struct Harness {
  struct Sizes {
    int64_t context = 64, concurrency = 4, snapshots = 4, blocks = 4 * 16, queue_max = 64;
    int64_t spacing = 8, pass_rows = 24;
  };

  explicit Harness(const Sizes& sizes) : executor(sizes.pass_rows) {
    const SlotLayout layout(executor.state_bytes(), executor.vocab_size());
    pool = std::make_unique<StatePool>(
        std::move(*StatePool::create({.slots = sizes.concurrency + sizes.snapshots,
                                      .slot_bytes = layout.bytes(),
                                      .blocks = sizes.blocks,
                                      .block_bytes = executor.block_bytes(),
                                      .poison = true,
                                      .fill = {}})));
    cache = std::make_unique<PrefixCache>(
        PrefixCache::Options{.block_tokens = executor.block_tokens(),
                             .snapshots_max = sizes.snapshots},
        pool.get(),
        [this](std::span<const int32_t> tokens, const Snapshot& snapshot, SnapshotKind) {
          ++evictions;
          EXPECT_EQ(static_cast<int64_t>(tokens.size()), snapshot.position);
        });
    scheduler = std::make_unique<Scheduler>(
        SchedulerOptions{.context = sizes.context,
                         .concurrency = sizes.concurrency,
                         .queue_max = sizes.queue_max,
                         .snapshot_spacing = sizes.spacing,
                         .step_ms = 500,
                         .end_tokens = end_tokens},
        &executor, pool.get(), cache.get(),
        Scheduler::Hooks{.now = [this] { return now; },
                         .prefetch = {},
                         .admitted = [this](const Admission& a) { admissions.push_back(a); }});
  }

  /// Steps to the end, checking after each.
  void drain(int64_t steps_max = 10000) {
    for (int64_t i = 0; i < steps_max; ++i) {
      const bool more = step();
      if (!more) return;
    }
    FAIL() << "not finished after " << steps_max << " steps";
  }
  bool step() {
    const bool more = scheduler->step();
    now += std::chrono::milliseconds(1);
    const Status status = scheduler->check();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(executor.fault, "");
    return more;
  }
  std::shared_ptr<Recorder> submit(Request request) {
    auto recorder = std::make_shared<Recorder>();
    const Result<RequestId> id = scheduler->submit(std::move(request), recorder);
    EXPECT_TRUE(id.ok()) << id.status().message();
    if (id.ok()) last_id = *id;
    return recorder;
  }

  std::vector<int32_t> end_tokens{0};
  ToyExecutor executor;
  std::unique_ptr<StatePool> pool;
  std::unique_ptr<PrefixCache> cache;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<Admission> admissions;
  Clock::time_point now{};
  RequestId last_id = 0;
  int64_t evictions = 0;
};

}  // namespace trine::serving
