// A scheduler with a toy model and a clock that tests move.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "recorder.h"
#include "serving/scheduler.h"
#include "toy_executor.h"

namespace trine::serving {

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
