// The compiled form of every grammar: rules as automata over bytes that may call rules and count.
//
// A rule is a graph of states from its start to its final state. Edges are byte ranges, nothing
// (epsilon) or calls of other rules. A counting state runs its body between min and max times; the
// count is kept beside the state, so that a million repetitions cost no more states than two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trine/status.h"

namespace trine::grammar {

constexpr int64_t kUnbounded = INT32_MAX;
constexpr int64_t kStatesMax = 400'000;
constexpr int kJsonDepthMax = 64;  ///< open calls; one per level of nesting in JSON
constexpr int kOtherDepthMax = 256;

struct ByteEdge {
  uint8_t low, high;
  int32_t to;
};

struct CallEdge {
  int32_t rule, to;
};

/// A counting state: `body` min to max times, then `next`.
struct Repeat {
  int32_t body, min, max, next;
};

/// Finished and checked: every state can be left towards its rule's end, no rule calls itself
/// before a byte was read. Lists of a state are ranges in the arrays of all states.
struct Program {
  struct State {
    int32_t bytes = 0, calls = 0, epsilons = 0;  ///< where its edges begin; they end at the next's
    int32_t repeat = -1;                         ///< index into repeats
    int32_t rule = 0;
    uint16_t height = 0;  ///< calls that must be open at once to reach the rule's end
    bool is_final = false;
    bool only_final = false;  ///< nothing can happen here but the end of the rule
  };
  struct Rule {
    int32_t start = 0;
    bool nullable = false;
    bool is_short = false;  ///< a few bytes at most: masks are cached with its caller (masks.cc)
  };

  std::vector<State> states;  ///< one more at the end
  std::vector<Rule> rules;
  std::vector<ByteEdge> bytes;  ///< low and high are byte classes
  std::vector<CallEdge> calls;
  std::vector<int32_t> epsilons;
  std::vector<Repeat> repeats;
  int32_t root = 0;
  int depth_max = kJsonDepthMax;
  int class_count = 0;
  uint8_t class_of[256] = {};
  uint8_t byte_of_class[256] = {};  ///< the lowest byte of a class
  uint16_t class_size[256] = {};
};

/// Collects rules; every front end writes through it.
class ProgramBuilder {
 public:
  int32_t add_rule(std::string name);
  const std::string& name(int32_t rule) const { return rules_[static_cast<size_t>(rule)].name; }
  int32_t start(int32_t rule) const { return rules_[static_cast<size_t>(rule)].start; }
  int32_t final(int32_t rule) const { return rules_[static_cast<size_t>(rule)].final; }
  int32_t add_state(int32_t rule);
  int32_t rule_of(int32_t state) const { return states_[static_cast<size_t>(state)].rule; }

  void range(int32_t from, uint8_t low, uint8_t high, int32_t to);
  void epsilon(int32_t from, int32_t to);
  void call(int32_t from, int32_t rule, int32_t to);
  /// The text of `from` onwards to a new state, which is returned.
  int32_t literal(int32_t from, std::string_view text);
  int32_t call(int32_t from, int32_t rule);
  /// body{min,max} after `from`; the state after it is returned. max may be kUnbounded.
  int32_t repeat(int32_t from, int32_t body, int64_t min, int64_t max);

  int64_t state_count() const { return static_cast<int64_t>(states_.size()); }
  bool too_large() const { return state_count() > kStatesMax || edge_count_ > 4 * kStatesMax; }

  /// Trims, checks and packs. kInvalidArgument: no text at all fits, a rule calls itself at its own
  /// beginning (the names are given), or the grammar is too large.
  Result<Program> finish(int32_t root, int depth_max) &&;

 private:
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<int32_t> epsilons;
    int32_t repeat = -1;
    int32_t rule = 0;
  };
  struct Rule {
    std::string name;
    int32_t start, final;
  };
  friend class ProgramPacker;

  std::vector<State> states_;
  std::vector<Rule> rules_;
  std::vector<Repeat> repeats_;
  int64_t edge_count_ = 0;
};

}  // namespace trine::grammar
