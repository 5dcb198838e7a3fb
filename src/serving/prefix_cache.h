// Which prefixes of tokens have a snapshot: a radix tree over tokens. A snapshot is a state slot
// and references to the latent blocks of [0, position); rows of its last block past `position`
// belong to others and mean nothing.
//
// The least valuable goes first (GreedyDual): value = tokens since the next shorter snapshot on its
// path, times a weight of its kind, plus the clock at its last use; the clock rises to the value of
// what was evicted. Of equals the longest unused goes. No locks: the step thread owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "serving/state_pool.h"

namespace trine::serving {

struct Snapshot {
  int64_t position = 0;         ///< tokens covered, at least 1
  SlotId slot = kNone;          ///< kNone where the model keeps no states
  std::vector<BlockId> blocks;  ///< ceil(position / block_tokens); one reference each
};

/// Why a snapshot was taken; the more telling the reason, the longer it stays.
enum class SnapshotKind { kSpacing, kFork, kPromptEnd, kAnswerEnd, kPreempted };

struct PrefixMatch {
  const Snapshot* snapshot = nullptr;  ///< the longest usable one, valid until the next change
  int64_t tokens_known = 0;  ///< leading tokens that the tree has seen (at least the snapshot's)
  /// The tree once had a longer snapshot on this path, evicted since.
  bool evicted_longer = false;
};

class PrefixCache {
 public:
  struct Options {
    int64_t block_tokens = 64;
    int64_t snapshots_max = 0;
  };
  /// The pool must outlive the cache. `on_evict` sees a snapshot with its tokens before it goes
  /// (the file tier writes it); it must not call the cache.
  using Evicted =
      std::function<void(std::span<const int32_t> tokens, const Snapshot&, SnapshotKind)>;
  PrefixCache(const Options& options, StatePool* pool, Evicted on_evict);
  ~PrefixCache();

  /// Longest snapshot of a prefix of tokens[0 .. limit); marks it used.
  PrefixMatch find(std::span<const int32_t> tokens, int64_t limit);
  /// True when exactly this prefix has a snapshot already.
  bool contains(std::span<const int32_t> tokens) const;
  /// Takes the slot and the references over. Replaces nothing: when the prefix has one already,
  /// what was given is released (first stays: equal bits by promise; the more telling kind counts).
  /// Never more than snapshots_max: evicts when full. `tokens` are the covered ones.
  void insert(std::span<const int32_t> tokens, Snapshot snapshot, SnapshotKind kind);
  /// Room for one more: evicts the least valuable when full. False when snapshots_max is 0.
  bool make_room();
  /// Evicts the least valuable snapshot; false when there is none.
  bool evict_one();
  /// Forgets everything, the evicted ones too; `on_evict` is not called.
  void flush();

  int64_t size() const;
  int64_t blocks_held() const;  ///< distinct blocks that snapshots refer to
  /// The tree's own invariants, and every slot and block it holds (tests).
  Status check() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::serving
