// A Program made deterministic while it is used: sets of stacks as shared nodes, one state per set.
//
// A state is a set of stacks (stack_sets.h) whose top frames are states with byte edges, or the
// end; its row of next states is filled as bytes are met.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "grammar/program.h"
#include "grammar/stack_sets.h"

namespace trine::grammar {

/// ASCII that stands for itself inside JSON strings.
constexpr bool is_plain(uint8_t byte) {
  return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

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

  /// Every plain byte leads back here (the inside of a string).
  bool loops_on_plain(int32_t state) {
    const Loop known = states_[static_cast<size_t>(state)].loop;
    return known == Loop::kUnknown ? find_loop(state) : known == Loop::kYes;
  }

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
  enum class Loop : uint8_t { kUnknown, kNo, kYes };
  struct State {
    int32_t node;
    int32_t reach;
    bool can_end;
    Loop loop = Loop::kUnknown;
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
  bool find_loop(int32_t state);
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
