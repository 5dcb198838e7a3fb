#include "grammar/char_set.h"

#include <algorithm>

namespace trine::grammar {
namespace {

constexpr uint32_t kSurrogateFirst = 0xD800;
constexpr uint32_t kSurrogateLast = 0xDFFF;

size_t length_of(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

}  // namespace

CharSet CharSet::all() { return CharSet().add(0, kCharMax); }

CharSet CharSet::of(std::string_view ascii) {
  CharSet set;
  for (const char c : ascii) set.add(static_cast<uint8_t>(c), static_cast<uint8_t>(c));
  return set;
}

CharSet& CharSet::add(uint32_t low, uint32_t high) {
  high = std::min(high, kCharMax);
  if (low > high) return *this;
  if (low <= kSurrogateLast && high >= kSurrogateFirst) {
    if (low < kSurrogateFirst) add(low, kSurrogateFirst - 1);
    return high > kSurrogateLast ? add(kSurrogateLast + 1, high) : *this;
  }
  // The two ends of the gap of surrogates are kept apart.
  const auto touches = [](uint32_t end, uint32_t begin) {
    return end + 1 == begin && begin != kSurrogateFirst;
  };
  const auto first = std::find_if(ranges_.begin(), ranges_.end(), [&](const CharRange& r) {
    return r.high >= low || touches(r.high, low);
  });
  auto last = first;
  for (; last != ranges_.end() && (last->low <= high || touches(high, last->low)); ++last) {
    low = std::min(low, last->low);
    high = std::max(high, last->high);
  }
  ranges_.insert(ranges_.erase(first, last), {low, high});
  return *this;
}

CharSet& CharSet::add(const CharSet& other) {
  for (const CharRange& r : other.ranges_) add(r.low, r.high);
  return *this;
}

CharSet CharSet::complement() const {
  CharSet out;
  uint32_t next = 0;
  for (const CharRange& r : ranges_) {
    if (r.low > next) out.add(next, r.low - 1);
    next = r.high + 1;
  }
  return next <= kCharMax ? out.add(next, kCharMax) : out;
}

CharSet CharSet::intersect(const CharSet& other) const {
  CharSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const uint32_t low = std::max(a->low, b->low);
    const uint32_t high = std::min(a->high, b->high);
    if (low <= high) out.add(low, high);
    (a->high < b->high ? a : b)++;
  }
  return out;
}

bool CharSet::contains(uint32_t c) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [c](const CharRange& r) { return r.low <= c && c <= r.high; });
}

void CharEdges::add(int32_t from, const CharSet& set) {
  for (const CharRange& r : set.ranges()) add(from, r.low, r.high);
}

void CharEdges::add(int32_t from, uint32_t low, uint32_t high) {
  for (const uint32_t last : {0x7Fu, 0x7FFu, 0xFFFFu}) {
    if (low > last || high <= last) continue;
    add(from, low, last);
    low = last + 1;
  }
  add_bytes(from, utf8_of(low), utf8_of(high), 0);
}

void CharEdges::add_bytes(int32_t from, const std::string& low, const std::string& high,
                          size_t at) {
  const auto first = static_cast<uint8_t>(low[at]);
  const auto last = static_cast<uint8_t>(high[at]);
  if (at + 1 == low.size()) return builder_.range(from, first, last, to_);
  const size_t rest = low.size() - at - 1;
  const bool low_is_whole = low.find_first_not_of('\x80', at + 1) == std::string::npos;
  const bool high_is_whole = high.find_first_not_of('\xBF', at + 1) == std::string::npos;
  if (first == last && !(low_is_whole && high_is_whole)) {
    const int32_t next = builder_.add_state(builder_.rule_of(from));
    builder_.range(from, first, first, next);
    return add_bytes(next, low, high, at + 1);
  }
  uint8_t whole_first = first;
  uint8_t whole_last = last;
  if (!low_is_whole) {
    const int32_t next = builder_.add_state(builder_.rule_of(from));
    builder_.range(from, first, first, next);
    add_bytes(next, low, low.substr(0, at + 1) + std::string(rest, '\xBF'), at + 1);
    ++whole_first;
  }
  if (!high_is_whole) {
    const int32_t next = builder_.add_state(builder_.rule_of(from));
    builder_.range(from, last, last, next);
    add_bytes(next, high.substr(0, at + 1) + std::string(rest, '\x80'), high, at + 1);
    --whole_last;
  }
  if (whole_first <= whole_last) builder_.range(from, whole_first, whole_last, tail(rest));
}

int32_t CharEdges::tail(size_t bytes) {
  if (bytes == 0) return to_;
  if (tails_[bytes] < 0) {
    tails_[bytes] = builder_.add_state(builder_.rule_of(to_));
    builder_.range(tails_[bytes], 0x80, 0xBF, tail(bytes - 1));
  }
  return tails_[bytes];
}

std::string utf8_of(uint32_t c) {
  const size_t length = length_of(c);
  if (length == 1) return {static_cast<char>(c)};
  std::string text(length, '\0');
  for (size_t i = length; i-- > 1; c >>= 6) text[i] = static_cast<char>(0x80 | (c & 0x3F));
  text[0] = static_cast<char>((0xF00u >> length & 0xFF) | c);
  return text;
}

bool next_utf8(std::string_view text, size_t* at, uint32_t* c) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(*at);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || *at + length > text.size()) return false;
  *c = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(*at + i) & 0xC0) != 0x80) return false;
    *c = *c << 6 | (byte(*at + i) & 0x3F);
  }
  if (length_of(*c) != length || *c > kCharMax) return false;
  if (*c >= kSurrogateFirst && *c <= kSurrogateLast) return false;
  *at += length;
  return true;
}

bool decode_utf8(std::string_view text, std::vector<uint32_t>* chars) {
  for (size_t at = 0; at < text.size();) {
    uint32_t c = 0;
    if (!next_utf8(text, &at, &c)) return false;
    chars->push_back(c);
  }
  return true;
}

}  // namespace trine::grammar
