// The step thread and what other threads may say to it.
#include "serving/model_service.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/try.h"
#include "serving/model_executor.h"
#include "serving/model_hash.h"
#include "serving/snapshot_store.h"
#include "serving/spill.h"

namespace trine::serving {

struct ModelService::Impl {
  ModelServiceOptions options;
  ServicePlan plan;
  std::vector<int32_t> end_tokens;
  std::unique_ptr<ModelExecutor> executor;
  // The step thread's alone, once it runs:
  std::unique_ptr<StatePool> pool;
  std::unique_ptr<SnapshotStore> store;  ///< null without a snapshot_dir
  std::unique_ptr<SpillWriter> spill;
  std::unique_ptr<PrefixCache> cache;
  bool stopping = false;  ///< evictions may wait for the disk
  std::unique_ptr<Scheduler> scheduler;
  std::thread thread;

  struct Submitted {
    RequestId id;
    Request request;
    std::shared_ptr<Sink> sink;
  };
  mutable std::mutex mutex;
  std::condition_variable wake;   ///< the step thread: something was said
  std::condition_variable quiet;  ///< who drains: nothing runs
  std::vector<Submitted> submitted;
  std::vector<RequestId> cancelled;
  RequestId next_id = 1;
  bool flush = false, stop = false, draining = false, cancel_all = false;
  bool busy = false;    ///< the scheduler had work after its last step
  int64_t waiting = 0;  ///< in the scheduler, after its last step
  int64_t refused = 0;
  int64_t restored = 0;  ///< snapshots that came from files
  Gauges gauges;
  Counters counters;

