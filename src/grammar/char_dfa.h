// Languages of characters as deterministic automata: patterns, formats and names of properties.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_set.h"
#include "trine/status.h"

namespace trine::grammar {

constexpr int64_t kDfaStatesMax = 20'000;

/// State 0 is the start. Arcs are sorted and do not overlap; where none fits, the text is refused.
struct CharDfa {
  struct Arc {
    uint32_t low, high;
    int32_t to;
  };
  struct State {
    std::vector<Arc> arcs;
    bool accepts = false;
  };
  std::vector<State> states;

  static CharDfa everything();
  /// Texts of min to max characters.
  static Result<CharDfa> of_length(int64_t min, int64_t max);
  static CharDfa of_texts(const std::vector<std::vector<uint32_t>>& texts);

  bool matches(const std::vector<uint32_t>& text) const;
  /// After trimming: nothing is accepted.
  bool empty() const { return states.size() == 1 && !states[0].accepts && states[0].arcs.empty(); }
  bool is_everything() const;
  /// Lengths of the shortest and longest text; kUnbounded where there is no longest.
  void lengths(int64_t* min, int64_t* max) const;
};

/// Texts of both; kInvalidArgument beyond kDfaStatesMax.
Result<CharDfa> intersect(const CharDfa& a, const CharDfa& b);
CharDfa complement(const CharDfa& a);

/// Keeps states that are reached and can still accept.
CharDfa trimmed(const CharDfa& a);

}  // namespace trine::grammar
