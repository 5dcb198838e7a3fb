// A Program made deterministic while it is used: sets of stacks as shared nodes, one state per set.
//
// A node is a set of stacks: a sorted list of frames, each with the set of what may lie below it.
// Equal sets are the same node. A state is a node whose top frames are states with byte edges (or
// the end); its row of next states is filled as bytes are met.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grammar/program.h"

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

class Automaton {
 public:
  static constexpr int32_t kDead = 0;

  explicit Automaton(const Program& program);

  int32_t start();
  /// The state after a byte of this class.
  int32_t next(int32_t state, int byte_class) {
    const int32_t to = rows_[row(state) + static_cast<size_t>(byte_class)];
    return to >= 0 ? to : compute_next(state, byte_class);
  }
  int32_t next_byte(int32_t state, uint8_t byte) { return next(state, program_.class_of[byte]); }
  bool can_end(int32_t state) const { return states_[static_cast<size_t>(state)].can_end; }
  int32_t node(int32_t state) const { return states_[static_cast<size_t>(state)].node; }
  /// Deepest stack (with what it still needs) that any step out of this state has asked for.
  int reach(int32_t state) const { return states_[static_cast<size_t>(state)].reach; }

  int32_t state_of(int32_t node);
  /// The state after the top rule has ended over the stacks of `rest`.
  int32_t after_return(int32_t rest);
  int32_t import_from(const Automaton& other, int32_t state) {
    return state_of(sets_.import_from(other.sets_, other.node(state)));
  }

  /// Some set of stacks was larger than the limits; what was computed since is not to be used.
  bool overflowed() const { return overflowed_; }
  int64_t memory_bytes() const;
  StackSets& sets() { return sets_; }
  const Program& program() const { return program_; }

 private:
  struct State {
    int32_t node;
    int32_t reach;
    bool can_end;
  };
  struct Task {
    Place place;
    int32_t rest;
    bool may_return;  // something was read (or returned) since the rule began
  };
  struct Seen {
    Task task;
    uint32_t stamp;
  };

  size_t row(int32_t state) const {
    return static_cast<size_t>(state) * static_cast<size_t>(program_.class_count);
  }
  int32_t compute_next(int32_t state, int byte_class);
  void begin_closure();
  void visit(Place place, int32_t rest, bool may_return);
  void expand(Task task);
  void expand_call(const CallEdge& call, Task task);
  void expand_repeat(const Repeat& repeat, Task task);
  void enter(int32_t rule, int32_t after, Place frame, int32_t rest);
  int32_t finish_closure();
  bool first_visit(const Task& task);

  const Program& program_;
  StackSets sets_;
  std::vector<State> states_;
  std::vector<int32_t> rows_;                      // -1 = not yet computed
  std::unordered_map<int32_t, int32_t> state_at_;  // of a node
  bool overflowed_ = false;

  // One closure at a time.
  std::vector<Task> tasks_;
  std::vector<Frame> found_;
  std::vector<Seen> seen_;
  uint32_t stamp_ = 0;
  size_t seen_count_ = 0;
  int32_t reach_ = 0;
};

}  // namespace trine::grammar