  Status build(const std::string& folder);
  Status open_store(const std::string& folder);
  void prefetch(std::span<const int32_t> tokens, int64_t known);
  bool take_memory(int64_t blocks, Snapshot* snapshot);
  void loop();
  /// Takes over what was said. False: stop.
  bool listen(std::unique_lock<std::mutex>& lock);
  void publish();
};

Status ModelService::Impl::build(const std::string& folder) {
  const PagedModel::Planner planner =
      [&](const PagedModel::Terms& terms) -> Result<PagedModel::Sizes> {
    TRINE_ASSIGN_OR_RETURN(plan, plan_service(terms, options.memory));
    PagedModel::Sizes sizes;
    sizes.context = plan.context;
    sizes.prefill_chunk = terms.prefill_chunk;
    sizes.pass_rows = plan.pass_rows;
    sizes.memory.weight_bytes = plan.weight_bytes;
    sizes.memory.activation_bytes = plan.activation_bytes;
    sizes.memory.state_bytes = (plan.concurrency + plan.snapshots) * plan.slot_bytes;
    sizes.memory.latent_bytes = plan.blocks * plan.block_bytes;
    sizes.memory.total_bytes = plan.total_bytes;
    sizes.memory.available_bytes = plan.limit_bytes;
    return sizes;
  };
  TRINE_ASSIGN_OR_RETURN(PagedModel paged, PagedModel::load(folder, options.load, planner));
  executor = std::make_unique<ModelExecutor>(std::move(paged));

  TRINE_ASSIGN_OR_RETURN(
      StatePool memory, StatePool::create({.slots = plan.concurrency + plan.snapshots,
                                           .slot_bytes = plan.slot_bytes,
                                           .blocks = plan.blocks,
                                           .block_bytes = plan.block_bytes,
                                           .poison = options.poison,
                                           .fill = [this](std::byte* to, int value, int64_t bytes) {
                                             executor->paged().fill(to, value, bytes);
                                           }}));
  pool = std::make_unique<StatePool>(std::move(memory));
  cache = std::make_unique<PrefixCache>(
      PrefixCache::Options{.block_tokens = executor->block_tokens(),
                           .snapshots_max = plan.snapshots},
      pool.get(),
      [this](std::span<const int32_t> tokens, const Snapshot& snapshot, SnapshotKind kind) {
        // Files hold all rows of a prefix: those in the middle of a prompt would cost too much.
        if (spill != nullptr && kind != SnapshotKind::kSpacing)
          spill->offer(tokens, snapshot, kind, stopping);
      });
  if (!options.snapshot_dir.empty()) TRINE_RETURN_IF_ERROR(open_store(folder));

  for (const int64_t id : executor->paged().model.eos_token_ids())
    end_tokens.push_back(static_cast<int32_t>(id));
  for (const int32_t id : options.end_tokens) {
    if (std::find(end_tokens.begin(), end_tokens.end(), id) == end_tokens.end())
      end_tokens.push_back(id);
  }
  scheduler = std::make_unique<Scheduler>(
      SchedulerOptions{.context = plan.context,
                       .concurrency = plan.concurrency,
                       .queue_max = options.queue_max,
                       .snapshot_spacing = options.snapshot_spacing,
                       .step_ms = options.step_ms,
                       .end_tokens = end_tokens},
      executor.get(), pool.get(), cache.get(),
      Scheduler::Hooks{.now = [] { return Clock::now(); },
                       .prefetch = store == nullptr
                                       ? Scheduler::Prefetch()
                                       : [this](std::span<const int32_t> tokens,
                                                int64_t known) { prefetch(tokens, known); },
                       .admitted = options.admitted});
  publish();
  return {};
}

Status ModelService::Impl::open_store(const std::string& folder) {
  TRINE_ASSIGN_OR_RETURN(std::string hash, model_hash(folder, executor->paged(), options.load));
  SnapshotShape shape{.model_hash = std::move(hash),
                      .state_bytes = plan.slot_bytes,
                      .block_tokens = executor->block_tokens(),
                      .block_bytes = executor->block_bytes(),
                      .block_planes = executor->block_planes()};
  TRINE_ASSIGN_OR_RETURN(store, SnapshotStore::open({.folder = options.snapshot_dir,
                                                     .shape = shape,
                                                     .budget_bytes = options.snapshot_dir_bytes}));
  TRINE_ASSIGN_OR_RETURN(spill, SpillWriter::create(store.get(), pool.get(), shape, plan.context));
  return {};
}

/// A slot and blocks for a snapshot that comes from a file; other snapshots give way.
bool ModelService::Impl::take_memory(int64_t blocks, Snapshot* snapshot) {
  if (!cache->make_room()) return false;
  snapshot->slot = pool->take_slot();
  while (static_cast<int64_t>(snapshot->blocks.size()) < blocks) {
    const BlockId block = pool->take_block();
    if (block != kNone) {
      snapshot->blocks.push_back(block);
    } else if (!cache->evict_one()) {
      return false;
    }
  }
  return true;
}

/// Brings the longest prefix of `tokens` that has a file into the cache, if that is worth reading.
void ModelService::Impl::prefetch(std::span<const int32_t> tokens, int64_t known) {
  const auto stored = store->find(tokens, static_cast<int64_t>(tokens.size()));
  if (!stored || stored->position < known + executor->block_tokens()) return;
  Snapshot snapshot;
  snapshot.position = stored->position;
  bool ok = take_memory(executor->blocks_of(stored->position), &snapshot);
  if (ok) {
    const Status status = store->load(
        *stored, tokens, {pool->slot(snapshot.slot), static_cast<size_t>(plan.slot_bytes)},
        [&](int64_t index) { return pool->block(snapshot.blocks[static_cast<size_t>(index)]); });
    ok = status.ok();
  }
  if (ok) {
    ++restored;
    const auto covered = tokens.first(static_cast<size_t>(snapshot.position));
    cache->insert(covered, std::move(snapshot), stored->kind);
    return;
  }
  if (snapshot.slot != kNone) pool->give_slot(snapshot.slot);
  for (const BlockId block : snapshot.blocks) pool->drop_block(block);
}

Result<std::unique_ptr<ModelService>> ModelService::start(const std::string& folder,
                                                          ModelServiceOptions options) {
  const auto refuse = [](const std::string& what) { return Status(Code::kInvalidArgument, what); };
  if (options.queue_max < 1) return refuse("queue is 0, expected at least 1 place");
  if (options.snapshot_spacing < 1)
    return refuse("snapshot spacing is 0, expected 1 or more tokens");
  if (!(options.step_ms > 0)) return refuse("step_ms is not positive");
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->options.memory.staging = !impl->options.snapshot_dir.empty();
  TRINE_RETURN_IF_ERROR(impl->build(folder));
  impl->thread = std::thread([raw = impl.get()] { raw->loop(); });
  return std::make_unique<ModelService>(std::move(impl));
}

ModelService::ModelService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ModelService::~ModelService() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
}

