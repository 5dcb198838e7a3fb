#include "grammar/decimal.h"

#include <algorithm>

namespace trine::grammar {
namespace {

constexpr int64_t kExponentMax = 1000;

// "-12" after an e, cut to what is of use.
int64_t parse_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  for (const char c : text) value = std::min(value * 10 + (c - '0'), kExponentMax);
  return negative ? -value : value;
}

int compare_magnitude(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  const int whole = a.whole.compare(b.whole);
  return whole != 0 ? whole : a.fraction.compare(b.fraction);
}

}  // namespace

Decimal parse_decimal(std::string_view number) {
  Decimal d;
  d.negative = number.starts_with('-');
  if (d.negative) number.remove_prefix(1);
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const int64_t exponent = e < number.size() ? parse_exponent(number.substr(e + 1)) : 0;
  const std::string_view mantissa = number.substr(0, e);
  const size_t dot = std::min(mantissa.find('.'), mantissa.size());
  d.whole = mantissa.substr(0, dot);
  if (dot < mantissa.size()) d.fraction = mantissa.substr(dot + 1);
  if (exponent > 0) {
    d.fraction.append(static_cast<size_t>(exponent), '0');
    d.whole += d.fraction.substr(0, static_cast<size_t>(exponent));
    d.fraction.erase(0, static_cast<size_t>(exponent));
  } else if (exponent < 0) {
    const auto shift = static_cast<size_t>(-exponent);
    d.whole.insert(0, shift, '0');
    d.fraction.insert(0, d.whole, d.whole.size() - shift, shift);
    d.whole.resize(d.whole.size() - shift);
  }
  d.whole.erase(0, std::min(d.whole.find_first_not_of('0'), d.whole.size()));
  d.fraction.resize(d.fraction.find_last_not_of('0') + 1);
  d.negative = d.negative && !d.is_zero();
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return a.negative ? compare_magnitude(b, a) : compare_magnitude(a, b);
}

}  // namespace trine::grammar
