// Sets of stacks as shared nodes: equal sets are the same node, so that they compare by number.
//
// A node is a sorted list of frames, each with the set (node) of what may lie below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trine::grammar {

/// state << 32 | count: a place in a rule. The end of the text lies below every stack.
using Place = uint64_t;
constexpr Place kEndPlace = UINT64_MAX;

struct Frame {
  Place place;
  int32_t rest;  ///< node
  bool operator==(const Frame&) const = default;
};

class StackSets {
 public:
  static constexpr int32_t kNone = 0;  ///< no stack
  static constexpr int32_t kEnd = 1;   ///< the empty stack alone

  StackSets();
  /// The node with one frame.
  int32_t single(Place place, int32_t rest) { return intern({{place, rest}}); }
  /// Sorts the frames, joins those of one place.
  int32_t make(std::vector<Frame> frames);
  int32_t join(int32_t a, int32_t b);
  /// The stacks of at most that many frames.
  int32_t within(int32_t node, int depth);
  /// The same set of `other`'s stacks, here.
  int32_t import_from(const StackSets& other, int32_t node);

  struct Frames {
    const Frame* first;
    const Frame* last;
    const Frame* begin() const { return first; }
    const Frame* end() const { return last; }
  };
  /// Valid until the next node is made.
  Frames frames(int32_t node) const {
    const Node& n = nodes_[static_cast<size_t>(node)];
    return {frames_.data() + n.first, frames_.data() + n.first + n.count};
  }
  int depth_min(int32_t node) const { return nodes_[static_cast<size_t>(node)].depth_min; }
  int depth_max(int32_t node) const { return nodes_[static_cast<size_t>(node)].depth_max; }
  int64_t memory_bytes() const;

 private:
  struct Node {
    uint32_t first;
    uint32_t count;
    uint32_t hash;
    uint16_t depth_min, depth_max;
  };

  int32_t intern(const std::vector<Frame>& frames);
  void grow_slots();

  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::vector<int32_t> slots_;  // open addressing, at most half full; kNone = free
  std::unordered_map<uint64_t, int32_t> joined_;
};

}  // namespace trine::grammar
