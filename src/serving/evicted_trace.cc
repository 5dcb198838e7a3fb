#include "serving/evicted_trace.h"

#include "serving/prefix_hash.h"

namespace trine::serving {
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
