// A linked list of parts and a heap of the pairs that could merge; stale pairs are skipped.
#include "text/bpe.h"

#include <algorithm>
#include <tuple>

namespace trine {

// Adds the pair of the part at `at` and the one after it, if that is a token.
void BpeMerger::propose(std::string_view piece, uint32_t at) {
  const uint32_t next = at + parts_[at].bytes;
  if (next >= piece.size()) return;
  const uint32_t bytes = parts_[at].bytes + parts_[next].bytes;
  const int32_t rank = vocabulary_.find(piece.substr(at, bytes));
  if (rank < 0) return;
  heap_.push_back({rank, at, bytes});
}

void BpeMerger::append_ids(std::string_view piece, std::vector<int32_t>* ids) {
  if (const int32_t whole = vocabulary_.find(piece); whole >= 0) {
    ids->push_back(whole);
    return;
  }
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
  };
  const auto size = static_cast<uint32_t>(piece.size());
  parts_.resize(piece.size());
  for (uint32_t i = 0; i < size; ++i) parts_[i] = {1, i == 0 ? 0 : i - 1};
  heap_.clear();
  for (uint32_t i = 0; i < size; ++i) propose(piece, i);
  std::make_heap(heap_.begin(), heap_.end(), later);

  const auto propose_sorted = [&](uint32_t at) {
    const size_t before = heap_.size();
    propose(piece, at);
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end(), later);
  };
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    Part& left = parts_[best.at];
    const uint32_t next = best.at + left.bytes;
    if (left.bytes == 0 || next >= size || left.bytes + parts_[next].bytes != best.bytes) continue;
    left.bytes = best.bytes;
    parts_[next].bytes = 0;
    if (best.at + best.bytes < size) parts_[best.at + best.bytes].previous = best.at;
    if (best.at > 0) propose_sorted(left.previous);
    propose_sorted(best.at);
  }
  for (uint32_t at = 0; at < size; at += parts_[at].bytes)
    ids->push_back(vocabulary_.find(piece.substr(at, parts_[at].bytes)));
}

}  // namespace trine
