// From collected rules to a Program: what cannot be finished is cut away, the rest is checked and
// packed.
#include "grammar/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.h"

namespace trine::grammar {

constexpr int kShortBytesMax = 16;

class ProgramPacker {
 public:
  ProgramPacker(ProgramBuilder* builder, int32_t root, int depth_max)
      : b_(*builder), root_(root), depth_max_(depth_max) {}

  Result<Program> pack() {
    if (b_.too_large())
      return Status(Code::kInvalidArgument, "the grammar is too large: more than " +
                                                std::to_string(kStatesMax) + " states or " +
                                                std::to_string(4 * kStatesMax) + " edges");
    index_backwards();
    find_nullable();
    find_heights();
    if (height_[start(root_)] < 0)
      return Status(
          Code::kInvalidArgument,
          "no text at all fits '" + b_.name(root_) +
              "': its conditions contradict each other, or it contains itself without end");
    find_reachable();
    TRINE_RETURN_IF_ERROR(refuse_left_recursion());
    find_only_final();
    return packed();
  }

 private:
  using Builder = ProgramBuilder;
  struct Backwards {  // who has an edge to this state
    std::vector<int32_t> plain, epsilon;
    std::vector<CallEdge> calls;   // {rule, from}
    std::vector<int32_t> repeats;  // states whose repeat goes on here
  };

  size_t start(int32_t rule) const { return static_cast<size_t>(b_.start(rule)); }
  bool alive(int32_t state) const { return height_[static_cast<size_t>(state)] >= 0; }
  bool productive(int32_t rule) const { return height_[start(rule)] >= 0; }
  const Repeat* repeat_of(size_t state) const {
    const int32_t r = b_.states_[state].repeat;
    return r < 0 ? nullptr : &b_.repeats_[static_cast<size_t>(r)];
  }

  // Of a state that is known to count.
  const Repeat& repeat_in(int32_t state) const {
    const int32_t r = b_.states_[static_cast<size_t>(state)].repeat;
    return b_.repeats_[static_cast<size_t>(r)];
  }

  void index_backwards() {
    back_.resize(b_.states_.size());
    callers_.resize(b_.rules_.size());
    for (size_t s = 0; s < b_.states_.size(); ++s) {
      const auto from = static_cast<int32_t>(s);
      const Builder::State& state = b_.states_[s];
      for (const ByteEdge& e : state.bytes) back_[static_cast<size_t>(e.to)].plain.push_back(from);
      for (const int32_t to : state.epsilons)
        back_[static_cast<size_t>(to)].epsilon.push_back(from);
      for (const CallEdge& e : state.calls) {
        back_[static_cast<size_t>(e.to)].calls.push_back({e.rule, from});
        callers_[static_cast<size_t>(e.rule)].push_back({from, e.to});
      }
      if (const Repeat* r = repeat_of(s)) {
        back_[static_cast<size_t>(r->next)].repeats.push_back(from);
        callers_[static_cast<size_t>(r->body)].push_back({from, r->next});
      }
    }
  }

  // nullable_[state]: its rule's end can be reached without a byte.
  void find_nullable() {
    nullable_.assign(b_.states_.size(), false);
    std::vector<size_t> queue;
    const auto mark = [&](int32_t state) {
      const auto s = static_cast<size_t>(state);
      if (!nullable_[s]) queue.push_back(s);
      nullable_[s] = true;
    };
    for (const Builder::Rule& rule : b_.rules_) mark(rule.final);
    while (!queue.empty()) {
      const size_t s = queue.back();
      queue.pop_back();
      for (const int32_t from : back_[s].epsilon) mark(from);
      for (const CallEdge& e : back_[s].calls)
        if (nullable_[start(e.rule)]) mark(e.to);
      for (const int32_t from : back_[s].repeats) {
        const Repeat& r = repeat_in(from);
        if (r.min == 0 || nullable_[start(r.body)]) mark(from);
      }
      const int32_t rule = b_.states_[s].rule;
      if (s != start(rule)) continue;
      for (const auto& [from, to] : callers_[static_cast<size_t>(rule)])
        if (nullable_[static_cast<size_t>(to)]) mark(from);
    }
    for (Repeat& r : b_.repeats_)  // empty runs of a body count as often as is wished
      if (nullable_[start(r.body)]) r.min = 0;
  }

