// Exact decimals: bounds of numbers as schemas spell them.
#pragma once

#include <string>
#include <string_view>

namespace trine::grammar {

/// A JSON number as digits; zero has none and is not negative.
struct Decimal {
  bool negative = false;
  std::string whole;     ///< no leading zeros
  std::string fraction;  ///< no trailing zeros

  bool is_zero() const { return whole.empty() && fraction.empty(); }
};

/// Of a JSON number's spelling. Exponents beyond +-1000 are taken as +-1000: such bounds lie
/// outside everything that the rules below write, and stay there.
Decimal parse_decimal(std::string_view number);

/// Negative, zero or positive, as a compares to b.
int compare(const Decimal& a, const Decimal& b);

}  // namespace trine::grammar
