#include "grammar/char_dfa.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/try.h"

namespace trine::grammar {
namespace {

size_t index(int32_t i) { return static_cast<size_t>(i); }

Status too_many_states() {
  return {Code::kInvalidArgument,
          "needs more than " + std::to_string(kDfaStatesMax) + " states: simplify it"};
}

void add_all_chars(CharDfa::State* state, int32_t to) {
  const CharSet all = CharSet::all();
  for (const CharRange& r : all.ranges()) state->arcs.push_back({r.low, r.high, to});
}

}  // namespace

CharDfa CharDfa::everything() {
  CharDfa dfa;
  dfa.states.resize(1);
  dfa.states[0].accepts = true;
  add_all_chars(dfa.states.data(), 0);
  return dfa;
}

Result<CharDfa> CharDfa::of_length(int64_t min, int64_t max) {
  const bool bounded = max < kUnbounded;
  const int64_t last = bounded ? max : min;
  if (last >= kDfaStatesMax) return too_many_states();
  CharDfa dfa;
  dfa.states.resize(static_cast<size_t>(last) + 1);
  for (int64_t i = 0; i <= last; ++i) {
    State& s = dfa.states[static_cast<size_t>(i)];
    s.accepts = i >= min;
    if (i < last || !bounded) add_all_chars(&s, static_cast<int32_t>(std::min(i + 1, last)));
  }
  return dfa;
}

CharDfa CharDfa::of_texts(const std::vector<std::vector<uint32_t>>& texts) {
  std::vector<std::map<uint32_t, int32_t>> children(1);
  std::vector<bool> accepts(1, false);
  for (const std::vector<uint32_t>& text : texts) {
    int32_t at = 0;
    for (const uint32_t c : text) {
      const auto [child, is_new] =
          children[index(at)].emplace(c, static_cast<int32_t>(children.size()));
      at = child->second;
      if (!is_new) continue;
      children.emplace_back();
      accepts.push_back(false);
    }
    accepts[index(at)] = true;
  }
  CharDfa dfa;
  for (size_t i = 0; i < children.size(); ++i) {
    State& s = dfa.states.emplace_back();
    s.accepts = accepts[i];
    for (const auto& [c, to] : children[i]) s.arcs.push_back({c, c, to});
  }
  return dfa;
}

bool CharDfa::matches(const std::vector<uint32_t>& text) const {
  int32_t at = 0;
  for (const uint32_t c : text) {
    const std::vector<Arc>& arcs = states[index(at)].arcs;
    const auto arc = std::find_if(arcs.begin(), arcs.end(),
                                  [c](const Arc& a) { return a.low <= c && c <= a.high; });
    if (arc == arcs.end()) return false;
    at = arc->to;
  }
  return states[index(at)].accepts;
}

bool CharDfa::is_everything() const {
  return states.size() == 1 && states[0].accepts && complement(*this).empty();
}

// Breadth first for the shortest; the longest is found in as many rounds as there are states.
void CharDfa::lengths(int64_t* min, int64_t* max) const {
  *min = kUnbounded;
  *max = 0;
  std::vector<bool> now(states.size(), false);
  now[0] = true;
  for (size_t length = 0; length <= states.size(); ++length) {
    std::vector<bool> next(states.size(), false);
    bool any = false;
    for (size_t s = 0; s < states.size(); ++s) {
      if (!now[s]) continue;
      any = true;
      if (states[s].accepts) {
        *min = std::min(*min, static_cast<int64_t>(length));
        *max = std::max(*max, static_cast<int64_t>(length));
      }
      for (const Arc& a : states[s].arcs) next[index(a.to)] = true;
    }
    if (!any) return;
    now = std::move(next);
    if (length == states.size()) *max = kUnbounded;
    if (*min < kUnbounded && states.size() > 4000) {  // long searches: take the careful answer
      *max = kUnbounded;
      return;
    }
  }
}

Result<CharDfa> intersect(const CharDfa& a, const CharDfa& b) {
  CharDfa out;
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto state_of = [&](int32_t x, int32_t y) {
    const auto [at, is_new] = known.emplace(std::pair(x, y), static_cast<int32_t>(pairs.size()));
    if (is_new) pairs.emplace_back(x, y);
    return at->second;
  };
  state_of(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (static_cast<int64_t>(i) >= kDfaStatesMax) return too_many_states();
    const CharDfa::State& x = a.states[index(pairs[i].first)];
    const CharDfa::State& y = b.states[index(pairs[i].second)];
    CharDfa::State made;
    made.accepts = x.accepts && y.accepts;
    for (size_t p = 0, q = 0; p < x.arcs.size() && q < y.arcs.size();) {
      const uint32_t low = std::max(x.arcs[p].low, y.arcs[q].low);
      const uint32_t high = std::min(x.arcs[p].high, y.arcs[q].high);
      if (low <= high) made.arcs.push_back({low, high, state_of(x.arcs[p].to, y.arcs[q].to)});
      ++(x.arcs[p].high < y.arcs[q].high ? p : q);
    }
    out.states.push_back(std::move(made));
  }
  return trimmed(out);
}

CharDfa complement(const CharDfa& a) {
  CharDfa out = a;
  const auto sink = static_cast<int32_t>(out.states.size());
  for (CharDfa::State& s : out.states) {
    s.accepts = !s.accepts;
    CharSet used;
    for (const CharDfa::Arc& arc : s.arcs) used.add(arc.low, arc.high);
    const CharSet unused = used.complement();
    for (const CharRange& r : unused.ranges()) s.arcs.push_back({r.low, r.high, sink});
    std::sort(s.arcs.begin(), s.arcs.end(),
              [](const CharDfa::Arc& x, const CharDfa::Arc& y) { return x.low < y.low; });
  }
  CharDfa::State& last = out.states.emplace_back();
  last.accepts = true;
  add_all_chars(&last, sink);
  return trimmed(out);
}

CharDfa trimmed(const CharDfa& a) {
  std::vector<std::vector<int32_t>> back(a.states.size());
  std::vector<bool> reached(a.states.size(), false);
  std::vector<int32_t> queue = {0};
  reached[0] = true;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const CharDfa::Arc& arc : a.states[index(queue[i])].arcs) {
      back[index(arc.to)].push_back(queue[i]);
      if (reached[index(arc.to)]) continue;
      reached[index(arc.to)] = true;
      queue.push_back(arc.to);
    }
  }
  std::vector<bool> useful(a.states.size(), false);
  std::vector<int32_t> ends;
  for (const int32_t s : queue)
    if (a.states[index(s)].accepts) {
      useful[index(s)] = true;
      ends.push_back(s);
    }
  for (size_t i = 0; i < ends.size(); ++i)
    for (const int32_t from : back[index(ends[i])])
      if (!useful[index(from)]) {
        useful[index(from)] = true;
        ends.push_back(from);
      }
  std::vector<int32_t> at(a.states.size(), -1);
  CharDfa out;
  for (const int32_t s : queue)
    if (useful[index(s)] || s == 0) {
      at[index(s)] = static_cast<int32_t>(out.states.size());
      out.states.push_back({{}, a.states[index(s)].accepts});
    }
  for (const int32_t s : queue) {
    if (at[index(s)] < 0) continue;
    for (const CharDfa::Arc& arc : a.states[index(s)].arcs)
      if (useful[index(arc.to)])
        out.states[index(at[index(s)])].arcs.push_back({arc.low, arc.high, at[index(arc.to)]});
  }
  return out;
}

}  // namespace trine::grammar