  // height_[state]: open calls needed to reach the rule's end; -1 = it cannot be reached.
  void find_heights() {
    height_.assign(b_.states_.size(), -1);
    std::vector<std::vector<int32_t>> levels(static_cast<size_t>(depth_max_) + 2);
    const auto add = [&](int32_t state, int level) {
      if (!alive(state) && level <= depth_max_) levels[static_cast<size_t>(level)].push_back(state);
    };
    for (const Builder::Rule& rule : b_.rules_) add(rule.final, 0);
    for (int level = 0; level <= depth_max_; ++level) {
      std::vector<int32_t>& queue = levels[static_cast<size_t>(level)];
      for (size_t i = 0; i < queue.size(); ++i) {
        if (alive(queue[i])) continue;
        const auto s = static_cast<size_t>(queue[i]);
        height_[s] = level;
        raise_predecessors(s, level, add);
      }
    }
  }

  template <typename Add>
  void raise_predecessors(size_t s, int level, const Add& add) {
    for (const int32_t from : back_[s].plain) add(from, level);
    for (const int32_t from : back_[s].epsilon) add(from, level);
    for (const CallEdge& e : back_[s].calls)
      if (productive(e.rule)) add(e.to, std::max(level, height_[start(e.rule)] + 1));
    for (const int32_t from : back_[s].repeats) {
      const Repeat& r = repeat_in(from);
      if (r.min == 0) add(from, level);
      if (r.min > 0 && productive(r.body)) add(from, std::max(level, height_[start(r.body)] + 1));
    }
    const int32_t rule = b_.states_[s].rule;
    if (s != start(rule)) return;
    for (const auto& [from, to] : callers_[static_cast<size_t>(rule)])
      if (alive(to)) add(from, level + 1);
  }

  void find_reachable() {
    reached_.assign(b_.states_.size(), false);
    std::vector<int32_t> queue;
    const auto visit = [&](int32_t state) {
      if (!alive(state) || reached_[static_cast<size_t>(state)]) return;
      reached_[static_cast<size_t>(state)] = true;
      queue.push_back(state);
    };
    visit(b_.start(root_));
    while (!queue.empty()) {
      const auto s = static_cast<size_t>(queue.back());
      queue.pop_back();
      for (const ByteEdge& e : b_.states_[s].bytes) visit(e.to);
      for (const int32_t to : b_.states_[s].epsilons) visit(to);
      for (const CallEdge& e : b_.states_[s].calls) {
        if (!usable(e)) continue;
        visit(b_.start(e.rule));
        visit(e.to);
      }
      if (const Repeat* r = repeat_of(s)) {
        if (r->max > 0) visit(b_.start(r->body));
        visit(r->next);
      }
    }
  }

  bool usable(const CallEdge& e) const { return productive(e.rule) && alive(e.to); }

  // Rules that `rule` can call before it has read a byte.
  std::vector<int32_t> first_calls(int32_t rule) {
    std::vector<int32_t> calls;
    std::vector<int32_t> queue;
    const auto visit = [&](int32_t state) {
      const auto s = static_cast<size_t>(state);
      if (!reached_[s] || seen_first_[s]) return;
      seen_first_[s] = true;  // a state belongs to one rule, and each rule is asked once
      queue.push_back(state);
    };
    visit(b_.start(rule));
    while (!queue.empty()) {
      const auto s = static_cast<size_t>(queue.back());
      queue.pop_back();
      for (const int32_t to : b_.states_[s].epsilons) visit(to);
      for (const CallEdge& e : b_.states_[s].calls) {
        if (!usable(e)) continue;
        calls.push_back(e.rule);
        if (nullable_[start(e.rule)]) visit(e.to);
      }
      if (const Repeat* r = repeat_of(s)) {
        if (r->max > 0 && productive(r->body)) calls.push_back(r->body);
        if (r->min == 0) visit(r->next);
      }
    }
    return calls;
  }

