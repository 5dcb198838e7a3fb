#include "grammar/regex.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/try.h"
#include "grammar/regex_syntax.h"

namespace trine::grammar {
namespace {

constexpr size_t kNfaStatesMax = 50'000;
constexpr int64_t kWorkMax = 20'000'000;  ///< steps of the subset construction

size_t index(int32_t i) { return static_cast<size_t>(i); }

struct Nfa {
  struct State {
    CharSet chars;  // leads to `to`
    int32_t to = -1;
    std::vector<int32_t> epsilons, at_begin, at_end;  // always; at the text's begin; at its end
  };
  std::vector<State> states;

  int32_t add() {
    states.emplace_back();
    return static_cast<int32_t>(states.size()) - 1;
  }
  State& operator[](int32_t i) { return states[index(i)]; }
};

// Appends a node's language after `from`; returns where it ends.
Result<int32_t> append(const RegexNode& node, int32_t from, Nfa* nfa) {
  if (nfa->states.size() > kNfaStatesMax)
    return Status(Code::kInvalidArgument, "pattern: its repetitions unfold to more than " +
                                              std::to_string(kNfaStatesMax) + " states");
  const int32_t end = nfa->add();
  switch (node.kind) {
    case RegexNode::Kind::kChars: {
      const int32_t state = nfa->add();
      (*nfa)[from].epsilons.push_back(state);
      (*nfa)[state].chars = node.chars;
      (*nfa)[state].to = end;
      return end;
    }
    case RegexNode::Kind::kBegin: return (*nfa)[from].at_begin.push_back(end), end;
    case RegexNode::Kind::kEnd: return (*nfa)[from].at_end.push_back(end), end;
    case RegexNode::Kind::kSequence:
      for (const RegexNode& part : node.parts) {
        TRINE_ASSIGN_OR_RETURN(from, append(part, from, nfa));
      }
      return (*nfa)[from].epsilons.push_back(end), end;
    case RegexNode::Kind::kAlternatives:
      for (const RegexNode& part : node.parts) {
        TRINE_ASSIGN_OR_RETURN(const int32_t last, append(part, from, nfa));
        (*nfa)[last].epsilons.push_back(end);
      }
      return end;
    case RegexNode::Kind::kRepeat: break;
  }
  for (int64_t i = 0; i < node.min; ++i) {
    TRINE_ASSIGN_OR_RETURN(from, append(node.parts[0], from, nfa));
  }
  if (node.max == kUnbounded) {
    const int32_t loop = nfa->add();
    (*nfa)[from].epsilons.push_back(loop);
    TRINE_ASSIGN_OR_RETURN(const int32_t last, append(node.parts[0], loop, nfa));
    (*nfa)[last].epsilons.push_back(loop);
    (*nfa)[loop].epsilons.push_back(end);
    return end;
  }
  for (int64_t i = node.min; i < node.max; ++i) {
    (*nfa)[from].epsilons.push_back(end);
    TRINE_ASSIGN_OR_RETURN(from, append(node.parts[0], from, nfa));
  }
  return (*nfa)[from].epsilons.push_back(end), end;
}

// Subsets of items: an item is a state, doubled by whether an end anchor was passed (then no
// character may follow).
class Subsets {
 public:
  Subsets(const Nfa& nfa, int32_t start, int32_t final, bool final_takes_all)
      : nfa_(nfa), start_(start), final_(final), final_takes_all_(final_takes_all) {}

  Result<CharDfa> build() {
    state_of({start_ * 2}, true);
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (static_cast<int64_t>(i) >= kDfaStatesMax || work_ > kWorkMax)
        return Status(Code::kInvalidArgument, "pattern: needs more than " +
                                                  std::to_string(kDfaStatesMax) +
                                                  " states or too much work: simplify it");
      add_arcs(i);
    }
    return trimmed(dfa_);
  }

 private:
  using Items = std::vector<int32_t>;

