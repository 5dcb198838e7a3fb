// Numbers between bounds as digit automata: exact, also for decimals and multiples.
#pragma once

#include <cstdint>
#include <optional>

#include "grammar/decimal.h"
#include "grammar/program.h"
#include "trine/status.h"

namespace trine::grammar {

constexpr int kDigitsMax = 40;  ///< before and after the point; with two digits of exponent < 1e140

struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

struct NumberSpec {
  bool plain = true;       ///< 12
  bool fractional = true;  ///< 1.5; 1e3 only when nothing below is set
  std::optional<NumberBound> low, high;
  std::optional<Decimal> multiple_of;  ///< > 0

  bool is_free() const { return !low && !high && !multiple_of; }
};

/// Edges for the numbers of the spec between two states of a rule. kInvalidArgument when
/// multiple_of needs too many states.
Status add_number(const NumberSpec& spec, int32_t from, int32_t to, ProgramBuilder* builder);

/// Whether a number as spelled meets the bounds and the multiple (not the spelling).
bool number_fits(const NumberSpec& spec, const Decimal& value);

}  // namespace trine::grammar
