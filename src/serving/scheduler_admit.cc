// Admission: whose turn it is, whether it fits, and from which snapshot it starts.
#include <algorithm>

#include "serving/scheduler.h"

namespace trine::serving {

void Scheduler::admit() {
  while (running_ < options_.concurrency) {
    Task* task = next_waiting();
    if (task == nullptr || !fits(*task)) return;  // its turn is kept: later ones do not overtake
    for (auto& [id, other] : tasks_) {
      if (id >= task->id) break;
      if (other->phase == Task::Phase::kWaiting) ++other->passed_over;
    }
    start(*task);
  }
}

/// The client with the fewest running requests first, then by arrival; who was passed over too
/// often goes before all.
Task* Scheduler::next_waiting() {
  Task* best = nullptr;
  int64_t best_running = 0;
  for (auto& [id, task] : tasks_) {
    if (task->phase != Task::Phase::kWaiting || worth_waiting(*task)) continue;
    if (task->passed_over >= 2 * options_.concurrency) return task.get();
    const auto client = running_of_client_.find(task->request.client);
    const int64_t running = client == running_of_client_.end() ? 0 : client->second;
    if (best == nullptr || running < best_running) {
      best = task.get();
      best_running = running;
    }
  }
  return best;
}

/// Somebody is just computing a prefix of this prompt: an answer whose last token runs in the next
/// pass, or the same prompt (n answers at once). Its snapshot saves more than the wait costs.
bool Scheduler::worth_waiting(const Task& task) const {
  if (cache_max() == 0 || task.request.prompt_logprobs) return false;
  const auto begins_with = [&](const std::vector<int32_t>& tokens) {
    return tokens.size() <= task.tokens.size() &&
           std::equal(tokens.begin(), tokens.end(), task.tokens.begin());
  };
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
    const Task& other = *entry.second;
    if (other.phase == Task::Phase::kClosing) return begins_with(other.tokens);
    return other.phase == Task::Phase::kRunning && other.position() < other.prompt_size() &&
           begins_with(other.request.prompt);
  });
}

/// Snapshots give way, so only running sequences count; each of these may want a block soon.
bool Scheduler::fits(const Task& task) const {
  if (running_ == 0) return true;
  const int64_t free = pool_->options().blocks - blocks_running_;
  return executor_->blocks_of(task.size() + 1) + running_ <= free;
}

/// The longest snapshot that this prompt can start from.
PrefixMatch Scheduler::find_prefix(const Task& task) {
  if (hooks_.prefetch) {
    const PrefixMatch known = cache_->find(task.tokens, task.size());
    hooks_.prefetch(task.tokens, known.snapshot == nullptr ? 0 : known.snapshot->position);
  }
  PrefixMatch match = cache_->find(task.tokens, task.size());
  const bool whole = match.snapshot != nullptr && match.snapshot->position == task.size();
  if (whole && !layout_.has_logits(pool_->slot(match.snapshot->slot)))
    match = cache_->find(task.tokens, task.size() - 1);
  return match;
}

void Scheduler::start(Task& task) {
  const bool bypass = task.request.prompt_logprobs;  // every row's logits are wanted
  PrefixMatch match;
  if (!bypass) match = find_prefix(task);
  count_admission(task, match);

  task.slot = pool_->take_slot();
  ++running_;
  --waiting_;
  ++running_of_client_[task.request.client];
  task.phase = Task::Phase::kRunning;
  task.fork_at = 0;
  if (match.snapshot != nullptr) {
    adopt(task, *match.snapshot);
  } else {
    task.sequence = executor_->open(pool_->slot(task.slot), /*fresh=*/true);
    layout_.set_has_logits(pool_->slot(task.slot), false);
  }
  if (match.tokens_known > task.position() && match.tokens_known < task.prompt_size())
    task.fork_at = match.tokens_known;
  if (!task.was_admitted) {
    task.was_admitted = true;
    task.first_admitted = hooks_.now();
  }
  task.sink->admitted(match.snapshot == nullptr ? 0 : task.position());
}

/// Starts from a snapshot: its full blocks are shared, of the partial one and the state it gets
/// copies, since it will write there.
void Scheduler::adopt(Task& task, const Snapshot& snapshot) {
  // Taking a block may evict the very snapshot: its blocks are held first.
  const int64_t position = snapshot.position;
  const std::vector<BlockId> source = snapshot.blocks;
  executor_->copy(pool_->slot(task.slot), pool_->slot(snapshot.slot), layout_.bytes());
  for (const BlockId block : source) pool_->share_block(block);
  task.sequence = executor_->open(pool_->slot(task.slot), /*fresh=*/false);
  task.sequence->set_position(position);

  const int64_t full = executor_->block_bytes() == 0 ? 0 : position / executor_->block_tokens();
  for (int64_t i = 0; i < full; ++i) {
    const BlockId block = source[static_cast<size_t>(i)];
    use_block(block, 1);
    task.blocks.push_back(block);
    task.sequence->set_block(i, pool_->block(block));
  }
  if (full == static_cast<int64_t>(source.size())) return;
  const BlockId partial = source.back();
  BlockId own = pool_->take_block();
  while (own == kNone && cache_->evict_one()) own = pool_->take_block();
  if (own != kNone) {
    executor_->copy(pool_->block(own), pool_->block(partial), executor_->block_bytes());
    pool_->drop_block(partial);
  } else {
    // No other block is free and no snapshot is left, so this reference is the last one: it is
    // ours.
    own = partial;
  }
  use_block(own, 1);
  task.blocks.push_back(own);
  task.sequence->set_block(full, pool_->block(own));
}

void Scheduler::count_admission(Task& task, const PrefixMatch& match) {
  if (task.was_admitted) return;  // resumed
  const int64_t cached = match.snapshot == nullptr ? 0 : match.snapshot->position;
  task.cached_tokens = cached;
  counters_.cached_tokens += cached;
  Admission admission{task.id, task.prompt_size(), cached, ""};
  if (task.request.prompt_logprobs) {
    admission.reason = "bypassed";
    ++counters_.cache_bypassed;
  } else if (cached + 1 >= task.prompt_size()) {
    admission.reason = "hit";
    ++counters_.cache_hits;
  } else if (cached > 0) {
    admission.reason = "partial";
    ++counters_.cache_hits_partial;
  } else if (match.evicted_longer) {
    admission.reason = "evicted";
    ++counters_.cache_misses_evicted;
  } else if (match.tokens_known >= executor_->block_tokens()) {
    admission.reason = "no_snapshot";
    ++counters_.cache_misses_no_snapshot;
  } else {
    admission.reason = "cold";
    ++counters_.cache_misses_cold;
  }
  if (hooks_.admitted) hooks_.admitted(admission);
}

}  // namespace trine::serving