  Status refuse_left_recursion() {
    seen_first_.assign(b_.states_.size(), false);
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> mark(b_.rules_.size(), kNew);
    struct Frame {
      int32_t rule;
      std::vector<int32_t> calls;
      size_t next = 0;
    };
    for (size_t first = 0; first < b_.rules_.size(); ++first) {
      if (mark[first] != kNew || !reached_[start(static_cast<int32_t>(first))]) continue;
      std::vector<Frame> stack;
      const auto open = [&](int32_t rule) {
        mark[static_cast<size_t>(rule)] = kOpen;
        stack.push_back({rule, first_calls(rule)});
      };
      open(static_cast<int32_t>(first));
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next == top.calls.size()) {
          mark[static_cast<size_t>(top.rule)] = kDone;
          stack.pop_back();
          continue;
        }
        const int32_t called = top.calls[top.next++];
        if (mark[static_cast<size_t>(called)] == kOpen)
          return {Code::kInvalidArgument,
                  "'" + b_.name(called) +
                      "' begins with itself (left recursion, which cannot be followed from left to "
                      "right); put what it begins with before the recursion"};
        if (mark[static_cast<size_t>(called)] == kNew) open(called);
      }
    }
    return {};
  }

  bool has_only_epsilons(size_t s) const {
    const Builder::State& state = b_.states_[s];
    return state.bytes.empty() && state.calls.empty() && state.repeat < 0;
  }

  void find_only_final() {
    only_final_.assign(b_.states_.size(), false);
    std::vector<size_t> waits(b_.states_.size());
    std::vector<size_t> queue;
    for (size_t s = 0; s < b_.states_.size(); ++s) waits[s] = b_.states_[s].epsilons.size();
    for (const Builder::Rule& rule : b_.rules_) queue.push_back(static_cast<size_t>(rule.final));
    while (!queue.empty()) {
      const size_t s = queue.back();
      queue.pop_back();
      if (only_final_[s] || !has_only_epsilons(s)) continue;
      only_final_[s] = true;
      for (const int32_t from : back_[s].epsilon)
        if (--waits[static_cast<size_t>(from)] == 0) queue.push_back(static_cast<size_t>(from));
    }
  }

  // A few bytes at most, without calls: found by walking all its texts at once.
  bool is_short(int32_t rule) const {
    std::vector<int32_t> now = {b_.start(rule)};
    for (int length = 0; length <= kShortBytesMax; ++length) {
      for (size_t i = 0; i < now.size(); ++i) {
        const auto s = static_cast<size_t>(now[i]);
        if (!b_.states_[s].calls.empty() || b_.states_[s].repeat >= 0 || now.size() > 256)
          return false;
        for (const int32_t to : b_.states_[s].epsilons)
          if (std::find(now.begin(), now.end(), to) == now.end()) now.push_back(to);
      }
      std::vector<int32_t> next;
      for (const int32_t s : now)
        for (const ByteEdge& e : b_.states_[static_cast<size_t>(s)].bytes)
          if (std::find(next.begin(), next.end(), e.to) == next.end()) next.push_back(e.to);
      if (next.empty()) return true;
      now = std::move(next);
    }
    return false;
  }

  void find_classes(Program* p) const {
    std::array<bool, 257> begins{};
    begins[0] = true;
    for (size_t s = 0; s < b_.states_.size(); ++s) {
      if (!reached_[s]) continue;
      for (const ByteEdge& e : b_.states_[s].bytes) {
        if (!alive(e.to)) continue;
        begins[e.low] = true;
        begins[static_cast<size_t>(e.high) + 1] = true;
      }
    }
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) p->byte_of_class[p->class_count++] = static_cast<uint8_t>(byte);
      p->class_of[byte] = static_cast<uint8_t>(p->class_count - 1);
      ++p->class_size[p->class_of[byte]];
    }
  }

  Program packed() {
    Program p;
    p.depth_max = depth_max_;
    find_classes(&p);
    std::vector<int32_t> state_at(b_.states_.size(), -1);
    std::vector<int32_t> rule_at(b_.rules_.size(), -1);
    int32_t states = 0;
    for (size_t s = 0; s < state_at.size(); ++s)
      if (reached_[s]) state_at[s] = states++;
    for (size_t r = 0; r < rule_at.size(); ++r) {
      const size_t first = start(static_cast<int32_t>(r));
      if (!reached_[first]) continue;
      rule_at[r] = static_cast<int32_t>(p.rules.size());
      p.rules.push_back({state_at[first], nullable_[first], false});
    }
    for (const Repeat& r : b_.repeats_) {
      const int32_t body = rule_at[static_cast<size_t>(r.body)];
      if (body >= 0) p.rules[static_cast<size_t>(body)].is_short = is_short(r.body);
    }
    p.root = rule_at[static_cast<size_t>(root_)];
    for (size_t s = 0; s < state_at.size(); ++s)
      if (reached_[s]) pack_state(s, state_at, rule_at, &p);
    Program::State& end = p.states.emplace_back();
    end.bytes = static_cast<int32_t>(p.bytes.size());
    end.calls = static_cast<int32_t>(p.calls.size());
    end.epsilons = static_cast<int32_t>(p.epsilons.size());
    return p;
  }

  void pack_state(size_t s, const std::vector<int32_t>& state_at,
                  const std::vector<int32_t>& rule_at, Program* p) const {
    const Builder::State& from = b_.states_[s];
    Program::State& to = p->states.emplace_back();
    to.bytes = static_cast<int32_t>(p->bytes.size());
    to.calls = static_cast<int32_t>(p->calls.size());
    to.epsilons = static_cast<int32_t>(p->epsilons.size());
    to.rule = rule_at[static_cast<size_t>(from.rule)];
    to.height = static_cast<uint16_t>(height_[s]);
    to.is_final = static_cast<int32_t>(s) == b_.final(from.rule);
    to.only_final = only_final_[s];
    for (const ByteEdge& e : from.bytes)
      if (alive(e.to))
        p->bytes.push_back(
            {p->class_of[e.low], p->class_of[e.high], state_at[static_cast<size_t>(e.to)]});
    for (const int32_t e : from.epsilons)
      if (alive(e)) p->epsilons.push_back(state_at[static_cast<size_t>(e)]);
    for (const CallEdge& e : from.calls)
      if (usable(e))
        p->calls.push_back(
            {rule_at[static_cast<size_t>(e.rule)], state_at[static_cast<size_t>(e.to)]});
    const Repeat* r = repeat_of(s);
    if (r == nullptr) return;
    to.repeat = static_cast<int32_t>(p->repeats.size());
    const int32_t body = rule_at[static_cast<size_t>(r->body)];
    p->repeats.push_back(
        {body, r->min, body < 0 ? 0 : r->max, state_at[static_cast<size_t>(r->next)]});
  }

  ProgramBuilder& b_;
  const int32_t root_;
  const int depth_max_;
  std::vector<Backwards> back_;
  std::vector<std::vector<std::pair<int32_t, int32_t>>> callers_;  // of a rule: {from, to}
  std::vector<bool> nullable_, reached_, seen_first_, only_final_;
  std::vector<int> height_;
};

Result<Program> ProgramBuilder::finish(int32_t root, int depth_max) && {
  return ProgramPacker(this, root, depth_max).pack();
}

}  // namespace trine::grammar
