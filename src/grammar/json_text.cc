#include "grammar/json_text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trine::grammar {
namespace {

constexpr int kIndentMax = 32;
constexpr int kTabsMax = 8;

// Characters that stand for themselves inside quotes.
CharSet raw_chars() { return CharSet().add(0x20, 0x21).add(0x23, 0x5B).add(0x5D, kCharMax); }

void add_hex(ProgramBuilder* b, int32_t from, std::string_view ranges, int32_t to) {
  for (size_t i = 0; i + 1 < ranges.size(); i += 2)
    b->range(from, static_cast<uint8_t>(ranges[i]), static_cast<uint8_t>(ranges[i + 1]), to);
}

constexpr std::string_view kAnyHex = "09afAF";

// After \u: four digits of a character, or of both halves of a pair.
void add_unicode_escape(ProgramBuilder* b, int32_t from, int32_t to) {
  const int32_t rule = b->rule_of(from);
  const auto next = [&](int32_t s, std::string_view ranges) {
    const int32_t state = b->add_state(rule);
    add_hex(b, s, ranges, state);
    return state;
  };
  const int32_t last = b->add_state(rule);  // one more digit
  add_hex(b, last, kAnyHex, to);
  const int32_t last_two = b->add_state(rule);
  add_hex(b, last_two, kAnyHex, last);
  const int32_t last_three = b->add_state(rule);
  add_hex(b, last_three, kAnyHex, last_two);
  add_hex(b, from, "09acACefEF", last_three);
  const int32_t d = next(from, "ddDD");
  add_hex(b, d, "07", last_two);
  const int32_t high = next(next(next(d, "89abAB"), kAnyHex), kAnyHex);
  const int32_t low = next(b->literal(high, "\\u"), "ddDD");
  add_hex(b, low, "cfCF", last_two);
}

// Characters that a condition's string writes as an escape: the quote, the backslash, controls.
constexpr std::string_view kShortValues = "\"\\\b\f\n\r\t";
constexpr std::string_view kShortNames = "\"\\bfnrt";

bool is_escaped(uint32_t c) { return c < 0x20 || c == '"' || c == '\\'; }

std::string short_escape(uint32_t c) {
  const size_t i = kShortValues.find(static_cast<char>(c));
  if (i != std::string_view::npos) return {'\\', kShortNames[i]};
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("\\u00") + kDigits[c >> 4] + kDigits[c & 15];
}

// What may follow a backslash to write one of `chars`, all escaped ones.
int32_t add_escapes(ProgramBuilder* b, int32_t rule, const std::vector<uint32_t>& chars,
                    int32_t to) {
  const int32_t from = b->add_state(rule);
  int32_t digits[2] = {-1, -1};
  for (const uint32_t c : chars) {
    const std::string escape = short_escape(c);
    const auto letter = static_cast<uint8_t>(escape.size() == 2 ? escape[1] : escape[5]);
    if (escape.size() == 2) {
      b->range(from, letter, letter, to);
      continue;
    }
    int32_t& last = digits[c >> 4];
    if (last < 0) last = b->literal(from, c < 0x10 ? "u000" : "u001");
    b->range(last, letter, letter, to);
    if (letter >= 'a') b->range(last, letter ^ 0x20, letter ^ 0x20, to);
  }
  return from;
}

}  // namespace

std::string canonical_json(const std::vector<uint32_t>& chars) {
  std::string text;
  for (const uint32_t c : chars) {
    text += is_escaped(c) ? short_escape(c) : utf8_of(c);
  }
  return text;
}

int32_t JsonText::white_space_rule() {
  if (white_space_ >= 0) return white_space_;
  white_space_ = b_.add_rule("white space");
  const int32_t to = b_.final(white_space_);
  const int32_t from = b_.start(white_space_);
  b_.epsilon(from, to);
  b_.range(from, ' ', ' ', to);
  const int32_t line = b_.literal(from, "\n");
  for (const auto& [c, count] : {std::pair(' ', kIndentMax), std::pair('\t', kTabsMax)}) {
    int32_t at = line;
    b_.epsilon(at, to);
    for (int i = 0; i < count; ++i) {
      at = b_.literal(at, {&c, 1});
      b_.epsilon(at, to);
    }
  }
  return white_space_;
}

int32_t JsonText::break_after(int32_t from) {
  return options_.white_space == WhiteSpace::kCompact ? from : b_.call(from, white_space_rule());
}

int32_t JsonText::blank_after(int32_t from) {
  if (options_.white_space == WhiteSpace::kCompact) return from;
  const int32_t to = b_.literal(from, " ");
  b_.epsilon(from, to);
  return to;
}

