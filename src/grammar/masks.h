// Masks of one grammar over one vocabulary, shared by all matchers of the pair.
//
// The trie is walked once per place in a rule, over an unknown stack: what stays inside the rule is
// allowed whatever lies below, and where the rule ends (an exit) the rest of the token is walked
// with the real stack. So a mask is some cached bits, and a short walk from the exits.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/grammar.h"

namespace trine::grammar {

class MaskCache {
 public:
  /// A state with the automaton that numbers it.
  struct Position {
    std::shared_ptr<void> epoch;
    int32_t state = Automaton::kDead;
    bool can_end = false;
  };

  MaskCache(const Program& program, std::shared_ptr<const TokenTable> table);

  Position start();
  /// Makes the cached walks of places that many tokens stay in.
  void prepare();
  Status fill(Position* position, std::span<uint64_t> bits);
  /// kInvalidArgument, and no change, when the bytes cannot follow.
  Status advance(Position* position, std::string_view bytes);
  std::string forced(Position* position, int64_t bytes_max);
  const TokenTable& table() const { return *table_; }
  const std::shared_ptr<const TokenTable>& shared_table() const { return table_; }

 private:
  struct Local {
    std::vector<uint64_t> bits;  // one of both: many tokens as bits, few as ids
    std::vector<int32_t> ids;
    std::vector<uint32_t> exits;  // nodes with children
    int reach = 0;                // depth asked for above the unknown stack
    int64_t memory_bytes() const;
  };
  struct Chain {  // frames that are cached together, top first, and what lies below
    std::vector<Place> places;
    int32_t rest;
  };

  std::shared_ptr<Automaton> current(Position* position);
  void place(Position* position, const std::shared_ptr<Automaton>& automaton, int32_t state);
  bool add_chains(Automaton* automaton, int32_t node, const Chain& chain,
                  std::vector<Chain>* chains) const;
  Place clamped(Place place) const;
  const Local& local(Automaton* automaton, const Chain& chain);
  int walk(Automaton* automaton, int32_t state, uint32_t from, std::span<uint64_t> bits,
           std::vector<uint32_t>* exits);
  bool add_chain(Automaton* automaton, const Chain& chain, std::span<uint64_t> bits);
  Status overflow() const;

  const Program& program_;
  std::shared_ptr<const TokenTable> table_;
  std::mutex mutex_;  // all below
  std::shared_ptr<Automaton> automaton_;
  std::unordered_map<int32_t, Local> locals_;  // by state
  int64_t locals_bytes_ = 0;
  std::vector<int32_t> walk_states_;  // by depth
};

}  // namespace trine::grammar
