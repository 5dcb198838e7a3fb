// One buffer, one thread.
#include "serving/spill.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"

namespace trine::serving {

int64_t SpillWriter::staging_bytes(const SnapshotShape& shape, int64_t context) {
  return shape.state_bytes + shape.blocks_of(context) * shape.block_bytes;
}

Result<std::unique_ptr<SpillWriter>> SpillWriter::create(SnapshotStore* store, StatePool* pool,
                                                         const SnapshotShape& shape,
                                                         int64_t context) {
  TRINE_ASSIGN_OR_RETURN(Buffer staging, Buffer::allocate(staging_bytes(shape, context)));
  return std::make_unique<SpillWriter>(store, pool, shape, std::move(staging));
}

SpillWriter::SpillWriter(SnapshotStore* store, StatePool* pool, SnapshotShape shape, Buffer staging)
    : store_(store), pool_(pool), shape_(std::move(shape)), staging_(std::move(staging)) {
  thread_ = std::thread([this] { loop(); });
}

SpillWriter::~SpillWriter() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SpillWriter::offer(std::span<const int32_t> tokens, const Snapshot& snapshot,
                        SnapshotKind kind, bool wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (full_ && !wait) {
    ++outcome_.skipped;
    return;
  }
  changed_.wait(lock, [&] { return !full_; });
  std::byte* to = staging_.data();
  std::memcpy(to, pool_->slot(snapshot.slot), static_cast<size_t>(shape_.state_bytes));
  to += shape_.state_bytes;
  for (const BlockId block : snapshot.blocks) {
    std::memcpy(to, pool_->block(block), static_cast<size_t>(shape_.block_bytes));
    to += shape_.block_bytes;
  }
  tokens_.assign(tokens.begin(), tokens.end());
  kind_ = kind;
  full_ = true;
  changed_.notify_all();
}

void SpillWriter::flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !full_; });
}

SpillWriter::Outcome SpillWriter::outcome() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return outcome_;
}

void SpillWriter::loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return full_ || stop_; });
    if (!full_) return;
    lock.unlock();  // while full_ is set nobody else touches the buffer
    const std::byte* data = staging_.data();
    const Status status = store_->put(
        tokens_, kind_, {data, static_cast<size_t>(shape_.state_bytes)},
        [&](int64_t index) { return data + shape_.state_bytes + index * shape_.block_bytes; });
    lock.lock();
    if (status.ok()) {
      ++outcome_.written;
    } else {
      ++outcome_.failed;
      outcome_.last_error = status.message();
    }
    full_ = false;
    changed_.notify_all();
  }
}

}  // namespace trine::serving