void JsonText::add_char(int32_t from, int32_t to, bool bare) {
  CharEdges edges(&b_, to);
  if (bare) return edges.add(from, CharSet::all());
  edges.add(from, raw_chars());
  const int32_t escape = b_.literal(from, "\\");
  for (const char c : std::string_view("\"\\/bfnrt"))
    b_.range(escape, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
  add_unicode_escape(&b_, b_.literal(escape, "u"), to);
}

int32_t JsonText::char_rule(bool bare) {
  int32_t& rule = chars_[bare ? 1 : 0];
  if (rule < 0) {
    rule = b_.add_rule("character");
    add_char(b_.start(rule), b_.final(rule), bare);
  }
  return rule;
}

void JsonText::add_string(int32_t from, int32_t to, int64_t min, int64_t max, bool bare) {
  if (min == 0 && max == kUnbounded) {
    int32_t& rule = strings_[bare ? 1 : 0];
    if (rule < 0) {
      rule = b_.add_rule("string");
      const int32_t body = bare ? b_.add_state(rule) : b_.literal(b_.start(rule), "\"");
      if (bare) b_.epsilon(b_.start(rule), body);
      add_char(body, body, bare);
      b_.epsilon(bare ? body : b_.literal(body, "\""), b_.final(rule));
    }
    return b_.call(from, rule, to);
  }
  const auto [known, is_new] = counted_.emplace(std::tuple(min, max, bare), 0);
  if (is_new) {
    const int32_t rule = b_.add_rule("string");
    known->second = rule;
    int32_t at = b_.start(rule);
    if (!bare) at = b_.literal(at, "\"");
    at = b_.repeat(at, char_rule(bare), min, max);
    if (!bare) at = b_.literal(at, "\"");
    b_.epsilon(at, b_.final(rule));
  }
  b_.call(from, known->second, to);
}

void JsonText::add_string(int32_t from, int32_t to, const CharDfa& dfa, bool bare) {
  const int32_t rule = b_.add_rule("string");
  b_.call(from, rule, to);
  if (bare) return add_dfa(b_.start(rule), b_.final(rule), dfa, true);
  const int32_t end = b_.add_state(rule);
  b_.range(end, '"', '"', b_.final(rule));
  add_dfa(b_.literal(b_.start(rule), "\""), end, dfa, false);
}

void JsonText::add_dfa(int32_t from, int32_t to, const CharDfa& dfa, bool bare) {
  const int32_t rule = b_.rule_of(from);
  std::vector<int32_t> at;
  std::vector<CharEdges> into;
  for (size_t s = 0; s < dfa.states.size(); ++s) {
    at.push_back(b_.add_state(rule));
    into.emplace_back(&b_, at.back());
  }
  b_.epsilon(from, at[0]);
  const CharSet raw = bare ? CharSet::all() : raw_chars();
  std::map<std::pair<int32_t, std::vector<uint32_t>>, int32_t> escapes;
  for (size_t s = 0; s < dfa.states.size() && !b_.too_large(); ++s) {
    if (dfa.states[s].accepts) b_.epsilon(at[s], to);
    for (const CharDfa::Arc& arc : dfa.states[s].arcs) {
      into[static_cast<size_t>(arc.to)].add(at[s], CharSet().add(arc.low, arc.high).intersect(raw));
      std::vector<uint32_t> escaped;
      for (uint32_t c = arc.low; !bare && c <= std::min<uint32_t>(arc.high, '\\'); ++c)
        if (is_escaped(c)) escaped.push_back(c);
      if (escaped.empty()) continue;
      const auto [known, is_new] = escapes.emplace(std::pair(arc.to, escaped), 0);
      if (is_new) known->second = add_escapes(&b_, rule, escaped, at[static_cast<size_t>(arc.to)]);
      b_.range(at[s], '\\', '\\', known->second);
    }
  }
}

void JsonText::add_texts(int32_t from, int32_t to, std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  std::vector<int32_t> path = {from};  // states behind the bytes of the last text
  std::string_view last;
  for (const std::string& text : texts) {
    const auto common = static_cast<size_t>(
        std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first - last.begin());
    path.resize(common + 1);
    for (size_t i = common; i < text.size(); ++i)
      path.push_back(b_.literal(path.back(), std::string_view(text).substr(i, 1)));
    b_.epsilon(path.back(), to);
    last = text;
  }
}

void JsonText::add_value(int32_t from, int32_t to, const json::Value& value) {
  if (value.is_string()) {
    std::vector<uint32_t> chars;
    if (!decode_utf8(value.as_string(), &chars)) return;  // no text can say it
    return b_.epsilon(b_.literal(from, '"' + canonical_json(chars) + '"'), to);
  }
  if (!value.is_array() && !value.is_object())
    return b_.epsilon(b_.literal(from, json::dump(value)), to);
  const bool object = value.is_object();
  const size_t count = object ? value.as_object().size() : value.as_array().size();
  int32_t at = b_.literal(from, object ? "{" : "[");
  if (count > 0) at = add_members(at, value);
  b_.epsilon(b_.literal(at, object ? "}" : "]"), to);
}

int32_t JsonText::add_members(int32_t from, const json::Value& value) {
  int32_t at = break_after(from);
  const auto add = [&](const json::Value& member) {
    const int32_t end = b_.add_state(b_.rule_of(from));
    add_value(at, end, member);
    at = end;
  };
  bool first = true;
  const auto comma = [&] {
    if (!first) at = break_after(b_.literal(at, ","));
    first = false;
  };
  for (const json::Value& item : value.as_array()) {
    comma();
    add(item);
  }
  for (const auto& [name, member] : value.as_object()) {
    comma();
    add(json::Value(name));
    at = blank_after(b_.literal(at, ":"));
    add(member);
  }
  return break_after(at);
}

}  // namespace trine::grammar
