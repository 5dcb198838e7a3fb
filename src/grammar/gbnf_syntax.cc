// GBNF by recursive descent.
#include "grammar/gbnf_syntax.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/try.h"

namespace trine::grammar {
namespace {

constexpr int kNestingMax = 100;
constexpr size_t kBytesMax = size_t{4} << 20;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<GbnfRule>> parse() {
    if (text_.size() > kBytesMax) return error("longer than 4 MiB");
    for (skip(true); at_ < text_.size(); skip(true)) TRINE_RETURN_IF_ERROR(rule());
    for (const GbnfRule& r : rules_)
      if (!r.defined)
        return Status(Code::kInvalidArgument, "grammar, line " + std::to_string(r.line) +
                                                  ": rule '" + r.name + "' is not defined");
    return std::move(rules_);
  }

 private:
  using Kind = GbnfNode::Kind;

  size_t line() const {
    const size_t end = std::min(at_, text_.size());
    return 1 + static_cast<size_t>(
                   std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(end), '\n'));
  }
  Status error(const std::string& what) const {
    return {Code::kInvalidArgument, "grammar, line " + std::to_string(line()) + ": " + what};
  }
  bool looking_at(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool take(std::string_view s) {
    if (!looking_at(s)) return false;
    at_ += s.size();
    return true;
  }

  // Blanks and comments; line breaks too where they mean nothing.
  void skip(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  size_t rule_index(std::string_view name) {
    const auto [at, is_new] = index_.emplace(std::string(name), rules_.size());
    if (is_new) rules_.push_back({std::string(name), {}, false, line()});
    return at->second;
  }

  Status rule() {
    const std::string_view rule_name = name();
    if (rule_name.empty()) return error("expected the name of a rule");
    const size_t index = rule_index(rule_name);
    skip(false);
    if (!take("::=")) return error("expected ::= after '" + std::string(rule_name) + "'");
    if (rules_[index].defined)
      return error("rule '" + std::string(rule_name) + "' is defined twice");
    skip(true);
    TRINE_ASSIGN_OR_RETURN(GbnfNode body, alternatives(0));
    rules_[index].body = std::move(body);
    rules_[index].defined = true;
    skip(false);
    if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r')
      return error("unexpected '" + std::string(1, text_[at_]) + "'");
    return {};
  }

  Result<GbnfNode> alternatives(int depth) {
    if (depth > kNestingMax) return error("nested too deeply");
    GbnfNode node;
    node.kind = Kind::kAlternatives;
    for (;;) {
      TRINE_ASSIGN_OR_RETURN(GbnfNode part, sequence(depth));
      node.parts.push_back(std::move(part));
      const size_t before = at_;
      skip(true);
      if (!take("|")) {
        at_ = depth > 0 ? at_ : before;
        return node;
      }
      skip(true);
    }
  }

  Result<GbnfNode> sequence(int depth) {
    GbnfNode node;
    for (;; skip(depth > 0)) {
      GbnfNode item;
      if (looking_at("\"")) {
        item.kind = Kind::kLiteral;
        TRINE_RETURN_IF_ERROR(literal(&item.text));
      } else if (looking_at("[")) {
        item.kind = Kind::kChars;
        TRINE_RETURN_IF_ERROR(char_class(&item.chars));
      } else if (take(".")) {
        item.kind = Kind::kChars;
        item.chars = CharSet::all();
      } else if (take("(")) {
        skip(true);
        TRINE_ASSIGN_OR_RETURN(item, alternatives(depth + 1));
        skip(true);
        if (!take(")")) return error("expected ')'");
      } else if (at_ < text_.size() && is_name_char(text_[at_])) {
        item.kind = Kind::kRule;
        item.rule = rule_index(name());
      } else {
        return node;
      }
      TRINE_RETURN_IF_ERROR(repetitions(&item, depth));
      node.parts.push_back(std::move(item));
    }
  }

  Status repetitions(GbnfNode* item, int depth) {
    for (int count = 0;; ++count) {
      skip(depth > 0);
      int64_t min = 0;
      int64_t max = kUnbounded;
      if (take("*")) {
      } else if (take("+")) {
        min = 1;
      } else if (take("?")) {
        max = 1;
      } else if (take("{")) {
        TRINE_RETURN_IF_ERROR(braces(&min, &max));
      } else {
        return {};
      }
      if (count >= kNestingMax) return error("too many repetitions of one item");
      GbnfNode repeat;
      repeat.kind = Kind::kRepeat;
      repeat.min = min;
      repeat.max = max;
      repeat.parts.push_back(std::move(*item));
      *item = std::move(repeat);
    }
  }

  bool number(int64_t* value) {
    const size_t begin = at_;
    *value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      *value = std::min<int64_t>(*value * 10 + (text_[at_] - '0'), kUnbounded - 1);
    skip(false);
    return at_ > begin;
  }

  Status braces(int64_t* min, int64_t* max) {
    skip(false);
    const bool has_min = number(min);
    *max = *min;
    if (take(",")) {
      skip(false);
      if (!number(max)) *max = kUnbounded;
    } else if (!has_min) {
      return error("expected a number after '{'");
    }
    if (!take("}")) return error("expected '}'");
    return *min <= *max ? Status() : error("the numbers in braces are out of order");
  }

  Status character(uint32_t* c) {
    if (at_ >= text_.size()) return error("unexpected end");
    if (!take("\\")) {
      if (text_[at_] == '\n') return error("a line break inside quotes or brackets");
      return next_utf8(text_, &at_, c) ? Status() : error("not UTF-8");
    }
    if (at_ >= text_.size()) return error("a backslash at the end");
    const char e = text_[at_++];
    constexpr std::string_view kNames = "nrt\\\"[]-^";
    constexpr std::string_view kValues = "\n\r\t\\\"[]-^";
    if (const size_t i = kNames.find(e); i != std::string_view::npos)
      return *c = static_cast<uint8_t>(kValues[i]), Status();
    const int digits = e == 'x' ? 2 : e == 'u' ? 4 : e == 'U' ? 8 : 0;
    if (digits == 0) return error("escape '\\" + std::string(1, e) + "' is not known");
    *c = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const int value = at_ < text_.size() ? hex_value(text_[at_]) : -1;
      if (value < 0) return error("expected " + std::to_string(digits) + " hexadecimal digits");
      *c = *c << 4 | static_cast<uint32_t>(value);
    }
    if (*c > kCharMax || (*c >= 0xD800 && *c <= 0xDFFF)) return error("no Unicode character");
    return {};
  }

  Status literal(std::string* out) {
    ++at_;
    while (!take("\"")) {
      uint32_t c = 0;
      TRINE_RETURN_IF_ERROR(character(&c));
      *out += utf8_of(c);
    }
    return {};
  }

  Status char_class(CharSet* out) {
    ++at_;
    const bool negated = take("^");
    CharSet set;
    while (!take("]")) {
      uint32_t low = 0;
      TRINE_RETURN_IF_ERROR(character(&low));
      uint32_t high = low;
      if (looking_at("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        TRINE_RETURN_IF_ERROR(character(&high));
        if (high < low) return error("a range out of order");
      }
      set.add(low, high);
    }
    *out = negated ? set.complement() : set;
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<GbnfRule> rules_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace

Result<std::vector<GbnfRule>> parse_gbnf(std::string_view text) { return Parser(text).parse(); }

}  // namespace trine::grammar
