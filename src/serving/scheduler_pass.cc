// A pass: rows planned, blocks taken, tokens chosen, snapshots made.
#include <algorithm>
#include <chrono>

#include "serving/logprobs.h"
#include "serving/scheduler.h"

namespace trine::serving {
namespace {

/// Logits of all rows of a prompt (prompt_logprobs) are taken in passes of at most so many bytes.
constexpr int64_t kAllLogitsBytes = int64_t{16} << 20;

bool contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

/// A pass must not run past the tokens where a snapshot is due.
int64_t Scheduler::next_stop(const Task& task) const {
  const int64_t position = task.position();
  int64_t stop = task.size();
  const auto consider = [&](int64_t at) {
    if (at > position) stop = std::min(stop, at);
  };
  if (cache_max() > 0 && position < task.prompt_size()) {
    consider(task.prompt_size());
    consider(task.fork_at);
    consider((position / options_.snapshot_spacing + 1) * options_.snapshot_spacing);
  }
  if (task.request.prompt_logprobs && position < task.prompt_size()) {
    consider(task.prompt_size());
    consider(position + std::max<int64_t>(1, kAllLogitsBytes / 4 / executor_->vocab_size()));
  }
  return stop;
}

/// Sets Task::rows and takes the blocks; whoever gets none is preempted or waits.
void Scheduler::plan_pass() {
  std::vector<Task*> tasks;
  std::vector<Candidate> candidates;
  bool decodes = false, whole_logits = false;
  for (auto& [id, task] : tasks_) {
    task->rows = 0;
    if (!task->holds_slot()) continue;
    const bool all_rows = task->request.prompt_logprobs && task->position() < task->prompt_size();
    if (all_rows && whole_logits) continue;  // one at a time: its logits take the whole buffer
    whole_logits |= all_rows;
    tasks.push_back(task.get());
    candidates.push_back({task->pending(), next_stop(*task) - task->position(), 0});
    decodes |= task->generated() > 0 && task->pending() == 1;
  }
  plan_rows(candidates, executor_->pass_rows(), pace_.prompt_rows(executor_->pass_rows(), decodes));
  // Oldest first: who is preempted for blocks is younger, and has none of its rows planned yet.
  passing_.clear();
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = *tasks[i];
    if (candidates[i].rows == 0 || !task.holds_slot()) continue;
    if (!ensure_blocks(task, task.position() + candidates[i].rows)) continue;
    task.rows = candidates[i].rows;
    passing_.push_back(&task);
  }
}

bool Scheduler::ensure_blocks(Task& task, int64_t tokens) {
  while (static_cast<int64_t>(task.blocks.size()) < executor_->blocks_of(tokens)) {
    const BlockId block = pool_->take_block();
    if (block != kNone) {
      task.sequence->set_block(static_cast<int64_t>(task.blocks.size()), pool_->block(block));
      task.blocks.push_back(block);
      use_block(block, 1);
      continue;
    }
    if (cache_->evict_one()) {
      ++counters_.snapshots_evicted;
      continue;
    }
    Task* victim = youngest_running();
    preempt(*victim);
    if (victim == &task) return false;
  }
  return true;
}

Task* Scheduler::youngest_running() {
  const auto youngest = std::find_if(tasks_.rbegin(), tasks_.rend(),
                                     [](const auto& entry) { return entry.second->holds_slot(); });
  return youngest->second.get();
}

void Scheduler::preempt(Task& task) {
  if (task.phase == Task::Phase::kClosing) {
    close(task);
    return;
  }
  ++counters_.preempted;
  count_out(task);
  leave_snapshot(task, SnapshotKind::kPreempted);
  task.phase = Task::Phase::kWaiting;
  ++waiting_;
}

void Scheduler::run_pass() {
  for (auto& [id, task] : tasks_) {
    if (task->phase == Task::Phase::kRunning && task->pending() == 0) choose(*task);
  }
  plan_pass();
  if (passing_.empty()) return;

  std::vector<Work> works;
  int64_t decode_rows = 0, prompt_rows = 0;
  for (Task* task : passing_) {
    const int64_t position = task->position();
    Work work;
    work.sequence = task->sequence.get();
    work.ids = std::span(task->tokens)
                   .subspan(static_cast<size_t>(position), static_cast<size_t>(task->rows));
    if (task->request.prompt_logprobs && position < task->prompt_size()) {
      all_logits_.resize(static_cast<size_t>(task->rows * executor_->vocab_size()));
      work.logits = all_logits_.data();
      work.all_logits = true;
    } else if (task->phase == Task::Phase::kRunning && position + task->rows == task->size()) {
      work.logits = layout_.logits(pool_->slot(task->slot)).data();
    }
    (task->generated() > 0 && task->rows == 1 ? decode_rows : prompt_rows) += task->rows;
    works.push_back(std::move(work));
  }
  const Clock::time_point begin = hooks_.now();
  executor_->run(works);
  pace_.measured(decode_rows, prompt_rows,
                 std::chrono::duration<double, std::milli>(hooks_.now() - begin).count());
  counters_.prefill_tokens += prompt_rows;
  for (size_t i = 0; i < works.size(); ++i) after_rows(*passing_[i], works[i], passing_[i]->rows);
}

void Scheduler::after_rows(Task& task, const Work& work, int64_t rows) {
  std::byte* slot = pool_->slot(task.slot);
  layout_.set_has_logits(slot, work.logits != nullptr && task.pending() == 0);
  if (task.phase == Task::Phase::kClosing) {
    if (work.status.ok()) {
      close(task);
    } else {
      give_back(task);
      task.phase = Task::Phase::kDone;
    }
    return;
  }
  if (!work.status.ok()) {
    finish(task, Finish::kError, work.status);
    return;
  }
  const int64_t position = task.position();
  if (work.all_logits) {
    tell_prompt_logprobs(task, work);
    std::copy_n(work.logits + (rows - 1) * executor_->vocab_size(), executor_->vocab_size(),
                layout_.logits(slot).data());
  }
  if (position - rows < task.prompt_size())
    task.sink->prefilled(std::min(position, task.prompt_size()), task.prompt_size());
  if (position == task.prompt_size()) {
    take_snapshot(task, SnapshotKind::kPromptEnd);
  } else if (position == task.fork_at) {
    take_snapshot(task, SnapshotKind::kFork);
  } else if (position < task.prompt_size() && position % options_.snapshot_spacing == 0) {
    take_snapshot(task, SnapshotKind::kSpacing);
  }
  if (task.pending() == 0) choose(task);
}

/// Row r of the pass tells about the token after it.
void Scheduler::tell_prompt_logprobs(Task& task, const Work& work) {
  const auto rows = static_cast<int64_t>(work.ids.size());
  const auto vocab = static_cast<size_t>(executor_->vocab_size());
  const int64_t first = task.position() - rows;
  for (int64_t r = 0; r < rows && first + r + 1 < task.prompt_size(); ++r) {
    if (first + r + 1 < task.prompt_told) continue;  // before a preemption
    const int32_t id = task.tokens[static_cast<size_t>(first + r + 1)];
    const TokenLogprobs logprobs =
        logprobs_of({work.logits + static_cast<size_t>(r) * vocab, vocab}, id,
                    std::max(0, task.request.top_logprobs));
    task.sink->prompt_token(task.prompt_told++, {id, &logprobs});
  }
}

/// The next token, from the logits in the slot.
void Scheduler::choose(Task& task) {
  if (task.request.max_tokens == 0) {
    finish(task, Finish::kLength);
    return;
  }
  const std::span<float> logits = layout_.logits(pool_->slot(task.slot));
  task.sink->logits(logits);
  std::vector<int32_t> forbidden;
  if (task.generated() < task.request.min_tokens) {
    forbidden = options_.end_tokens;
    forbidden.insert(forbidden.end(), task.request.stop_token_ids.begin(),
                     task.request.stop_token_ids.end());
  }
  std::fill(mask_.begin(), mask_.end(), ~uint64_t{0});
  const bool masked = task.sink->mask(mask_);
  int32_t id = task.chooser.choose(
      logits, masked ? std::span<const uint64_t>(mask_) : std::span<const uint64_t>(), forbidden);
  if (id < 0 && !forbidden.empty()) {  // a grammar that is at its end knows better than min_tokens
    id = task.chooser.choose(
        logits, masked ? std::span<const uint64_t>(mask_) : std::span<const uint64_t>(), {});
  }
  if (id < 0) {
    finish(task, Finish::kError,
           {Code::kInvalidArgument,
            "no token may come next: the grammar, logit_bias and min_tokens exclude all"});
    return;
  }
  TokenLogprobs logprobs;
  if (task.request.top_logprobs >= 0) logprobs = logprobs_of(logits, id, task.request.top_logprobs);
  if (task.generated() == 0) task.first_token = hooks_.now();
  task.tokens.push_back(id);
  task.chooser.accept(id);
  ++counters_.decode_tokens;
  const Sink::Verdict verdict =
      task.sink->token({id, task.request.top_logprobs >= 0 ? &logprobs : nullptr});
  const bool ended = (contains(options_.end_tokens, id) && !task.request.ignore_eos) ||
                     contains(task.request.stop_token_ids, id);
  if (ended || verdict == Sink::Verdict::kStop) {
    finish(task, Finish::kStop);
  } else if (task.generated() == task.request.max_tokens || task.size() == options_.context) {
    finish(task, Finish::kLength);
  }
}

/// A copy, while the sequence goes on.
void Scheduler::take_snapshot(Task& task, SnapshotKind kind) {
  const int64_t position = task.position();
  const auto tokens = std::span<const int32_t>(task.tokens).first(static_cast<size_t>(position));
  if (cache_max() == 0 || cache_->contains(tokens)) return;
  const int64_t before = cache_->size();
  if (!cache_->make_room()) return;
  counters_.snapshots_evicted += before - cache_->size();
  Snapshot snapshot;
  snapshot.position = position;
  snapshot.slot = pool_->take_slot();
  executor_->copy(pool_->slot(snapshot.slot), pool_->slot(task.slot), layout_.bytes());
  snapshot.blocks.assign(
      task.blocks.begin(),
      task.blocks.begin() + static_cast<std::ptrdiff_t>(executor_->blocks_of(position)));
  for (const BlockId block : snapshot.blocks) pool_->share_block(block);
  cache_->insert(tokens, std::move(snapshot), kind);
  ++counters_.snapshots_taken;
}

/// The sequence's own memory becomes the snapshot: it ends or waits.
void Scheduler::leave_snapshot(Task& task, SnapshotKind kind) {
  const int64_t position = task.position();
  const auto tokens = std::span<const int32_t>(task.tokens).first(static_cast<size_t>(position));
  if (cache_max() == 0 || position == 0 || cache_->contains(tokens)) {
    give_back(task);
    return;
  }
  const int64_t before = cache_->size();
  cache_->make_room();
  counters_.snapshots_evicted += before - cache_->size();
  for (const BlockId block : task.blocks) use_block(block, -1);
  const auto needed = static_cast<size_t>(executor_->blocks_of(position));
  for (size_t i = needed; i < task.blocks.size(); ++i) pool_->drop_block(task.blocks[i]);
  task.blocks.resize(needed);
  task.sequence.reset();
  cache_->insert(tokens, {position, task.slot, std::move(task.blocks)}, kind);
  task.blocks.clear();
  task.slot = kNone;
  --running_;
  ++counters_.snapshots_taken;
}

/// The last token of an answer has run, or there is no memory for it.
void Scheduler::close(Task& task) {
  leave_snapshot(task, SnapshotKind::kAnswerEnd);
  task.phase = Task::Phase::kDone;
}

}  // namespace trine::serving
