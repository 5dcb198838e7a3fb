// The life of a request outside of passes: submit, wait, end.
#include "serving/scheduler.h"

#include <algorithm>
#include <set>

#include "base/try.h"

namespace trine::serving {
namespace {

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::string number(int64_t value) { return std::to_string(value); }

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, Executor* executor, StatePool* pool,
                     PrefixCache* cache, Hooks hooks)
    : options_(std::move(options)),
      executor_(executor),
      pool_(pool),
      cache_(cache),
      hooks_(std::move(hooks)),
      layout_(executor->state_bytes(), executor->vocab_size()),
      pace_(options_.step_ms),
      uses_(static_cast<size_t>(pool->options().blocks)),
      mask_(static_cast<size_t>((executor->vocab_size() + 63) / 64)) {}

Scheduler::~Scheduler() { cancel_all(); }

Status Scheduler::check_request(const Request& request) const {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt == 0) return {Code::kInvalidArgument, "the prompt has no tokens"};
  if (request.max_tokens < 0) {
    return {Code::kInvalidArgument,
            "max_tokens is " + number(request.max_tokens) + ", expected 0 or more"};
  }
  const auto in_vocabulary = [&](int32_t id) { return id >= 0 && id < executor_->vocab_size(); };
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (!in_vocabulary(request.prompt[i])) {
      return {Code::kInvalidArgument, "prompt token " + number(static_cast<int64_t>(i)) +
                                          " is id " + number(request.prompt[i]) +
                                          ", outside the vocabulary of " +
                                          number(executor_->vocab_size())};
    }
  }
  for (const auto& [id, bias] : request.sampling.logit_bias) {
    if (!in_vocabulary(id)) {
      return {Code::kInvalidArgument, "logit_bias names id " + number(id) +
                                          ", outside the vocabulary of " +
                                          number(executor_->vocab_size())};
    }
  }
  if (prompt > options_.context || request.max_tokens > options_.context - prompt) {
    return {Code::kOutOfMemory, "the prompt has " + number(prompt) + " tokens and max_tokens is " +
                                    number(request.max_tokens) +
                                    ", together more than the context of " +
                                    number(options_.context) + " tokens"};
  }
  const int64_t blocks = executor_->blocks_of(prompt + request.max_tokens);
  if (blocks > pool_->options().blocks) {
    return {Code::kOutOfMemory,
            "prompt and answer of up to " + number(prompt + request.max_tokens) + " tokens need " +
                number(blocks) + " pages of latent cache, but there are " +
                number(pool_->options().blocks) + " of " + number(executor_->block_tokens()) +
                " tokens; ask for fewer tokens, or start with more memory"};
  }
  return {};
}

Result<RequestId> Scheduler::submit(Request request, std::shared_ptr<Sink> sink) {
  const auto refuse = [&](Status status) {
    ++counters_.refused;
    return status;
  };
  if (Status status = check_request(request); !status.ok()) return refuse(std::move(status));
  if (waiting_ >= options_.queue_max) {
    return refuse({Code::kBusy, "all " + number(options_.queue_max) +
                                    " places of the queue are taken; try again later"});
  }
  const RequestId id = next_id_++;
  enqueue(id, std::move(request), std::move(sink));
  return id;
}

void Scheduler::enqueue(RequestId id, Request request, std::shared_ptr<Sink> sink) {
  ++waiting_;
  ++counters_.submitted;
  counters_.prompt_tokens += static_cast<int64_t>(request.prompt.size());
  tasks_.emplace(id, std::make_unique<Task>(id, std::move(request), std::move(sink), hooks_.now()));
}

void Scheduler::cancel(RequestId id) {
  const auto found = tasks_.find(id);
  if (found != tasks_.end()) found->second->cancelled = true;
}

void Scheduler::cancel_all() {
  for (auto& [id, task] : tasks_) {
    if (task->phase == Task::Phase::kWaiting || task->phase == Task::Phase::kRunning)
      finish(*task, Finish::kCancelled);
  }
  erase_finished();
  if (!tasks_.empty()) run_pass();  // the last tokens of answers that have ended
  erase_finished();
}

bool Scheduler::step() {
  end_late_and_cancelled();
  admit();
  run_pass();
  erase_finished();
  ++counters_.steps;
  return !tasks_.empty();
}

void Scheduler::end_late_and_cancelled() {
  const Clock::time_point now = hooks_.now();
  for (auto& [id, task] : tasks_) {
    if (task->phase != Task::Phase::kWaiting && task->phase != Task::Phase::kRunning) continue;
    if (task->cancelled) {
      finish(*task, Finish::kCancelled);
    } else if (now >= task->request.deadline) {
      finish(*task, Finish::kDeadline);
    }
  }
  erase_finished();
}