  Items closed(Items items, bool at_begin) {
    std::vector<bool>& seen = seen_;
    seen.resize(nfa_.states.size() * 2);
    for (const int32_t item : items) seen[index(item)] = true;
    for (size_t i = 0; i < items.size(); ++i) {
      const Nfa::State& s = nfa_.states[index(items[i] / 2)];
      const int32_t ended = items[i] % 2;
      const auto visit = [&](const std::vector<int32_t>& states, int32_t end) {
        for (const int32_t to : states) {
          const int32_t item = to * 2 + end;
          if (seen[index(item)]) continue;
          seen[index(item)] = true;
          items.push_back(item);
        }
        work_ += static_cast<int64_t>(states.size());
      };
      visit(s.epsilons, ended);
      if (at_begin) visit(s.at_begin, ended);
      visit(s.at_end, 1);
    }
    for (const int32_t item : items) seen[index(item)] = false;
    work_ += static_cast<int64_t>(items.size());
    return items;
  }

  int32_t state_of(Items items, bool at_begin) {
    items = closed(std::move(items), at_begin);
    const bool accepts =
        std::any_of(items.begin(), items.end(), [&](int32_t item) { return item / 2 == final_; });
    const bool all =
        final_takes_all_ && std::find(items.begin(), items.end(), final_ * 2) != items.end();
    if (all) items = {final_ * 2};  // whatever follows, the text matches
    // Only items with characters matter from here on.
    std::erase_if(items, [&](int32_t item) {
      return nfa_.states[index(item / 2)].to < 0 && item / 2 != final_;
    });
    std::sort(items.begin(), items.end());
    const auto [at, is_new] = known_.emplace(items, static_cast<int32_t>(sets_.size()));
    if (!is_new) return at->second;
    sets_.push_back(std::move(items));
    dfa_.states.push_back({{}, accepts});
    return at->second;
  }

  void add_arcs(size_t set) {
    struct Piece {
      uint32_t low, high;
      int32_t to;
    };
    std::vector<Piece> pieces;
    std::vector<uint32_t> cuts;
    for (const int32_t item : sets_[set]) {
      const Nfa::State& s = nfa_.states[index(item / 2)];
      if (item % 2 == 1 || s.to < 0) continue;
      for (const CharRange& r : s.chars.ranges()) {
        pieces.push_back({r.low, r.high, s.to});
        cuts.push_back(r.low);
        cuts.push_back(r.high + 1);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t c = 0; c + 1 < cuts.size() && work_ <= kWorkMax; ++c) {
      Items items;
      for (const Piece& p : pieces)
        if (p.low <= cuts[c] && cuts[c] <= p.high) items.push_back(p.to * 2);
      work_ += static_cast<int64_t>(pieces.size());
      if (items.empty()) continue;
      std::sort(items.begin(), items.end());
      items.erase(std::unique(items.begin(), items.end()), items.end());
      const int32_t to = state_of(std::move(items), false);
      std::vector<CharDfa::Arc>& arcs = dfa_.states[set].arcs;
      if (!arcs.empty() && arcs.back().to == to && arcs.back().high + 1 == cuts[c])
        arcs.back().high = cuts[c + 1] - 1;
      else
        arcs.push_back({cuts[c], cuts[c + 1] - 1, to});
    }
  }

  const Nfa& nfa_;
  const int32_t start_, final_;
  const bool final_takes_all_;
  CharDfa dfa_;
  std::vector<Items> sets_;
  std::map<Items, int32_t> known_;
  std::vector<bool> seen_;
  int64_t work_ = 0;
};

}  // namespace

Result<CharDfa> regex_dfa(std::string_view pattern, Anchoring anchoring) {
  TRINE_ASSIGN_OR_RETURN(const RegexNode tree, parse_regex(pattern));
  Nfa nfa;
  const int32_t start = nfa.add();
  const bool search = anchoring == Anchoring::kSearch;
  TRINE_ASSIGN_OR_RETURN(const int32_t last, append(tree, start, &nfa));
  const int32_t final = nfa.add();
  nfa[last].epsilons.push_back(final);
  if (search) {
    const int32_t skip = nfa.add();
    nfa[skip].chars = CharSet::all();
    nfa[skip].to = skip;
    nfa[skip].epsilons.push_back(start);
    nfa[final].chars = CharSet::all();
    nfa[final].to = final;
    return Subsets(nfa, skip, final, true).build();
  }
  return Subsets(nfa, start, final, false).build();
}

}  // namespace trine::grammar
