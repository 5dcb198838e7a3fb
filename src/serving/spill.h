// Snapshots on their way to the file tier: copied into one staging buffer and written by a thread
// of its own, so that a step never waits for a disk.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "platform/memory.h"
#include "serving/prefix_cache.h"
#include "serving/snapshot_store.h"
#include "serving/state_pool.h"

namespace trine::serving {

class SpillWriter {
 public:
  struct Outcome {
    int64_t written = 0;  ///< snapshots that reached the store
    int64_t skipped = 0;  ///< another was being written, and the caller could not wait
    int64_t failed = 0;
    std::string last_error;
  };

  /// Memory of a staging buffer for snapshots of up to `context` tokens.
  static int64_t staging_bytes(const SnapshotShape& shape, int64_t context);
  /// `store` and `pool` must outlive the writer. kOutOfMemory.
  static Result<std::unique_ptr<SpillWriter>> create(SnapshotStore* store, StatePool* pool,
                                                     const SnapshotShape& shape, int64_t context);
  SpillWriter(SnapshotStore* store, StatePool* pool, SnapshotShape shape,
              Buffer staging);  ///< create's
  /// Ends what is being written.
  ~SpillWriter();

  /// Takes a copy. When another is being written: waits for it with `wait`, else skips this one.
  void offer(std::span<const int32_t> tokens, const Snapshot& snapshot, SnapshotKind kind,
             bool wait);
  /// Returns when nothing is being written.
  void flush();
  Outcome outcome() const;

 private:
  void loop();

  SnapshotStore* store_;
  StatePool* pool_;
  SnapshotShape shape_;
  Buffer staging_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool full_ = false;  ///< the staging buffer holds a snapshot to write
  bool stop_ = false;
  std::vector<int32_t> tokens_;
  SnapshotKind kind_ = SnapshotKind::kSpacing;
  Outcome outcome_;
  std::thread thread_;
};

}  // namespace trine::serving
