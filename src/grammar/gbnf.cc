#include "grammar/gbnf.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "grammar/gbnf_syntax.h"
#include "grammar/json_text.h"

namespace trine::grammar {
namespace {

constexpr int64_t kInlineMax = 64;   ///< rules up to this size are written where they are used
constexpr int64_t kUnrollMax = 256;  ///< repetitions up to this size are written out
constexpr int64_t kHuge = kStatesMax;

class Compiler {
 public:
  explicit Compiler(std::vector<GbnfRule> rules)
      : rules_(std::move(rules)), text_(&b_, JsonOptions()) {}

  Result<Program> compile() {
    const auto root = std::find_if(rules_.begin(), rules_.end(),
                                   [](const GbnfRule& r) { return r.name == "root"; });
    if (root == rules_.end())
      return Status(Code::kInvalidArgument, "grammar: rule 'root', the whole answer, is missing");
    find_sizes();
    for (const GbnfRule& r : rules_) ids_.push_back(b_.add_rule(r.name));
    for (size_t i = 0; i < rules_.size() && !b_.too_large(); ++i)
      b_.epsilon(append(rules_[i].body, b_.start(ids_[i])), b_.final(ids_[i]));
    Result<Program> program =
        std::move(b_).finish(ids_[static_cast<size_t>(root - rules_.begin())], kOtherDepthMax);
    return program.ok() ? std::move(program) : program.status().with_context("grammar");
  }

 private:
  using Kind = GbnfNode::Kind;

  // Sizes with small rules written out; rules on a cycle count as huge, so that they stay rules.
  void find_sizes() {
    enum : uint8_t { kNew, kOpen, kDone };
    struct Visit {
      size_t rule;
      std::vector<size_t> called;
      size_t next = 0;
    };
    std::vector<uint8_t> mark(rules_.size(), kNew);
    sizes_.assign(rules_.size(), kHuge);
    for (size_t first = 0; first < rules_.size(); ++first) {
      std::vector<Visit> stack;
      const auto open = [&](size_t rule) {
        mark[rule] = kOpen;
        Visit visit{rule, {}, 0};
        list_called(rules_[rule].body, &visit.called);
        stack.push_back(std::move(visit));
      };
      if (mark[first] == kNew) open(first);
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next < top.called.size()) {
          const size_t called = top.called[top.next++];
          if (mark[called] == kNew) open(called);
          continue;
        }
        sizes_[top.rule] = size_of(rules_[top.rule].body);
        mark[top.rule] = kDone;
        stack.pop_back();
      }
    }
  }

  static void list_called(const GbnfNode& node, std::vector<size_t>* called) {
    if (node.kind == Kind::kRule) called->push_back(node.rule);
    for (const GbnfNode& part : node.parts) list_called(part, called);
  }

  bool is_inline(size_t rule) const { return sizes_[rule] <= kInlineMax; }

  int64_t size_of(const GbnfNode& node) const {
    int64_t size = 1;
    switch (node.kind) {
      case Kind::kLiteral: return static_cast<int64_t>(node.text.size()) + 1;
      case Kind::kChars: return 1 + static_cast<int64_t>(node.chars.ranges().size());
      // A rule on a cycle is huge while the cycle is open, and so is everything that reaches it.
      case Kind::kRule: return sizes_[node.rule];
      default: break;
    }
    for (const GbnfNode& part : node.parts) size = std::min(size + size_of(part), kHuge);
    if (node.kind != Kind::kRepeat || size == kHuge) return size;
    return is_unrolled(node, size) ? std::min(size * copies(node), kHuge) + 1 : size + 2;
  }

  static int64_t copies(const GbnfNode& repeat) {
    return repeat.max == kUnbounded ? repeat.min + 1 : repeat.max;
  }
  static bool is_unrolled(const GbnfNode& repeat, int64_t body_size) {
    return copies(repeat) <= 1 || body_size * copies(repeat) <= kUnrollMax;
  }

  // Appends the node's language after `from`; returns where it ends.
  int32_t append(const GbnfNode& node, int32_t from) {
    if (b_.too_large()) return from;
    const int32_t rule = b_.rule_of(from);
    switch (node.kind) {
      case Kind::kLiteral: return b_.literal(from, node.text);
      case Kind::kChars: {
        const int32_t to = b_.add_state(rule);
        CharEdges(&b_, to).add(from, node.chars);
        return to;
      }
      case Kind::kRule:
        if (is_inline(node.rule)) return append(rules_[node.rule].body, from);
        return b_.call(from, ids_[node.rule]);
      case Kind::kSequence:
        for (const GbnfNode& part : node.parts) from = append(part, from);
        return from;
      case Kind::kAlternatives: return append_alternatives(node, from);
      case Kind::kRepeat: break;
    }
    return append_repeat(node, from);
  }

  static bool is_literal(const GbnfNode& node) {
    return node.kind == Kind::kSequence && node.parts.size() == 1 &&
           node.parts[0].kind == Kind::kLiteral;
  }

  int32_t append_alternatives(const GbnfNode& node, int32_t from) {
    if (node.parts.size() == 1) return append(node.parts[0], from);
    const int32_t rule = b_.rule_of(from);
    const int32_t to = b_.add_state(rule);
    std::vector<std::string> texts;
    for (const GbnfNode& part : node.parts) {
      if (is_literal(part)) {
        texts.push_back(part.parts[0].text);
        continue;
      }
      const int32_t begin = b_.add_state(rule);
      b_.epsilon(from, begin);
      b_.epsilon(append(part, begin), to);
    }
    text_.add_texts(from, to, std::move(texts));
    return to;
  }

  int32_t append_repeat(const GbnfNode& node, int32_t from) {
    const GbnfNode& body = node.parts[0];
    const int32_t rule = b_.rule_of(from);
    if (!is_unrolled(node, size_of(body))) {
      const int32_t counted = b_.add_rule("repetition in " + b_.name(rule));
      b_.epsilon(append(body, b_.start(counted)), b_.final(counted));
      return b_.repeat(from, counted, node.min, node.max);
    }
    for (int64_t i = 0; i < node.min; ++i) from = append(body, from);
    const int32_t to = b_.add_state(rule);
    if (node.max == kUnbounded) {
      b_.epsilon(from, to);
      b_.epsilon(append(body, to), to);
      return to;
    }
    for (int64_t i = node.min; i < node.max; ++i) {
      b_.epsilon(from, to);
      from = append(body, from);
    }
    b_.epsilon(from, to);
    return to;
  }

  const std::vector<GbnfRule> rules_;
  std::vector<int64_t> sizes_;
  std::vector<int32_t> ids_;
  ProgramBuilder b_;
  JsonText text_;
};

}  // namespace

Result<Program> compile_gbnf(std::string_view text) {
  TRINE_ASSIGN_OR_RETURN(std::vector<GbnfRule> rules, parse_gbnf(text));
  return Compiler(std::move(rules)).compile();
}

}  // namespace trine::grammar