void ModelService::Impl::loop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (listen(lock)) {
    lock.unlock();
    const bool more = scheduler->step();
    lock.lock();
    busy = more;
    publish();
    if (!busy && submitted.empty()) quiet.notify_all();
  }
  lock.unlock();
  scheduler->cancel_all();
  if (spill != nullptr) {  // so that a restart finds them
    stopping = true;
    while (cache->evict_one()) continue;
    spill->flush();
  }
  lock.lock();
  busy = false;
  publish();
  quiet.notify_all();
}

bool ModelService::Impl::listen(std::unique_lock<std::mutex>& lock) {
  wake.wait(lock, [&] {
    return busy || stop || flush || cancel_all || !submitted.empty() || !cancelled.empty();
  });
  // What was submitted is told its end even when we stop.
  for (Submitted& s : submitted) scheduler->enqueue(s.id, std::move(s.request), std::move(s.sink));
  submitted.clear();
  for (const RequestId id : cancelled) scheduler->cancel(id);
  cancelled.clear();
  waiting = scheduler->waiting();
  if (flush) cache->flush();
  if (flush && store != nullptr) static_cast<void>(store->clear());
  flush = false;
  if (cancel_all) {
    lock.unlock();
    scheduler->cancel_all();
    lock.lock();
    cancel_all = false;
  }
  return !stop;
}

void ModelService::Impl::publish() {
  scheduler->fill(&gauges);
  counters = scheduler->counters();
  counters.snapshots_restored = restored;
  if (store != nullptr) {
    counters.snapshots_spilled = spill->outcome().written;
    const SnapshotStore::Usage usage = store->usage();
    gauges.spilled_snapshots = usage.files;
    gauges.spilled_bytes = usage.bytes;
  }
  waiting = gauges.waiting;
}

Result<RequestId> ModelService::submit(Request request, std::shared_ptr<Sink> sink) {
  Status status = impl_->scheduler->check_request(request);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const int64_t waiting = impl_->waiting + static_cast<int64_t>(impl_->submitted.size());
  if (status.ok() && (impl_->draining || impl_->stop))
    status = Status(Code::kBusy, "the server is shutting down");
  // A free slot is no queue: as many as can run are taken beside those that wait.
  const int64_t free = impl_->plan.concurrency - impl_->gauges.running;
  if (status.ok() && waiting >= impl_->options.queue_max + std::max<int64_t>(free, 0)) {
    status = Status(Code::kBusy, "all " + std::to_string(impl_->options.queue_max) +
                                     " places of the queue are taken; try again later");
  }
  if (!status.ok()) {
    ++impl_->refused;
    return status;
  }
  const RequestId id = impl_->next_id++;
  impl_->submitted.push_back({id, std::move(request), std::move(sink)});
  impl_->wake.notify_all();
  return id;
}

void ModelService::cancel(RequestId id) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->cancelled.push_back(id);
  impl_->wake.notify_all();
}

void ModelService::flush_cache() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->flush = true;
  impl_->wake.notify_all();
}

void ModelService::drain(Clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->draining = true;
  const auto done = [&] { return !impl_->busy && impl_->submitted.empty(); };
  if (impl_->quiet.wait_until(lock, deadline, done)) return;
  impl_->cancel_all = true;
  impl_->wake.notify_all();
  impl_->quiet.wait(lock, done);
}

Gauges ModelService::gauges() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  Gauges gauges = impl_->gauges;
  gauges.waiting = impl_->waiting + static_cast<int64_t>(impl_->submitted.size());
  return gauges;
}

Counters ModelService::counters() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  Counters counters = impl_->counters;
  counters.refused += impl_->refused;
  return counters;
}

int64_t ModelService::context() const { return impl_->plan.context; }
int64_t ModelService::vocab_size() const { return impl_->executor->vocab_size(); }
const ServicePlan& ModelService::plan() const { return impl_->plan; }
const Model& ModelService::model() const { return impl_->executor->paged().model; }
const std::vector<int32_t>& ModelService::end_tokens() const { return impl_->end_tokens; }

}  // namespace trine::serving
