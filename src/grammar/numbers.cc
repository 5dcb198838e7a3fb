#include "grammar/numbers.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/try.h"

namespace trine::grammar {
namespace {

constexpr int64_t kFactorMax = 1'000'000;  ///< of multiple_of, without its power of ten
constexpr size_t kNumberStatesMax = 60'000;

void add_digits(ProgramBuilder* b, int32_t from, char first, int32_t to) {
  b->range(from, static_cast<uint8_t>(first), '9', to);
}

// [0-9]{0,count} after `from`; every state on the way also leads to `to`.
void add_optional_digits(ProgramBuilder* b, int32_t from, int count, int32_t to) {
  b->epsilon(from, to);
  for (int i = 0; i < count; ++i) {
    const int32_t next = b->add_state(b->rule_of(from));
    add_digits(b, from, '0', next);
    b->epsilon(next, to);
    from = next;
  }
}

void add_free_number(const NumberSpec& spec, int32_t from, int32_t to, ProgramBuilder* b) {
  const int32_t rule = b->rule_of(from);
  const int32_t minus = b->literal(from, "-");
  const int32_t zero = b->add_state(rule);
  const int32_t minus_zero = b->literal(minus, "0");  // -0 is no integer that anybody means
  const int32_t digits = b->add_state(rule);
  const int32_t whole = b->add_state(rule);
  b->range(from, '0', '0', zero);
  for (const int32_t s : {from, minus}) add_digits(b, s, '1', digits);
  add_optional_digits(b, digits, kDigitsMax - 1, whole);
  b->epsilon(zero, whole);
  if (spec.plain) b->epsilon(whole, to);
  if (!spec.fractional) return;
  const int32_t any_whole = b->add_state(rule);
  b->epsilon(whole, any_whole);
  b->epsilon(minus_zero, any_whole);
  const int32_t point = b->literal(any_whole, ".");
  const int32_t fraction = b->add_state(rule);
  const int32_t fraction_end = b->add_state(rule);
  add_digits(b, point, '0', fraction);
  add_optional_digits(b, fraction, kDigitsMax - 1, fraction_end);
  b->epsilon(fraction_end, to);
  const int32_t e = b->add_state(rule);
  for (const int32_t s : {any_whole, fraction_end})
    for (const uint8_t letter : {uint8_t{'e'}, uint8_t{'E'}}) b->range(s, letter, letter, e);
  const int32_t sign = b->add_state(rule);
  b->epsilon(e, sign);
  for (const uint8_t c : {uint8_t{'+'}, uint8_t{'-'}}) b->range(e, c, c, sign);
  const int32_t exponent = b->add_state(rule);
  add_digits(b, sign, '0', exponent);
  add_optional_digits(b, exponent, 1, to);
}

// One sign's magnitudes: digits are read from the left, each bound compared on the way.
class Magnitudes {
 public:
  Magnitudes(const NumberSpec& spec, const NumberBound* low, const NumberBound* high,
             ProgramBuilder* builder, int32_t to)
      : spec_(spec), low_(low), high_(high), b_(*builder), to_(to) {
    places_max_ = kDigitsMax;
    if (!spec.multiple_of) return;
    places_max_ = static_cast<int>(spec.multiple_of->fraction.size());
    factor_ = 0;
    for (const char c : spec.multiple_of->whole + spec.multiple_of->fraction)
      factor_ = std::min<int64_t>(factor_ * 10 + (c - '0'), kFactorMax + 1);
  }

  Status build(int32_t from, bool minus) {
    if (factor_ > kFactorMax || places_max_ > kDigitsMax)
      return {Code::kInvalidArgument, "has too many digits"};
    const int32_t rule = b_.rule_of(from);
    const int32_t zero = state_of({.phase = kWhole, .is_zero = true}, rule);
    if (!minus || spec_.fractional) b_.range(from, '0', '0', zero);
    minus_ = minus;
    for (int digit = 1; digit <= 9; ++digit) {
      Place p{.phase = kWhole};
      b_.range(from, byte(digit), byte(digit), state_of(with_whole_digit(p, digit), rule));
    }
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_.size() > kNumberStatesMax)
        return {Code::kInvalidArgument, "needs too many states together with the bounds"};
      add_edges(order_[i].first, order_[i].second, rule);
    }
    return {};
  }

