// Who runs when, and in whose memory: submit, admit, plan, run, choose, finish
// (docs/design/serving.md). Single-threaded; ModelService gives it a thread. Time comes from a
// function, so a test can replay it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serving/executor.h"
#include "serving/prefix_cache.h"
#include "serving/request.h"
#include "serving/service.h"
#include "serving/slot_layout.h"
#include "serving/state_pool.h"
#include "serving/step_planner.h"
#include "serving/task.h"

namespace trine::serving {

struct SchedulerOptions {
  int64_t context = 0;      ///< tokens of a request at most
  int64_t concurrency = 1;  ///< sequences that run at once
  int64_t queue_max = 256;  ///< requests that wait
  int64_t snapshot_spacing = 1024;
  double step_ms = 500;  ///< a pass takes about that at most while somebody decodes
  std::vector<int32_t> end_tokens;
};

/// What is told about the first admission of a request: how much of its prompt was known, and why
/// not more.
struct Admission {
  RequestId id = 0;
  int64_t prompt_tokens = 0, cached_tokens = 0;
  const char* reason = "";  ///< "hit", "partial", "cold", "evicted", "no_snapshot", "bypassed"
};

class Scheduler {
 public:
  using Now = std::function<Clock::time_point()>;
  /// More about the prefixes of a prompt than the cache has (the file tier): may insert into the
  /// cache.
  using Prefetch = std::function<void(std::span<const int32_t> tokens, int64_t known)>;
  struct Hooks {
    Now now = [] { return Clock::now(); };
    Prefetch prefetch;                               ///< may be empty
    std::function<void(const Admission&)> admitted;  ///< may be empty
  };

  /// The pool must have concurrency + snapshots_max slots of SlotLayout's size.
  Scheduler(SchedulerOptions options, Executor* executor, StatePool* pool, PrefixCache* cache,
            Hooks hooks);
  ~Scheduler();

  Result<RequestId> submit(Request request, std::shared_ptr<Sink> sink);
  /// The two halves of submit. The check reads nothing that changes, so any thread may call it.
  Status check_request(const Request& request) const;
  void enqueue(RequestId id, Request request, std::shared_ptr<Sink> sink);
  void cancel(RequestId id);
  /// One step. False when there is nothing left to do.
  bool step();
  /// Ends all requests (kCancelled).
  void cancel_all();

  int64_t waiting() const { return waiting_; }
  bool idle() const { return tasks_.empty(); }
  void fill(Gauges* gauges) const;
  const Counters& counters() const { return counters_; }
  /// Memory and records agree (tests, after each step).
  Status check() const;

 private:
  int64_t cache_max() const { return pool_->options().slots - options_.concurrency; }

  void end_late_and_cancelled();
  void admit();
  Task* next_waiting();
  bool worth_waiting(const Task& task) const;
  bool fits(const Task& task) const;
  void start(Task& task);
  void adopt(Task& task, const Snapshot& snapshot);
  PrefixMatch find_prefix(const Task& task);
  void count_admission(Task& task, const PrefixMatch& match);

  void run_pass();
  void plan_pass();
  int64_t next_stop(const Task& task) const;
  bool ensure_blocks(Task& task, int64_t tokens);
  Task* youngest_running();
  void preempt(Task& task);
  void after_rows(Task& task, const Work& work, int64_t rows);
  void tell_prompt_logprobs(Task& task, const Work& work);
  void choose(Task& task);

  void take_snapshot(Task& task, SnapshotKind kind);
  void leave_snapshot(Task& task, SnapshotKind kind);
  void give_back(Task& task);
  void use_block(BlockId block, int32_t change);
  void finish(Task& task, Finish finish, Status status = {});
  void close(Task& task);
  void count_out(const Task& task);
  void erase_finished();

  SchedulerOptions options_;
  Executor* executor_;
  StatePool* pool_;
  PrefixCache* cache_;
  Hooks hooks_;
  SlotLayout layout_;
  Pace pace_;

  std::map<RequestId, std::unique_ptr<Task>> tasks_;  ///< by arrival
  RequestId next_id_ = 1;
  int64_t waiting_ = 0;
  int64_t running_ = 0;  ///< who holds a slot
  std::map<std::string, int64_t> running_of_client_;
  std::vector<int32_t> uses_;  ///< running sequences that use a block
  int64_t blocks_running_ = 0;
  std::vector<Task*> passing_;     ///< whose rows are in the pass, oldest first
  std::vector<float> all_logits_;  ///< of a pass with prompt logprobs
  std::vector<uint64_t> mask_;
  Counters counters_;
};

}  // namespace trine::serving
