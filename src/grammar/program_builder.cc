// Writing rules: states and edges, one call each.
#include <algorithm>
#include <utility>

#include "grammar/program.h"

namespace trine::grammar {

int32_t ProgramBuilder::add_rule(std::string name) {
  const auto rule = static_cast<int32_t>(rules_.size());
  rules_.push_back({std::move(name), 0, 0});
  const int32_t start = add_state(rule);
  const int32_t final = add_state(rule);
  rules_.back().start = start;
  rules_.back().final = final;
  return rule;
}

int32_t ProgramBuilder::add_state(int32_t rule) {
  states_.emplace_back().rule = rule;
  return static_cast<int32_t>(states_.size()) - 1;
}

void ProgramBuilder::range(int32_t from, uint8_t low, uint8_t high, int32_t to) {
  states_[static_cast<size_t>(from)].bytes.push_back({low, high, to});
  ++edge_count_;
}

void ProgramBuilder::epsilon(int32_t from, int32_t to) {
  if (from == to) return;
  states_[static_cast<size_t>(from)].epsilons.push_back(to);
  ++edge_count_;
}

void ProgramBuilder::call(int32_t from, int32_t rule, int32_t to) {
  states_[static_cast<size_t>(from)].calls.push_back({rule, to});
  ++edge_count_;
}

int32_t ProgramBuilder::literal(int32_t from, std::string_view text) {
  for (const char c : text) {
    const int32_t to = add_state(rule_of(from));
    range(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
    from = to;
  }
  return from;
}

int32_t ProgramBuilder::call(int32_t from, int32_t rule) {
  const int32_t to = add_state(rule_of(from));
  call(from, rule, to);
  return to;
}

int32_t ProgramBuilder::repeat(int32_t from, int32_t body, int64_t min, int64_t max) {
  const int32_t counting = add_state(rule_of(from));
  const int32_t next = add_state(rule_of(from));
  epsilon(from, counting);
  states_[static_cast<size_t>(counting)].repeat = static_cast<int32_t>(repeats_.size());
  repeats_.push_back({body, static_cast<int32_t>(std::min(min, kUnbounded)),
                      static_cast<int32_t>(std::min(max, kUnbounded)), next});
  return next;
}

}  // namespace trine::grammar
