// Patterns by recursive descent.
#include "grammar/regex_syntax.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"

namespace trine::grammar {
namespace {

constexpr int kNestingMax = 100;
constexpr int64_t kRepeatMax = 20'000;

CharSet digits() { return CharSet().add('0', '9'); }
CharSet word() { return digits().add('a', 'z').add('A', 'Z').add('_', '_'); }
CharSet space() {
  return CharSet::of(" \t\n\v\f\r")
      .add(0xA0, 0xA0)
      .add(0x1680, 0x1680)
      .add(0x2000, 0x200A)
      .add(0x2028, 0x2029)
      .add(0x202F, 0x202F)
      .add(0x205F, 0x205F)
      .add(0x3000, 0x3000)
      .add(0xFEFF, 0xFEFF);
}
CharSet line_ends() { return CharSet::of("\n\r").add(0x2028, 0x2029); }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<RegexNode> parse() {
    TRINE_ASSIGN_OR_RETURN(RegexNode node, alternatives(0));
    if (at_ < text_.size()) return error("')' without '('");
    return node;
  }

 private:
  using Kind = RegexNode::Kind;

  Status error(const std::string& what) const {
    return {Code::kInvalidArgument, "pattern, byte " + std::to_string(at_) + ": " + what};
  }
  bool more() const { return at_ < text_.size(); }
  bool looking_at(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool take(std::string_view s) {
    if (!looking_at(s)) return false;
    at_ += s.size();
    return true;
  }

  Result<RegexNode> alternatives(int depth) {
    if (depth > kNestingMax) return error("nested too deeply");
    RegexNode node;
    node.kind = Kind::kAlternatives;
    do {
      RegexNode sequence;
      while (more() && !looking_at("|") && !looking_at(")")) {
        TRINE_ASSIGN_OR_RETURN(RegexNode term, quantified(depth));
        sequence.parts.push_back(std::move(term));
      }
      node.parts.push_back(std::move(sequence));
    } while (take("|"));
    return node;
  }

  Result<RegexNode> quantified(int depth) {
    TRINE_ASSIGN_OR_RETURN(RegexNode node, atom(depth));
    const size_t begin = at_;
    int64_t min = 0;
    int64_t max = 0;
    if (!quantifier(&min, &max)) return node;
    if (node.kind == Kind::kBegin || node.kind == Kind::kEnd) {
      at_ = begin;
      return error("a quantifier after an anchor");
    }
    if (min > max) return error("the quantifier's numbers are out of order");
    if (min > kRepeatMax || (max > kRepeatMax && max != kUnbounded))
      return error("more than " + std::to_string(kRepeatMax) + " repetitions");
    take("?");  // lazy: finds another match first, but matches the same texts
    if (more() && (looking_at("*") || looking_at("+") || looking_at("?")))
      return error("nothing to repeat");
    RegexNode repeat;
    repeat.kind = Kind::kRepeat;
    repeat.min = min;
    repeat.max = max;
    repeat.parts.push_back(std::move(node));
    return repeat;
  }

  bool quantifier(int64_t* min, int64_t* max) {
    *min = 0;
    *max = kUnbounded;
    if (take("*")) return true;
    *min = 1;
    if (take("+")) return true;
    *min = 0;
    *max = 1;
    if (take("?")) return true;
    return braces(min, max);
  }

  // {m} {m,} {m,n}; anything else that begins with a brace is text.
  bool braces(int64_t* min, int64_t* max) {
    const size_t begin = at_;
    if (take("{") && number(min)) {
      *max = *min;
      if (take(",") && !number(max)) *max = kUnbounded;
      if (take("}")) return true;
    }
    at_ = begin;
    return false;
  }

  bool number(int64_t* value) {
    const size_t begin = at_;
    *value = 0;
    for (; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      *value = std::min<int64_t>(*value * 10 + (text_[at_] - '0'), kUnbounded - 1);
    return at_ > begin;
  }

  static RegexNode chars(CharSet set) {
    RegexNode node;
    node.kind = Kind::kChars;
    node.chars = std::move(set);
    return node;
  }

  Result<RegexNode> atom(int depth) {
    RegexNode anchor;
    if (looking_at("^") || looking_at("$")) {
      anchor.kind = text_[at_++] == '^' ? Kind::kBegin : Kind::kEnd;
      return anchor;
    }
    if (take(".")) return chars(line_ends().complement());
    if (take("(")) return group(depth);
    if (take("[")) return char_class();
    if (looking_at("*") || looking_at("+") || looking_at("?")) return error("nothing to repeat");
    if (take("\\")) {
      CharSet set;
      TRINE_RETURN_IF_ERROR(escape(false, &set));
      return chars(std::move(set));
    }
    uint32_t c = 0;
    if (!next_utf8(text_, &at_, &c)) return error("not UTF-8");
    return chars(CharSet().add(c, c));
  }

  Result<RegexNode> group(int depth) {
    if (looking_at("?=") || looking_at("?!")) return error("lookahead (?= (?! is not supported");
    if (looking_at("?<=") || looking_at("?<!"))
      return error("lookbehind (?<= (?<! is not supported");
    if (take("?<")) {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos || end == at_) return error("a group name without '>'");
      at_ = end + 1;
    } else if (looking_at("?") && !take("?:")) {
      return error("group '(" + std::string(text_.substr(at_, 2)) + "' is not supported");
    }
    TRINE_ASSIGN_OR_RETURN(RegexNode node, alternatives(depth + 1));
    if (!take(")")) return error("'(' without ')'");
    return node;
  }

  // After a backslash: one character, or a class of them.
  Status escape(bool in_class, CharSet* set) {
    if (!more()) return error("a backslash at the end");
    const char c = text_[at_];
    switch (c) {
      case 'd': return ++at_, *set = digits(), Status();
      case 'D': return ++at_, *set = digits().complement(), Status();
      case 'w': return ++at_, *set = word(), Status();
      case 'W': return ++at_, *set = word().complement(), Status();
      case 's': return ++at_, *set = space(), Status();
      case 'S': return ++at_, *set = space().complement(), Status();
      case 'p':
      case 'P': return error("Unicode properties \\p are not supported");
      case 'b':
        if (in_class) return ++at_, set->add('\b', '\b'), Status();
        return error("word boundaries \\b are not supported");
      case 'B': return error("word boundaries \\B are not supported");
      case 'k': return error("back references \\k are not supported");
      default: break;
    }
    if (c >= '1' && c <= '9') return error("back references \\1 are not supported");
    uint32_t value = 0;
    TRINE_RETURN_IF_ERROR(char_escape(&value));
    set->add(value, value);
    return set->empty() ? error("a lone surrogate") : Status();
  }

  Status char_escape(uint32_t* value) {
    const char c = text_[at_];
    constexpr std::string_view kNames = "nrtvf0";
    constexpr std::string_view kValues("\n\r\t\v\f\0", 6);
    if (const size_t i = kNames.find(c); i != std::string_view::npos) {
      ++at_;
      *value = static_cast<uint8_t>(kValues[i]);
      if (c == '0' && more() && text_[at_] >= '0' && text_[at_] <= '9')
        return error("octal escapes are not supported");
      return {};
    }
    if (c == 'x') return ++at_, hex(2, value);
    if (c == 'u') return unicode_escape(value);
    if (c == 'c' && at_ + 1 < text_.size() && ((text_[at_ + 1] | 32) >= 'a') &&
        ((text_[at_ + 1] | 32) <= 'z')) {
      *value = static_cast<uint32_t>(text_[at_ + 1] & 31);
      at_ += 2;
      return {};
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      return error("escape '\\" + std::string(1, c) + "' is not known");
    return next_utf8(text_, &at_, value) ? Status() : error("not UTF-8");
  }

  Status hex(int digits, uint32_t* value) {
    *value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const int digit = more() ? hex_value(text_[at_]) : -1;
      if (digit < 0) return error("expected " + std::to_string(digits) + " hexadecimal digits");
      *value = *value * 16 + static_cast<uint32_t>(digit);
    }
    return {};
  }

  Status unicode_escape(uint32_t* value) {
    ++at_;
    if (take("{")) {
      *value = 0;
      const size_t begin = at_;
      for (int digit = 0; more() && (digit = hex_value(text_[at_])) >= 0; ++at_) {
        *value = *value * 16 + static_cast<uint32_t>(digit);
        if (*value > kCharMax) return error("no character beyond 10FFFF");
      }
      return at_ > begin && take("}") ? Status() : error("expected \\u{hexadecimal}");
    }
    TRINE_RETURN_IF_ERROR(hex(4, value));
    if (*value < 0xD800 || *value > 0xDBFF || !looking_at("\\u")) return {};
    at_ += 2;
    uint32_t low = 0;
    TRINE_RETURN_IF_ERROR(hex(4, &low));
    if (low < 0xDC00 || low > 0xDFFF) return error("a lone surrogate");
    *value = 0x10000 + ((*value & 0x3FF) << 10 | (low & 0x3FF));
    return {};
  }

  Result<RegexNode> char_class() {
    const bool negated = take("^");
    CharSet set;
    while (more() && !looking_at("]")) {
      CharSet low;
      TRINE_RETURN_IF_ERROR(class_member(&low));
      const bool range = looking_at("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (range) {
        ++at_;
        CharSet high;
        TRINE_RETURN_IF_ERROR(class_member(&high));
        if (!single(low) || !single(high)) return error("a range between classes");
        if (low.ranges()[0].low > high.ranges()[0].low) return error("a range out of order");
        set.add(low.ranges()[0].low, high.ranges()[0].low);
      } else {
        set.add(low);
      }
    }
    if (!take("]")) return error("'[' without ']'");
    return chars(negated ? set.complement() : set);
  }

  static bool single(const CharSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].low == set.ranges()[0].high;
  }

  Status class_member(CharSet* set) {
    if (take("\\")) return escape(true, set);
    uint32_t c = 0;
    if (!next_utf8(text_, &at_, &c)) return error("not UTF-8");
    set->add(c, c);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<RegexNode> parse_regex(std::string_view pattern) { return Parser(pattern).parse(); }

}  // namespace trine::grammar
