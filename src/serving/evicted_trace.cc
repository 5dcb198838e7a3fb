#include "serving/evicted_trace.h"

namespace trine::serving {
namespace {

// A hash that grows token by token (the finaliser of splitmix64).
class PrefixHash {
 public:
  void append(std::span<const int32_t> tokens) {
    for (const int32_t token : tokens) {
      uint64_t h = value_ + 0x9E3779B97F4A7C15u + static_cast<uint32_t>(token);
      h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
      h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
      value_ = h ^ (h >> 31);
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace

void EvictedTrace::add(std::span<const int32_t> tokens) {
  PrefixHash hash;
  hash.append(tokens);
  const Entry entry(static_cast<int64_t>(tokens.size()), hash.value());
  if (!entries_.insert(entry).second) return;  // evicted before; it keeps its place
  in_order_.push_back(entry);
  if (in_order_.size() <= kEntriesMax) return;
  entries_.erase(in_order_.front());
  in_order_.pop_front();
}

bool EvictedTrace::has_longer(std::span<const int32_t> tokens, int64_t length) const {
  PrefixHash hash;
  size_t done = 0;
  for (auto entry = entries_.lower_bound({length + 1, 0}); entry != entries_.end();
       entry = entries_.lower_bound({static_cast<int64_t>(done) + 1, 0})) {
    const auto end = static_cast<size_t>(entry->first);
    if (end > tokens.size()) return false;
    hash.append(tokens.subspan(done, end - done));
    done = end;
    if (entries_.contains({entry->first, hash.value()})) return true;
  }
  return false;
}

void EvictedTrace::clear() {
  in_order_.clear();
  entries_.clear();
}

}  // namespace trine::serving
