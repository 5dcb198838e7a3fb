#include "grammar/stack_sets.h"

#include <algorithm>
#include <utility>

namespace trine::grammar {
namespace {

uint32_t hash_of(const std::vector<Frame>& frames) {
  uint64_t h = 0x9E3779B97F4A7C15u;
  for (const Frame& f : frames) {
    h = (h ^ f.place) * 0xFF51AFD7ED558CCDu;
    h = (h ^ (h >> 32) ^ static_cast<uint64_t>(f.rest)) * 0xC4CEB9FE1A85EC53u;
  }
  return static_cast<uint32_t>(h >> 32);
}

}  // namespace

StackSets::StackSets() : slots_(1024, kNone) {
  nodes_.push_back({0, 0, 0, 0, 0});  // kNone: an empty list
  intern({{kEndPlace, kNone}});       // kEnd
}

int32_t StackSets::intern(const std::vector<Frame>& frames) {
  if (frames.empty()) return kNone;
  const uint32_t hash = hash_of(frames);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const Node& n = nodes_[static_cast<size_t>(slots_[slot])];
    if (n.hash == hash && n.count == frames.size() &&
        std::equal(frames.begin(), frames.end(), frames_.begin() + n.first))
      return slots_[slot];
  }
  Node n{static_cast<uint32_t>(frames_.size()), static_cast<uint32_t>(frames.size()), hash,
         UINT16_MAX, 0};
  for (const Frame& f : frames) {
    const bool end = f.place == kEndPlace;
    const auto low = static_cast<uint16_t>(end ? 0 : std::min(depth_min(f.rest) + 1, 60'000));
    const auto high = static_cast<uint16_t>(end ? 0 : std::min(depth_max(f.rest) + 1, 60'000));
    n.depth_min = std::min(n.depth_min, low);
    n.depth_max = std::max(n.depth_max, high);
  }
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  nodes_.push_back(n);
  const auto id = static_cast<int32_t>(nodes_.size()) - 1;
  slots_[slot] = id;
  if (nodes_.size() * 2 > slots_.size()) grow_slots();
  return id;
}

void StackSets::grow_slots() {
  slots_.assign(slots_.size() * 2, kNone);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 1; i < nodes_.size(); ++i) {
    size_t slot = nodes_[i].hash & mask;
    while (slots_[slot] != kNone) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<int32_t>(i);
  }
}

int32_t StackSets::make(std::vector<Frame> list) {
  std::sort(list.begin(), list.end(), [](const Frame& a, const Frame& b) {
    return a.place != b.place ? a.place < b.place : a.rest < b.rest;
  });
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (kept > 0 && list[kept - 1].place == list[i].place)
      list[kept - 1].rest = join(list[kept - 1].rest, list[i].rest);
    else
      list[kept++] = list[i];
  }
  list.resize(kept);
  return intern(list);
}

int32_t StackSets::join(int32_t a, int32_t b) {
  if (a == b || b == kNone) return a;
  if (a == kNone) return b;
  if (a > b) std::swap(a, b);
  const uint64_t pair = static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b);
  if (const auto found = joined_.find(pair); found != joined_.end()) return found->second;
  const Frames all[] = {frames(a), frames(b)};
  std::vector<Frame> list(all[0].begin(), all[0].end());
  list.insert(list.end(), all[1].begin(), all[1].end());
  const int32_t node = make(std::move(list));
  joined_.emplace(pair, node);
  return node;
}

int32_t StackSets::within(int32_t node, int depth) {
  if (node == kNone || depth_max(node) <= depth) return node;
  if (depth_min(node) > depth) return kNone;
  const Frames all = frames(node);
  std::vector<Frame> list(all.begin(), all.end());
  for (Frame& f : list)
    if (f.place != kEndPlace) f.rest = within(f.rest, depth - 1);
  std::erase_if(list, [](const Frame& f) { return f.place != kEndPlace && f.rest == kNone; });
  return intern(list);
}

int32_t StackSets::import_from(const StackSets& other, int32_t node) {
  std::unordered_map<int32_t, int32_t> known = {{kNone, kNone}, {kEnd, kEnd}};
  std::vector<int32_t> todo = {node};
  while (!todo.empty()) {
    const int32_t top = todo.back();
    if (known.contains(top)) {
      todo.pop_back();
      continue;
    }
    std::vector<Frame> list;
    bool ready = true;
    for (const Frame& f : other.frames(top)) {
      const auto rest = known.find(f.rest);
      if (rest == known.end()) {
        todo.push_back(f.rest);
        ready = false;
      } else {
        list.push_back({f.place, rest->second});
      }
    }
    if (!ready) continue;
    known.emplace(top, intern(list));
    todo.pop_back();
  }
  return known.at(node);
}

int64_t StackSets::memory_bytes() const {
  return static_cast<int64_t>(nodes_.size() * sizeof(Node) + frames_.size() * sizeof(Frame) +
                              slots_.size() * sizeof(int32_t) + joined_.size() * 40);
}

}  // namespace trine::grammar
