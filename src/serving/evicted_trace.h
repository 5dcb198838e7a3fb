// What a prefix cache remembers of the snapshots that it no longer has: lengths and hashes of the
// latest, so that a miss can say that its snapshot was evicted. A hash that collides costs a wrong
// reason in a metric, nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <utility>

namespace trine::serving {

class EvictedTrace {
 public:
  static constexpr size_t kEntriesMax = 1024;

  void add(std::span<const int32_t> tokens);
  /// Whether a prefix of `tokens` with more than `length` tokens is remembered.
  bool has_longer(std::span<const int32_t> tokens, int64_t length) const;
  void clear();
  size_t size() const { return in_order_.size(); }

 private:
  using Entry = std::pair<int64_t, uint64_t>;  ///< length, hash

  std::deque<Entry> in_order_;
  std::set<Entry> entries_;
};

}  // namespace trine::serving
