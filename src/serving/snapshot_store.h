// The file tier of the prefix cache (--snapshot-dir): one file per snapshot (snapshot_file.h),
// found by its tokens, kept within a budget of bytes, there again after a restart.
//
// One server per folder: a lock file keeps the second one out. What the store did not write it
// neither deletes nor replaces: files of other models, damaged ones and strangers are ignored, each
// with its reason, and do not count. All calls are thread-safe; files are read and written outside
// the lock, so put may run on a writer thread while the step thread looks things up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving/snapshot_file.h"
#include "trine/status.h"

namespace trine::serving {

struct StoredSnapshot {
  std::string name;  ///< of its file
  int64_t position = 0;
  int64_t bytes = 0;
  SnapshotKind kind = SnapshotKind::kSpacing;
};

class SnapshotStore {
 public:
  struct Options {
    std::string folder;  ///< made when it is missing (its parent must exist)
    SnapshotShape shape;
    int64_t budget_bytes = 0;
  };
  struct Ignored {
    std::string name, reason;
  };
  struct Usage {
    int64_t files = 0, bytes = 0;
  };
  static constexpr int64_t kIgnoredListedMax = 100;

  /// Reads headers and tokens of what is there, removes the store's own partial files, and deletes
  /// the longest unused where the budget has shrunk. kBusy: another server has the folder; kIo and
  /// kNotFound: it cannot be read or written; kInvalidArgument: sizes.
  static Result<std::unique_ptr<SnapshotStore>> open(Options options);
  struct Impl;
  explicit SnapshotStore(std::unique_ptr<Impl> impl);  ///< for open
  ~SnapshotStore();

  /// Keeps a snapshot, deleting the longest unused ones to make room. Success also when it is
  /// there, or being written, already. kOutOfMemory: larger than the budget; kBusy: the budget is
  /// taken by what other threads write right now; kIo (disk full, folder gone): nothing is kept.
  Status put(std::span<const int32_t> tokens, SnapshotKind kind, std::span<const std::byte> state,
             const BlockSource& blocks);
  /// The longest stored prefix of tokens[0 .. limit).
  std::optional<StoredSnapshot> find(std::span<const int32_t> tokens, int64_t limit) const;
  /// Reads what find has found for the same tokens. On an error the buffers are worthless:
  /// kCorrupt: the file was damaged, it is now NAME.damaged; kNotFound: it vanished, or is of other
  /// tokens. Both are found no more.
  Status load(const StoredSnapshot& stored, std::span<const int32_t> tokens,
              std::span<std::byte> state, const BlockTarget& blocks);
  /// Deletes all that the store keeps.
  Status clear();

  Usage usage() const;
  /// What the scan at the start passed over, kIgnoredListedMax at most, and how many it were.
  const std::vector<Ignored>& ignored() const;
  int64_t ignored_count() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::serving
