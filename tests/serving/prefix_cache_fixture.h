// A pool, a cache on it, and snapshots as sequences would make them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "serving/prefix_cache.h"

namespace trine::serving {

using Tokens = std::vector<int32_t>;

inline Tokens text(const std::string& letters) { return Tokens(letters.begin(), letters.end()); }

class CacheOnPool {
 public:
  explicit CacheOnPool(PrefixCache::Options options, StatePool::Options pool_options = roomy())
      : options_(options),
        pool_(StatePool::create(std::move(pool_options)).value()),
        cache_(
            options, &pool_,
            [this](std::span<const int32_t> tokens, const Snapshot& snapshot, SnapshotKind kind) {
              EXPECT_EQ(snapshot.position, static_cast<int64_t>(tokens.size()));
              evicted.emplace_back(Tokens(tokens.begin(), tokens.end()), kind);
            }) {}

  static StatePool::Options roomy() {
    return {.slots = 64, .slot_bytes = 8, .blocks = 512, .block_bytes = 8, .poison = true};
  }

  // Shares the full blocks of the longest shorter snapshot, as a sequence does that began there.
  std::optional<Snapshot> snapshot(const Tokens& tokens) {
    const auto position = static_cast<int64_t>(tokens.size());
    Snapshot snapshot{.position = position, .slot = kNone, .blocks = {}};
    if (pool_.options().slot_bytes > 0) {
      snapshot.slot = pool_.take_slot();
      if (snapshot.slot == kNone) return std::nullopt;
    }
    const PrefixMatch match = cache_.find(tokens, position);
    const int64_t shared =
        match.snapshot == nullptr ? 0 : match.snapshot->position / options_.block_tokens;
    for (int64_t block = 0; block * options_.block_tokens < position; ++block) {
      BlockId id = kNone;
      if (block < shared) {
        id = match.snapshot->blocks[static_cast<size_t>(block)];
        pool_.share_block(id);
      } else {
        id = pool_.take_block();
      }
      if (id == kNone) {
        release(snapshot);
        return std::nullopt;
      }
      snapshot.blocks.push_back(id);
    }
    return snapshot;
  }

  void release(const Snapshot& snapshot) {
    if (snapshot.slot != kNone) pool_.give_slot(snapshot.slot);
    for (const BlockId block : snapshot.blocks) pool_.drop_block(block);
  }

  bool insert(const Tokens& tokens, SnapshotKind kind = SnapshotKind::kSpacing) {
    auto made = snapshot(tokens);
    if (!made) return false;
    cache_.insert(tokens, *std::move(made), kind);
    return true;
  }

  int64_t found(const Tokens& tokens) {
    const PrefixMatch match = cache_.find(tokens, static_cast<int64_t>(tokens.size()));
    return match.snapshot == nullptr ? 0 : match.snapshot->position;
  }

  int64_t known(const Tokens& tokens) {
    return cache_.find(tokens, static_cast<int64_t>(tokens.size())).tokens_known;
  }

  // No record leaks: every slot and reference out of the pool is the cache's.
  void check() const {
    const Status cache = cache_.check();
    ASSERT_TRUE(cache.ok()) << cache.message();
    const Status pool = pool_.check();
    ASSERT_TRUE(pool.ok()) << pool.message();
    const int64_t slots = pool_.options().slot_bytes > 0 ? cache_.size() : 0;
    ASSERT_EQ(pool_.slots_free(), pool_.options().slots - slots);
    ASSERT_EQ(pool_.blocks_free(), pool_.options().blocks - cache_.blocks_held());
  }

  StatePool& pool() { return pool_; }
  PrefixCache& operator*() { return cache_; }
  PrefixCache* operator->() { return &cache_; }

  std::vector<std::pair<Tokens, SnapshotKind>> evicted;

 private:
  PrefixCache::Options options_;
  StatePool pool_;
  PrefixCache cache_;
};

}  // namespace trine::serving
