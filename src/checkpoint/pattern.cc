// Compiled to a small program (Thompson); all threads of it advance together through the text.
#include "checkpoint/pattern.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace trine::checkpoint {

namespace {
constexpr size_t kSourceBytesMax = 4096;
constexpr size_t kStepsMax = 20'000;
constexpr int kDepthMax = 32;
constexpr int kRepeatMax = 256;
}  // namespace

/// Recursive descent: alternatives, sequences, repetitions, atoms.
class PatternCompiler {
 public:
  PatternCompiler(std::string_view source, Pattern* out) : source_(source), out_(out) {}

  Status run() {
    if (source_.size() > kSourceBytesMax) return refuse("a pattern of more than 4096 bytes");
    if (!alternatives(0)) return refuse(problem_);
    if (at_ < source_.size()) return refuse("a closing parenthesis without an opening one");
    emit({.op = Pattern::Op::kMatch});
    return {};
  }

 private:
  using Op = Pattern::Op;
  using Step = Pattern::Step;

  Status refuse(const std::string& what) const {
    return {Code::kUnsupported, "pattern " + std::string(source_.substr(0, 200)) + ": " + what +
                                    " at byte " + std::to_string(at_)};
  }
  bool fail(const char* what) {
    problem_ = what;
    return false;
  }
  int32_t here() const { return static_cast<int32_t>(out_->steps_.size()); }
  int32_t emit(Step step) {
    out_->steps_.push_back(step);
    return here() - 1;
  }
  Step& step(int32_t i) { return out_->steps_[static_cast<size_t>(i)]; }
  bool more() const { return at_ < source_.size(); }
  bool take(char c) {
    if (!more() || source_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Inserts a step before the code that begins at `begin`, which moves by one.
  void insert(int32_t begin, Step added) {
    out_->steps_.insert(out_->steps_.begin() + begin, added);
    for (int32_t i = begin + 1; i < here(); ++i) {
      if (step(i).op != Op::kSplit && step(i).op != Op::kJump) continue;
      if (step(i).a >= begin) ++step(i).a;
      if (step(i).op == Op::kSplit && step(i).b >= begin) ++step(i).b;
    }
  }

  bool alternatives(int depth) {
    if (depth > kDepthMax) return fail("parentheses nested too deep");
    const int32_t begin = here();
    if (!sequence(depth)) return false;
    std::vector<int32_t> exits;
    int32_t branch = begin;
    while (take('|')) {
      // split(left, right); left; jump end; right
      insert(branch, {.op = Op::kSplit, .a = branch + 1});
      exits.push_back(emit({.op = Op::kJump}));
      step(branch).b = here();
      branch = here();
      if (!sequence(depth)) return false;
    }
    for (const int32_t exit : exits) step(exit).a = here();
    return true;
  }

  bool sequence(int depth) {
    while (more() && source_[at_] != '|' && source_[at_] != ')') {
      const int32_t begin = here();
      if (!atom(depth) || !repetition(begin)) return false;
      if (out_->steps_.size() > kStepsMax) return fail("a pattern that is too large");
    }
    return true;
  }

  bool atom(int depth) {
    const char c = source_[at_++];
    switch (c) {
      case '(': return group(depth);
      case '[': return bracket();
      case '.': return set(~std::bitset<256>().set('\n'));
      case '^': emit({.op = Op::kBegin}); return true;
      case '$': emit({.op = Op::kEnd}); return true;
      case '*':
      case '+':
      case '?': return fail("a repetition of nothing");
      case '\\': {
        std::bitset<256> chars;
        if (!escape(&chars)) return false;
        return set(chars);
      }
      default: emit({.op = Op::kChar, .c = c}); return true;
    }
  }

  bool group(int depth) {
    if (take('?') && !take(':')) return fail("look-around or another (?...) form");
    if (!alternatives(depth + 1)) return false;
    return take(')') || fail("a parenthesis that is not closed");
  }

  bool set(const std::bitset<256>& chars) {
    out_->sets_.push_back(chars);
    emit({.op = Op::kAnyOf, .a = static_cast<int32_t>(out_->sets_.size()) - 1});
    return true;
  }

  bool escape(std::bitset<256>* chars) {
    if (!more()) return fail("a backslash at the end");
    const char c = source_[at_++];
    std::bitset<256> named;
    for (int i = 0; i < 128; ++i) {
      const bool yes = (c == 'd' || c == 'D')   ? std::isdigit(i) != 0
                       : (c == 'w' || c == 'W') ? std::isalnum(i) != 0 || i == '_'
                                                : i == ' ' || (i >= '\t' && i <= '\r');
      named.set(static_cast<size_t>(i), yes);
    }
    if (c == 'd' || c == 'w' || c == 's') {
      *chars |= named;
    } else if (c == 'D' || c == 'W' || c == 'S') {
      *chars |= ~named;
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      return fail("an escape that is not supported");
    } else {
      chars->set(static_cast<unsigned char>(c));
    }
    return true;
  }

  bool bracket() {
    std::bitset<256> chars;
    const bool negated = take('^');
    for (bool first = true; first || !more() || source_[at_] != ']'; first = false) {
      if (!more()) return fail("a bracket that is not closed");
      const char c = source_[at_++];
      if (c == '\\') {
        if (!escape(&chars)) return false;
        continue;
      }
      const auto low = static_cast<unsigned char>(c);
      unsigned char high = low;
      if (source_.size() - at_ >= 2 && source_[at_] == '-' && source_[at_ + 1] != ']') {
        high = static_cast<unsigned char>(source_[at_ + 1]);
        if (high == '\\' || high < low) return fail("a character range that is not supported");
        at_ += 2;
      }
      for (unsigned int i = low; i <= high; ++i) chars.set(i);
    }
    ++at_;
    return set(negated ? ~chars : chars);
  }

  bool number(int* out) {
    const size_t begin = at_;
    *out = 0;
    while (more() && std::isdigit(static_cast<unsigned char>(source_[at_])) != 0 &&
           *out <= kRepeatMax)
      *out = *out * 10 + (source_[at_++] - '0');
    return at_ > begin && *out <= kRepeatMax;
  }

  bool repetition(int32_t begin) {
    int least = 1;
    int most = 1;  // -1 = no limit
    if (take('*')) {
      least = 0;
      most = -1;
    } else if (take('+')) {
      most = -1;
    } else if (take('?')) {
      least = 0;
    } else if (take('{')) {
      if (!number(&least)) return fail("a repetition that is not supported");
      most = least;
      if (take(',')) most = more() && source_[at_] == '}' ? -1 : (number(&most) ? most : -2);
      if (!take('}') || most == -2 || (most >= 0 && most < least))
        return fail("a repetition that is not supported");
    } else {
      return true;
    }
    take('?');  // lazy or greedy: whether there is a match is the same
    if (more() && (source_[at_] == '*' || source_[at_] == '+' || source_[at_] == '{'))
      return fail("a repetition of a repetition");
    return repeat(begin, least, most);
  }

  bool repeat(int32_t begin, int least, int most) {
    const std::vector<Step> body(out_->steps_.begin() + begin, out_->steps_.end());
    const auto copies = static_cast<size_t>(std::max(least, most)) + 2;
    if (out_->steps_.size() + (body.size() + 2) * copies > kStepsMax)
      return fail("a repetition that is too large");
    out_->steps_.resize(static_cast<size_t>(begin));
    for (int i = 0; i < least; ++i) append(body, begin);
    if (most < 0) {  // split(body, end); body; jump back
      const int32_t split = emit({.op = Op::kSplit, .a = here() + 1});
      append(body, begin);
      emit({.op = Op::kJump, .a = split});
      step(split).b = here();
      return true;
    }
    std::vector<int32_t> splits;
    for (int i = least; i < most; ++i) {
      splits.push_back(emit({.op = Op::kSplit, .a = here() + 1}));
      append(body, begin);
    }
    for (const int32_t split : splits) step(split).b = here();
    return true;
  }

  void append(const std::vector<Step>& body, int32_t body_begin) {
    const int32_t shift = here() - body_begin;
    for (Step copy : body) {
      if (copy.op == Op::kSplit || copy.op == Op::kJump) copy.a += shift;
      if (copy.op == Op::kSplit) copy.b += shift;
      emit(copy);
    }
  }

  std::string_view source_;
  Pattern* out_;
  size_t at_ = 0;
  std::string problem_;
};

Result<Pattern> Pattern::compile(std::string_view source) {
  Pattern pattern;
  pattern.source_ = std::string(source);
  if (Status status = PatternCompiler(source, &pattern).run(); !status.ok()) return status;
  return pattern;
}

// Adds `start` and all steps reached from it without reading a character.
void Pattern::follow(std::vector<int32_t>* now, std::vector<uint8_t>* seen, int32_t start,
                     size_t at, size_t size) const {
  std::vector<int32_t> open{start};
  while (!open.empty()) {
    const int32_t i = open.back();
    open.pop_back();
    if (std::exchange((*seen)[static_cast<size_t>(i)], uint8_t{1}) != 0) continue;
    const Step& step = steps_[static_cast<size_t>(i)];
    switch (step.op) {
      case Op::kSplit: open.push_back(step.b); [[fallthrough]];
      case Op::kJump: open.push_back(step.a); break;
      case Op::kBegin:
        if (at == 0) open.push_back(i + 1);
        break;
      case Op::kEnd:
        if (at == size) open.push_back(i + 1);
        break;
      case Op::kChar:
      case Op::kAnyOf:
      case Op::kMatch: now->push_back(i); break;
    }
  }
}

bool Pattern::match(std::string_view text) const {
  std::vector<int32_t> now;
  std::vector<int32_t> next;
  std::vector<uint8_t> seen(steps_.size(), 0);
  follow(&now, &seen, 0, 0, text.size());
  for (size_t at = 0; !now.empty(); ++at) {
    next.clear();
    seen.assign(steps_.size(), 0);
    for (const int32_t i : now) {
      const Step& step = steps_[static_cast<size_t>(i)];
      if (step.op == Op::kMatch) return true;
      if (at == text.size()) continue;
      const char c = text[at];
      const bool yes = step.op == Op::kChar
                           ? step.c == c
                           : sets_[static_cast<size_t>(step.a)].test(static_cast<unsigned char>(c));
      if (yes) follow(&next, &seen, i + 1, at + 1, text.size());
    }
    if (at == text.size()) return false;
    now.swap(next);
  }
  return false;
}

}  // namespace trine::checkpoint
