// Steps of the deterministic automaton: byte edges, then everything that needs no byte.
#include "grammar/automaton.h"

#include <algorithm>

namespace trine::grammar {
namespace {

constexpr size_t kTasksMax = 200'000;  ///< of one closure
constexpr int32_t kReachBeyond = 1 << 20;

Place place_of(int32_t state, int32_t count) {
  return static_cast<Place>(state) << 32 | static_cast<uint32_t>(count);
}
size_t state_in(Place place) { return static_cast<size_t>(place >> 32); }

}  // namespace

Automaton::Automaton(const Program& program) : program_(program), seen_(256) {
  states_.push_back({StackSets::kNone, 0, false});
  rows_.assign(static_cast<size_t>(program.class_count), kDead);
  state_at_.emplace(StackSets::kNone, kDead);
}

int32_t Automaton::start() {
  begin_closure();
  const Program::Rule& root = program_.rules[static_cast<size_t>(program_.root)];
  visit(place_of(root.start, 0), StackSets::kEnd, true);
  return finish_closure();
}

int32_t Automaton::after_return(int32_t rest) {
  begin_closure();
  const StackSets::Frames frames = sets_.frames(rest);
  const std::vector<Frame> list(frames.begin(), frames.end());
  for (const Frame& f : list) visit(f.place, f.rest, true);
  return finish_closure();
}

int32_t Automaton::compute_next(int32_t state, int byte_class) {
  begin_closure();
  const StackSets::Frames frames = sets_.frames(node(state));
  for (const Frame& f : frames) {
    if (f.place == kEndPlace) continue;
    const Program::State* s = &program_.states[state_in(f.place)];
    for (int32_t e = s->bytes; e < s[1].bytes; ++e) {
      const ByteEdge& edge = program_.bytes[static_cast<size_t>(e)];
      if (edge.low <= byte_class && byte_class <= edge.high)
        visit(place_of(edge.to, 0), f.rest, true);
    }
  }
  const int32_t to = finish_closure();
  states_[static_cast<size_t>(state)].reach =
      std::max(states_[static_cast<size_t>(state)].reach, reach_);
  rows_[row(state) + static_cast<size_t>(byte_class)] = to;
  return to;
}

bool Automaton::find_loop(int32_t state) {
  bool loops = true;
  for (int byte = 0; byte < 0x7F && loops; ++byte)
    if (is_plain(static_cast<uint8_t>(byte)))
      loops = next_byte(state, static_cast<uint8_t>(byte)) == state;
  states_[static_cast<size_t>(state)].loop = loops ? Loop::kYes : Loop::kNo;
  return loops;
}

void Automaton::begin_closure() {
  tasks_.clear();
  found_.clear();
  ++stamp_;
  seen_count_ = 0;
  reach_ = 0;
}

// Queues a place, unless its rule cannot end within the depth that is left.
void Automaton::visit(Place place, int32_t rest, bool may_return) {
  if (place != kEndPlace) {
    const int32_t needs = sets_.depth_min(rest) + program_.states[state_in(place)].height;
    if (needs > program_.depth_max) {
      reach_ = kReachBeyond;
      return;
    }
    reach_ = std::max(reach_, needs);
  }
  const Task task{place, rest, may_return};
  if (first_visit(task)) tasks_.push_back(task);
}

bool Automaton::first_visit(const Task& task) {
  if (seen_count_ * 2 >= seen_.size()) {
    std::vector<Seen> old(seen_.size() * 2);
    old.swap(seen_);
    seen_count_ = 0;
    for (const Seen& s : old)
      if (s.stamp == stamp_) first_visit(s.task);
  }
  const size_t mask = seen_.size() - 1;
  uint64_t h = (task.place ^ static_cast<uint64_t>(task.rest) << 17) * 0x9E3779B97F4A7C15u;
  h += task.may_return ? 1 : 0;
  for (size_t slot = (h ^ h >> 32) & mask;; slot = (slot + 1) & mask) {
    Seen& s = seen_[slot];
    if (s.stamp != stamp_) {
      s = {task, stamp_};
      ++seen_count_;
      return true;
    }
    if (s.task.place == task.place && s.task.rest == task.rest &&
        s.task.may_return == task.may_return)
      return false;
  }
}

int32_t Automaton::finish_closure() {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (i > kTasksMax) {
      overflowed_ = true;
      break;
    }
    expand(tasks_[i]);
  }
  return state_of(sets_.make(found_));
}