 private:
  enum Phase : uint8_t { kWhole, kPoint, kFraction };
  struct Place {
    Phase phase = kWhole;
    bool is_zero = false;  // the whole part is 0
    int digits = 0;        // of this phase, as far as they matter
    int to_low = 0;        // comparison so far: -1, 0, 1
    int to_high = 0;
    int64_t remainder = 0;
    auto key() const -> std::tuple<Phase, bool, int, int, int, int64_t> {
      return {phase, is_zero, digits, to_low, to_high, remainder};
    }
    bool operator<(const Place& other) const { return key() < other.key(); }
  };

  static uint8_t byte(int digit) { return static_cast<uint8_t>('0' + digit); }

  int32_t state_of(const Place& p, int32_t rule) {
    const auto [at, is_new] = states_.emplace(p, 0);
    if (is_new) {
      at->second = b_.add_state(rule);
      order_.emplace_back(p, at->second);
    }
    return at->second;
  }

  static int step(int so_far, const std::string& bound, int at, int digit) {
    if (so_far != 0) return so_far;
    const int other =
        at < static_cast<int>(bound.size()) ? bound[static_cast<size_t>(at)] - '0' : 0;
    return digit < other ? -1 : digit > other ? 1 : 0;
  }

  // Digits of the whole part compare by position; that only counts when the lengths are equal.
  Place with_whole_digit(Place p, int digit) const {
    const auto compare_whole = [&](const NumberBound* bound, int so_far) {
      if (bound == nullptr) return 0;
      const int length = static_cast<int>(bound->value.whole.size());
      return p.digits >= length ? 1 : step(so_far, bound->value.whole, p.digits, digit);
    };
    p.to_low = compare_whole(low_, p.to_low);
    p.to_high = compare_whole(high_, p.to_high);
    p.remainder = (p.remainder * 10 + digit) % factor_;
    p.digits = std::min(p.digits + 1, digits_matter());
    return p;
  }

  // Without a multiple all are counted, for the limit; with one, only what the bounds can see.
  int digits_matter() const {
    if (!spec_.multiple_of) return kDigitsMax;
    size_t length = 0;
    for (const NumberBound* bound : {low_, high_})
      if (bound != nullptr) length = std::max(length, bound->value.whole.size());
    return static_cast<int>(length) + 1;
  }

  // The comparison of the whole parts, now that there are no more digits.
  static int whole_result(const Place& p, const NumberBound* bound, int so_far) {
    if (bound == nullptr) return 0;
    const int length = static_cast<int>(bound->value.whole.size());
    const int digits = p.is_zero ? 0 : p.digits;
    return digits < length ? -1 : digits > length ? 1 : so_far;
  }

  bool accepts(Place p) const {
    int places = 0;
    if (p.phase == kWhole) {
      if (!spec_.plain || (minus_ && p.is_zero)) return false;
      p.to_low = whole_result(p, low_, p.to_low);
      p.to_high = whole_result(p, high_, p.to_high);
    } else if (p.phase == kPoint) {
      return false;
    } else {
      places = p.digits;
    }
    const auto final = [places](const NumberBound* bound, int so_far) {
      const bool more = places < static_cast<int>(bound->value.fraction.size());
      return so_far == 0 && more ? -1 : so_far;
    };
    if (low_ != nullptr) {
      const int c = final(low_, p.to_low);
      if (c < 0 || (c == 0 && low_->exclusive)) return false;
    }
    if (high_ != nullptr) {
      const int c = final(high_, p.to_high);
      if (c > 0 || (c == 0 && high_->exclusive)) return false;
    }
    if (!spec_.multiple_of) return true;
    int64_t remainder = p.remainder;
    for (int i = places; i < places_max_; ++i) remainder = remainder * 10 % factor_;
    return remainder == 0;
  }

