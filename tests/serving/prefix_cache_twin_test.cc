// The radix tree against a twin without a tree: same answers, same evictions, whatever is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>

#include "serving/evicted_trace.h"
#include "serving/prefix_cache.h"
#include "serving/prefix_cache_fixture.h"

namespace trine::serving {
namespace {

bool is_prefix(const Tokens& prefix, std::span<const int32_t> tokens) {
  return prefix.size() <= tokens.size() && std::equal(prefix.begin(), prefix.end(), tokens.begin());
}

// What the cache should do, written without a tree.
class Twin {
 public:
  explicit Twin(int64_t snapshots_max) : snapshots_max_(snapshots_max) {}

  struct Found {
    int64_t position = 0;
    int64_t known = 0;
    bool evicted_longer = false;
  };
  Found find(Tokens tokens, int64_t limit) {
    tokens.resize(static_cast<size_t>(std::clamp<int64_t>(limit, 0, std::ssize(tokens))));
    Found found;
    const Tokens* best = nullptr;
    for (const auto& [key, entry] : entries_) {
      const auto common =
          std::mismatch(key.begin(), key.end(), tokens.begin(), tokens.end()).first - key.begin();
      found.known = std::max<int64_t>(found.known, common);
      if (is_prefix(key, tokens) && std::ssize(key) > found.position) {
        found.position = std::ssize(key);
        best = &key;
      }
    }
    if (best != nullptr) use(&entries_.at(*best));
    for (const Tokens& gone : trace_) {
      found.evicted_longer |= is_prefix(gone, tokens) && std::ssize(gone) > found.position;
    }
    return found;
  }
  void insert(const Tokens& tokens, SnapshotKind kind) {
    if (const auto it = entries_.find(tokens); it != entries_.end()) {
      it->second.kind = std::max(it->second.kind, kind);
      use(&it->second);
      return;
    }
    while (std::ssize(entries_) >= snapshots_max_) evict_one();
    entries_[tokens].kind = kind;
    use(&entries_[tokens]);
  }
  void evict_one() {
    constexpr int64_t kWeights[] = {1, 8, 16, 24, 64};
    const Tokens* least = nullptr;
    std::pair<int64_t, uint64_t> least_value;  // value, age
    for (const auto& [key, entry] : entries_) {
      int64_t shorter = 0;
      for (const auto& [other, ignored] : entries_) {
        if (other.size() < key.size() && is_prefix(other, key)) {
          shorter = std::max<int64_t>(shorter, std::ssize(other));
        }
      }
      const std::pair value(
          entry.clock + (std::ssize(key) - shorter) * kWeights[static_cast<size_t>(entry.kind)],
          entry.age);
      if (least == nullptr || value < least_value) {
        least = &key;
        least_value = value;
      }
    }
    if (least == nullptr) return;
    clock_ = std::max(clock_, least_value.first);
    evicted.emplace_back(*least, entries_.at(*least).kind);
    if (std::find(trace_.begin(), trace_.end(), *least) == trace_.end()) trace_.push_back(*least);
    if (trace_.size() > EvictedTrace::kEntriesMax) trace_.pop_front();
    entries_.erase(Tokens(*least));
  }
  void flush() {
    entries_.clear();
    trace_.clear();
  }
  bool contains(const Tokens& tokens) const { return entries_.contains(tokens); }
  int64_t size() const { return std::ssize(entries_); }

  std::vector<std::pair<Tokens, SnapshotKind>> evicted;

 private:
  struct Entry {
    SnapshotKind kind = SnapshotKind::kSpacing;
    int64_t clock = 0;
    uint64_t age = 0;
  };
  void use(Entry* entry) {
    entry->clock = clock_;
    entry->age = ++age_;
  }

  int64_t snapshots_max_;
  std::map<Tokens, Entry> entries_;
  std::deque<Tokens> trace_;
  int64_t clock_ = 0;
  uint64_t age_ = 0;
};

class AgainstTwin : public ::testing::TestWithParam<uint32_t> {};

TEST_P(AgainstTwin, SameAnswersAndSameEvictions) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937 random(GetParam());
  const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random()) % n; };
  const int64_t budget = 1 + below(12);
  const uint32_t alphabet = 1 + below(3);
  const uint32_t length_max = 4 + below(24);
  CacheOnPool cache(
      {.block_tokens = 1 + below(5), .snapshots_max = budget},
      {.slots = budget + 2, .slot_bytes = 8, .blocks = 200, .block_bytes = 8, .poison = true});
  Twin twin(budget);
  for (int step = 0; step < 3000; ++step) {
    Tokens tokens(below(length_max));
    for (int32_t& token : tokens) token = static_cast<int32_t>(below(alphabet));
    const uint32_t action = below(100);
    if (action < 45 && !tokens.empty()) {
      const auto kind = static_cast<SnapshotKind>(below(5));
      // Taking the snapshot looks the prefix up, which the twin has to see.
      twin.find(tokens, std::ssize(tokens));
      ASSERT_TRUE(cache.insert(tokens, kind));
      twin.insert(tokens, kind);
    } else if (action < 85) {
      const int64_t limit = static_cast<int64_t>(below(length_max + 2)) - 1;
      const PrefixMatch match = cache->find(tokens, limit);
      const Twin::Found expected = twin.find(tokens, limit);
      ASSERT_EQ(match.snapshot == nullptr ? 0 : match.snapshot->position, expected.position);
      ASSERT_EQ(match.tokens_known, expected.known);
      ASSERT_EQ(match.evicted_longer, expected.evicted_longer);
    } else if (action < 90) {
      ASSERT_EQ(cache->contains(tokens), twin.contains(tokens));
    } else if (action < 99) {
      ASSERT_EQ(cache->evict_one(), twin.size() > 0);
      twin.evict_one();
    } else if (below(10) == 0) {
      cache->flush();
      twin.flush();
    }
    ASSERT_EQ(cache->size(), twin.size());
    ASSERT_EQ(cache.evicted, twin.evicted);
    ASSERT_NO_FATAL_FAILURE(cache.check());
    cache.evicted.clear();
    twin.evicted.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstTwin, ::testing::Range(1u, 21u));

}  // namespace
}  // namespace trine::serving