void Automaton::expand(Task task) {
  if (task.place == kEndPlace) {
    found_.push_back({kEndPlace, StackSets::kNone});
    return;
  }
  const Program::State* s = &program_.states[state_in(task.place)];
  if (s->bytes < s[1].bytes) found_.push_back({task.place, task.rest});
  if (s->is_final && task.may_return) {
    const StackSets::Frames frames = sets_.frames(task.rest);  // visit makes no node
    for (const Frame& f : frames) visit(f.place, f.rest, true);
  }
  for (int32_t e = s->epsilons; e < s[1].epsilons; ++e)
    visit(place_of(program_.epsilons[static_cast<size_t>(e)], 0), task.rest, task.may_return);
  for (int32_t e = s->calls; e < s[1].calls; ++e)
    expand_call(program_.calls[static_cast<size_t>(e)], task);
  if (s->repeat >= 0) expand_repeat(program_.repeats[static_cast<size_t>(s->repeat)], task);
}

void Automaton::expand_call(const CallEdge& call, Task task) {
  // What can be empty is skipped here, so that a rule never ends before it has read a byte.
  if (program_.rules[static_cast<size_t>(call.rule)].nullable)
    visit(place_of(call.to, 0), task.rest, task.may_return);
  enter(call.rule, call.to, place_of(call.to, 0), task.rest);
}

void Automaton::expand_repeat(const Repeat& repeat, Task task) {
  const auto count = static_cast<int32_t>(task.place & UINT32_MAX);
  if (count >= repeat.min) visit(place_of(repeat.next, 0), task.rest, task.may_return);
  if (count >= repeat.max) return;
  if (repeat.max == kUnbounded) {
    const int32_t counted = std::min(count + 1, repeat.min);
    enter(repeat.body, -1, place_of(static_cast<int32_t>(state_in(task.place)), counted),
          task.rest);
  } else if (count + 1 == repeat.max) {
    enter(repeat.body, repeat.next, place_of(repeat.next, 0), task.rest);
  } else {
    enter(repeat.body, -1, place_of(static_cast<int32_t>(state_in(task.place)), count + 1),
          task.rest);
  }
}

// Calls a rule; `after` is the state that it returns to, when that may be left out of the stack.
void Automaton::enter(int32_t rule, int32_t after, Place frame, int32_t rest) {
  const int32_t start = program_.rules[static_cast<size_t>(rule)].start;
  if (after >= 0 && program_.states[static_cast<size_t>(after)].only_final)
    return visit(place_of(start, 0), rest, false);
  const int32_t needs = sets_.depth_min(rest) + program_.states[state_in(frame)].height;
  if (needs > program_.depth_max) {
    reach_ = kReachBeyond;
    return;
  }
  // Of several stacks only some may be as deep as is allowed.
  const int32_t deepest = sets_.depth_max(rest) + 1;
  reach_ = std::max({reach_, needs, deepest <= program_.depth_max ? deepest : kReachBeyond});
  rest = sets_.within(rest, program_.depth_max - 1);
  if (rest != StackSets::kNone) visit(place_of(start, 0), sets_.single(frame, rest), false);
}

int32_t Automaton::state_of(int32_t node) {
  const auto [at, is_new] = state_at_.emplace(node, static_cast<int32_t>(states_.size()));
  if (!is_new) return at->second;
  bool can_end = false;
  for (const Frame& f : sets_.frames(node)) can_end = can_end || f.place == kEndPlace;
  states_.push_back({node, 0, can_end});
  rows_.resize(rows_.size() + static_cast<size_t>(program_.class_count), -1);
  return at->second;
}

int64_t Automaton::memory_bytes() const {
  return sets_.memory_bytes() + static_cast<int64_t>(rows_.size() * sizeof(int32_t) +
                                                     states_.size() * (sizeof(State) + 40));
}

}  // namespace trine::grammar