/// The one way out of the scheduler.
void Scheduler::finish(Task& task, Finish finish, Status status) {
  Outcome outcome;
  outcome.finish = finish;
  outcome.status = std::move(status);
  outcome.prompt_tokens = task.prompt_size();
  outcome.cached_tokens = task.cached_tokens;
  outcome.completion_tokens = task.generated();
  const Clock::time_point now = hooks_.now();
  outcome.total_ms = ms_between(task.submitted, now);
  outcome.queue_ms = ms_between(task.submitted, task.was_admitted ? task.first_admitted : now);
  if (task.generated() > 0) {
    outcome.ttft_ms = ms_between(task.submitted, task.first_token);
    const int32_t last = task.tokens.back();
    const auto is_last = [&](const std::vector<int32_t>& ids) {
      return std::find(ids.begin(), ids.end(), last) != ids.end();
    };
    if (finish == Finish::kStop && ((is_last(options_.end_tokens) && !task.request.ignore_eos) ||
                                    is_last(task.request.stop_token_ids)))
      outcome.stop_token = last;
  }
  switch (finish) {
    case Finish::kStop: ++counters_.finished_stop; break;
    case Finish::kLength: ++counters_.finished_length; break;
    case Finish::kCancelled: ++counters_.cancelled; break;
    case Finish::kDeadline: ++counters_.deadline; break;
    case Finish::kError: ++counters_.failed; break;
  }
  if (task.phase == Task::Phase::kWaiting) --waiting_;
  if (task.phase == Task::Phase::kRunning) {
    count_out(task);
    const bool whole = finish == Finish::kStop || finish == Finish::kLength;
    if (whole && task.pending() == 1 && cache_max() > 0 && task.size() < options_.context) {
      task.phase = Task::Phase::kClosing;
    } else if (finish == Finish::kError) {
      give_back(task);
    } else {
      leave_snapshot(task, whole ? SnapshotKind::kAnswerEnd : SnapshotKind::kPreempted);
    }
  }
  if (task.phase != Task::Phase::kClosing) task.phase = Task::Phase::kDone;
  // The sink may drop its last reference to itself in here.
  const std::shared_ptr<Sink> sink = std::move(task.sink);
  sink->finished(outcome);
}

/// It is none of its client's running requests any more.
void Scheduler::count_out(const Task& task) {
  const auto client = running_of_client_.find(task.request.client);
  if (--client->second == 0) running_of_client_.erase(client);
}

void Scheduler::erase_finished() {
  std::erase_if(tasks_,
                [](const auto& entry) { return entry.second->phase == Task::Phase::kDone; });
}

void Scheduler::give_back(Task& task) {
  if (task.slot == kNone) return;
  task.sequence.reset();
  pool_->give_slot(task.slot);
  task.slot = kNone;
  for (const BlockId block : task.blocks) {
    use_block(block, -1);
    pool_->drop_block(block);
  }
  task.blocks.clear();
  --running_;
}

void Scheduler::use_block(BlockId block, int32_t change) {
  int32_t& uses = uses_[static_cast<size_t>(block)];
  if (uses == 0) ++blocks_running_;
  uses += change;
  if (uses == 0) --blocks_running_;
}

void Scheduler::fill(Gauges* gauges) const {
  gauges->waiting = waiting_;
  gauges->running = running_;
  gauges->queue_limit = options_.queue_max;
  gauges->slots = options_.concurrency;
  gauges->slots_used = running_;
  gauges->snapshots = cache_->size();
  gauges->snapshots_limit = cache_max();
  gauges->latent_pages = pool_->options().blocks;
  gauges->latent_pages_used = blocks_running_;
  gauges->latent_pages_cached = cache_->blocks_held();
  gauges->state_bytes = pool_->options().slots * pool_->options().slot_bytes;
  gauges->latent_bytes = pool_->options().blocks * pool_->options().block_bytes;
  gauges->context = options_.context;
  gauges->step_ms = pace_.step_ms();
}

Status Scheduler::check() const {
  const auto wrong = [](const std::string& what) { return Status(Code::kInternal, what); };
  TRINE_RETURN_IF_ERROR(pool_->check());
  TRINE_RETURN_IF_ERROR(cache_->check());
  int64_t running = 0, waiting = 0;
  std::vector<int32_t> uses(uses_.size());
  std::set<SlotId> slots;
  for (const auto& [id, task] : tasks_) {
    waiting += task->phase == Task::Phase::kWaiting;
    if (!task->holds_slot()) {
      if (task->slot != kNone || !task->blocks.empty())
        return wrong("request " + number(id) + " holds memory although it does not run");
      continue;
    }
    ++running;
    if (!slots.insert(task->slot).second)
      return wrong("slot " + number(task->slot) + " belongs to two requests");
    for (const BlockId block : task->blocks) ++uses[static_cast<size_t>(block)];
    if (static_cast<int64_t>(task->blocks.size()) < executor_->blocks_of(task->position()))
      return wrong("request " + number(id) + " lacks blocks");
  }
  if (running != running_ || waiting != waiting_ || uses != uses_)
    return wrong("counts of running, waiting or used blocks are off");
  const int64_t used = std::count_if(uses.begin(), uses.end(), [](int32_t n) { return n > 0; });
  if (used != blocks_running_) return wrong("blocks in use are miscounted");
  const int64_t slots_taken = pool_->options().slots - pool_->slots_free();
  const int64_t snapshot_slots = cache_->size();
  if (slots_taken != running + snapshot_slots)
    return wrong(number(slots_taken) + " slots are taken by " + number(running) + " requests and " +
                 number(snapshot_slots) + " snapshots");
  return {};
}

}  // namespace trine::serving