  void add_edges(const Place p, int32_t state, int32_t rule) {  // a copy: order_ grows
    if (accepts(p)) b_.epsilon(state, to_);
    if (p.phase == kWhole) {
      const bool may_grow = spec_.multiple_of || p.digits < kDigitsMax;
      for (int digit = 0; digit <= 9 && !p.is_zero && may_grow; ++digit)
        b_.range(state, byte(digit), byte(digit), state_of(with_whole_digit(p, digit), rule));
      if (!spec_.fractional || places_max_ == 0) return;
      Place point = p;
      point.phase = kPoint;
      point.digits = 0;
      point.is_zero = false;
      point.to_low = whole_result(p, low_, p.to_low);
      point.to_high = whole_result(p, high_, p.to_high);
      b_.range(state, '.', '.', state_of(point, rule));
      return;
    }
    for (int digit = 0; digit <= 9 && p.digits < places_max_; ++digit) {
      Place next = p;
      next.phase = kFraction;
      if (low_ != nullptr) next.to_low = step(p.to_low, low_->value.fraction, p.digits, digit);
      if (high_ != nullptr) next.to_high = step(p.to_high, high_->value.fraction, p.digits, digit);
      next.remainder = (p.remainder * 10 + digit) % factor_;
      ++next.digits;
      b_.range(state, byte(digit), byte(digit), state_of(next, rule));
    }
  }

  const NumberSpec& spec_;
  const NumberBound* low_;
  const NumberBound* high_;
  ProgramBuilder& b_;
  const int32_t to_;
  int places_max_;
  int64_t factor_ = 1;
  bool minus_ = false;
  std::map<Place, int32_t> states_;
  std::vector<std::pair<Place, int32_t>> order_;
};

}  // namespace

Status add_number(const NumberSpec& spec, int32_t from, int32_t to, ProgramBuilder* builder) {
  if (spec.is_free()) {
    add_free_number(spec, from, to, builder);
    return {};
  }
  // Magnitudes of negative numbers lie between the bounds with signs and places changed.
  const auto magnitude = [](const std::optional<NumberBound>& bound) {
    NumberBound m = *bound;
    m.value.negative = false;
    return m;
  };
  std::optional<NumberBound> low, high;
  const bool some_positive = !spec.high || !spec.high->value.negative;
  if (some_positive) {
    if (spec.low && !spec.low->value.negative) low = magnitude(spec.low);
    if (spec.high) high = magnitude(spec.high);
    Magnitudes positive(spec, low ? &*low : nullptr, high ? &*high : nullptr, builder, to);
    TRINE_RETURN_IF_ERROR(positive.build(from, false));
  }
  if (spec.low && !spec.low->value.negative) return {};
  low.reset();
  high.reset();
  if (spec.high && (spec.high->value.negative || spec.high->value.is_zero()))
    low = magnitude(spec.high);
  if (spec.low) high = magnitude(spec.low);
  Magnitudes negative(spec, low ? &*low : nullptr, high ? &*high : nullptr, builder, to);
  return negative.build(builder->literal(from, "-"), true);
}

bool number_fits(const NumberSpec& spec, const Decimal& value) {
  if (spec.low) {
    const int c = compare(value, spec.low->value);
    if (c < 0 || (c == 0 && spec.low->exclusive)) return false;
  }
  if (spec.high) {
    const int c = compare(value, spec.high->value);
    if (c > 0 || (c == 0 && spec.high->exclusive)) return false;
  }
  if (!spec.multiple_of) return true;
  const Decimal& m = *spec.multiple_of;
  const size_t places = std::max(m.fraction.size(), value.fraction.size());
  const auto scaled = [places](const Decimal& d) {
    return d.whole + d.fraction + std::string(places - d.fraction.size(), '0');
  };
  int64_t factor = 0;
  for (const char c : scaled(m)) {
    factor = factor * 10 + (c - '0');
    if (factor > kFactorMax * kFactorMax) return false;  // more digits than any rule here takes
  }
  int64_t remainder = 0;
  for (const char c : scaled(value)) remainder = (remainder * 10 + (c - '0')) % factor;
  return remainder == 0;
}

}  // namespace trine::grammar
