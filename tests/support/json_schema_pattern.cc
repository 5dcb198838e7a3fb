// Patterns by backtracking over code points: continuation passing, no automata.
#include <cstdint>
#include <functional>
#include <vector>

#include "support/json_schema_validator.h"

namespace trine::test {
namespace {

using Chars = std::vector<uint32_t>;

Chars decode(std::string_view text) {
  Chars out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t c = n == 1 ? lead : lead & (0x7Fu >> n);
    for (size_t k = 1; k < n && i + k < text.size(); ++k)
      c = c << 6 | (static_cast<uint8_t>(text[i + k]) & 0x3F);
    out.push_back(c);
    i += n;
  }
  return out;
}

bool in_named_class(uint32_t name, uint32_t c) {
  const uint32_t lower = name | 32;
  bool in = false;
  if (lower == 'd') in = c >= '0' && c <= '9';
  if (lower == 'w')
    in = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  if (lower == 's')
    in = (c >= 9 && c <= 13) || c == ' ' || c == 0xA0 || c == 0xFEFF || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
  return in == (name == lower);
}

class Search {
 public:
  Search(std::string_view pattern, std::string_view text) : p_(decode(pattern)), t_(decode(text)) {}

  bool found() {
    for (size_t begin = 0; begin <= t_.size(); ++begin)
      if (choice(0, p_.size(), begin, [](size_t) { return true; })) return true;
    return false;
  }

 private:
  using Then = std::function<bool(size_t)>;  // what must hold from a place of the text on

  uint32_t at(size_t i) const { return i < p_.size() ? p_[i] : 0; }

  size_t class_end(size_t i) const {
    for (++i; at(i) != ']'; ++i)
      if (at(i) == '\\') ++i;
    return i + 1;
  }

  size_t group_end(size_t i) const {
    for (int depth = 0;; ++i) {
      if (at(i) == '\\') {
        ++i;
      } else if (at(i) == '[') {
        i = class_end(i) - 1;
      } else if (at(i) == '(') {
        ++depth;
      } else if (at(i) == ')' && --depth == 0) {
        return i + 1;
      }
    }
  }

  size_t escape_end(size_t i) const {
    if (at(i + 1) == 'x') return i + 4;
    if (at(i + 1) == 'c') return i + 3;
    return at(i + 1) == 'u' ? i + 6 : i + 2;
  }

  size_t atom_end(size_t i) const {
    if (at(i) == '[') return class_end(i);
    if (at(i) == '(') return group_end(i);
    return at(i) == '\\' ? escape_end(i) : i + 1;
  }

  uint32_t escaped(size_t i) const {
    const uint32_t c = at(i + 1);
    static constexpr std::string_view kNames = "nrtvf0";
    static constexpr std::string_view kValues("\n\r\t\v\f\0", 6);
    if (c == 'x' || c == 'u') {
      uint32_t value = 0;
      for (size_t k = i + 2; k < escape_end(i); ++k) {
        const uint32_t d = at(k);
        value = value * 16 + (d <= '9' ? d - '0' : (d | 32) - 'a' + 10);
      }
      return value;
    }
    if (c == 'c') return at(i + 2) & 31;
    const size_t k = c < 128 ? kNames.find(static_cast<char>(c)) : std::string_view::npos;
    return k == std::string_view::npos ? c : static_cast<uint8_t>(kValues[k]);
  }

  static bool is_class_name(uint32_t c) {
    return std::string_view("dDwWsS").find(static_cast<char>(c)) != std::string_view::npos;
  }

  bool in_class(size_t i, uint32_t c) const {
    const size_t end = class_end(i) - 1;
    ++i;
    const bool negated = at(i) == '^';
    if (negated) ++i;
    bool in = false;
    while (i < end) {
      if (at(i) == '\\' && is_class_name(at(i + 1))) {
        in = in || in_named_class(at(i + 1), c);
        i += 2;
        continue;
      }
      const auto one = [&] {
        const uint32_t value = at(i) == '\\' ? escaped(i) : at(i);
        i = at(i) == '\\' ? escape_end(i) : i + 1;
        return value;
      };
      const uint32_t low = one();
      uint32_t high = low;
      if (at(i) == '-' && i + 1 < end) {
        ++i;
        high = one();
      }
      in = in || (low <= c && c <= high);
    }
    return in != negated;
  }

  bool atom(size_t i, size_t text, const Then& then) {
    if (at(i) == '^') return text == 0 && then(text);
    if (at(i) == '$') return text == t_.size() && then(text);
    if (at(i) == '(') {
      size_t begin = i + 1;
      if (at(begin) == '?' && at(begin + 1) == ':') begin += 2;
      if (at(begin) == '?' && at(begin + 1) == '<')
        while (at(begin++) != '>') {
        }
      return choice(begin, group_end(i) - 1, text, then);
    }
    if (text >= t_.size()) return false;
    const uint32_t c = t_[text];
    bool in = c == at(i);
    if (at(i) == '.') in = c != '\n' && c != '\r' && c != 0x2028 && c != 0x2029;
    if (at(i) == '[') in = in_class(i, c);
    if (at(i) == '\\')
      in = is_class_name(at(i + 1)) ? in_named_class(at(i + 1), c) : c == escaped(i);
    return in && then(text + 1);
  }

  bool choice(size_t begin, size_t end, size_t text, const Then& then) {
    size_t from = begin;
    for (size_t i = begin; i < end; i = atom_end(i))
      if (at(i) == '|') {
        if (sequence(from, i, text, then)) return true;
        from = i + 1;
      }
    return sequence(from, end, text, then);
  }

  bool braces(size_t i, size_t* next, int* min, int* max) const {
    if (at(i) != '{') return false;
    int numbers[2] = {0, -1};
    int which = 0;
    for (++i; at(i) != '}'; ++i) {
      if (at(i) == ',' && which == 0) {
        which = 1;
        continue;
      }
      if (at(i) < '0' || at(i) > '9') return false;
      numbers[which] =
          (numbers[which] < 0 ? 0 : numbers[which]) * 10 + static_cast<int>(at(i) - '0');
    }
    *min = numbers[0];
    *max = which == 0 ? numbers[0] : numbers[1];
    *next = i + 1;
    return true;
  }

  bool sequence(size_t begin, size_t end, size_t text, const Then& then) {
    if (begin >= end) return then(text);
    const size_t after = atom_end(begin);
    size_t next = after;
    int min = 1;
    int max = 1;
    const uint32_t q = after < end ? at(after) : 0;
    if (q == '*' || q == '+' || q == '?') {
      min = q == '+' ? 1 : 0;
      max = q == '?' ? 1 : -1;
      next = after + 1;
    } else if (q != '{' || !braces(after, &next, &min, &max)) {
      return atom(begin, text, [&](size_t t) { return sequence(after, end, t, then); });
    }
    if (next < end && at(next) == '?') ++next;
    return repeated(begin, 0, min, max, text,
                    [&](size_t t) { return sequence(next, end, t, then); });
  }

  bool repeated(size_t i, int done, int min, int max, size_t text, const Then& then) {
    if (done >= min && then(text)) return true;
    if (max >= 0 && done >= max) return false;
    return atom(i, text, [&](size_t t) {
      return (t > text || done < min) && repeated(i, done + 1, min, max, t, then);
    });
  }

  const Chars p_, t_;
};

}  // namespace

bool pattern_found(std::string_view pattern, std::string_view text) {
  return Search(pattern, text).found();
}

}  // namespace trine::test
