#include "grammar/oracle.h"

#include <utility>

namespace trine::test {

Oracle::Oracle(std::vector<OracleNode> rules, size_t length)
    : length_(length),
      rules_(std::move(rules)),
      whole_(rules_.size()),
      begun_(rules_.size()),
      productive_(rules_.size(), false) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t r = 0; r < rules_.size(); ++r) {
      Both now = read(rules_[r]);
      changed = changed || now.whole != whole_[r] || now.begun != begun_[r] ||
                now.productive != productive_[r];
      whole_[r] = std::move(now.whole);
      begun_[r] = std::move(now.begun);
      productive_[r] = now.productive;
    }
  }
}

Oracle::Both Oracle::joined(const Both& a, const Both& b) const {
  Both out;
  out.productive = a.productive && b.productive;
  if (!out.productive) return out;
  out.begun = a.begun;
  for (const std::string& x : a.whole) {
    for (const std::string& y : b.whole)
      if (x.size() + y.size() <= length_) out.whole.insert(x + y);
    for (const std::string& y : b.begun)
      if (x.size() + y.size() <= length_) out.begun.insert(x + y);
  }
  return out;
}

Oracle::Both Oracle::read(const OracleNode& node) const {
  Both out;
  switch (node.kind) {
    case OracleNode::Kind::kLiteral:
      out.productive = true;
      if (node.text.size() <= length_) out.whole.insert(node.text);
      for (size_t n = 0; n <= std::min(node.text.size(), length_); ++n)
        out.begun.insert(node.text.substr(0, n));
      return out;
    case OracleNode::Kind::kClass:
      out.productive = true;
      out.begun.insert("");
      for (const char c : node.text) {
        out.whole.insert(std::string(1, c));
        out.begun.insert(std::string(1, c));
      }
      return out;
    case OracleNode::Kind::kRule:
      return {whole_[node.rule], begun_[node.rule], productive_[node.rule]};
    case OracleNode::Kind::kSequence: {
      Both all{{""}, {""}, true};
      for (const OracleNode& part : node.parts) all = joined(all, read(part));
      return all;
    }
    case OracleNode::Kind::kChoice:
      for (const OracleNode& part : node.parts) {
        Both one = read(part);
        out.whole.merge(one.whole);
        out.begun.merge(one.begun);
        out.productive = out.productive || one.productive;
      }
      return out;
    case OracleNode::Kind::kRepeat: break;
  }
  const Both body = read(node.parts[0]);
  Both power{{""}, {""}, true};
  // Without a bound: so many times that nothing new of this length can come.
  const int last = node.max < 0 ? node.min + static_cast<int>(length_) + 1 : node.max;
  for (int i = 0; i <= last; ++i) {
    if (i >= node.min && power.productive) {
      out.whole.insert(power.whole.begin(), power.whole.end());
      out.begun.insert(power.begun.begin(), power.begun.end());
      out.productive = true;
    }
    if (i == last) break;
    Both next = joined(power, body);
    const bool same = next.whole == power.whole && next.begun == power.begun;
    if (same && i >= node.min) break;  // and so for ever
    power = std::move(next);
  }
  return out;
}

namespace {

int below(std::mt19937* engine, int n) {
  return static_cast<int>((*engine)() % static_cast<uint32_t>(n));
}

OracleNode random_node(std::mt19937* engine, size_t rule_count, int depth) {
  OracleNode node;
  const int kind = below(engine, depth > 0 ? 12 : 5);
  if (kind < 2) {
    for (int n = below(engine, 4); n > 0; --n)
      node.text.push_back(static_cast<char>('a' + below(engine, 3)));
  } else if (kind == 2) {
    node.kind = OracleNode::Kind::kClass;
    static constexpr const char* kClasses[] = {"a", "ab", "bc", "abc", "c"};
    node.text = kClasses[below(engine, 5)];
  } else if (kind < 5) {
    node.kind = OracleNode::Kind::kRule;
    node.rule = static_cast<size_t>(below(engine, static_cast<int>(rule_count)));
  } else if (kind < 10) {
    node.kind = kind < 8 ? OracleNode::Kind::kSequence : OracleNode::Kind::kChoice;
    for (int n = 1 + below(engine, 3); n > 0; --n)
      node.parts.push_back(random_node(engine, rule_count, depth - 1));
  } else {
    node.kind = OracleNode::Kind::kRepeat;
    node.min = below(engine, 3);
    // Large bounds are counted, small ones written out.
    node.max = below(engine, 3) == 0 ? -1 : node.min + below(engine, 4);
    if (below(engine, 3) == 0) node.max = node.min + 500;
    node.parts.push_back(random_node(engine, rule_count, depth - 1));
  }
  return node;
}

std::string gbnf_of(const OracleNode& node) {
  std::string out;
  switch (node.kind) {
    case OracleNode::Kind::kLiteral: return '"' + node.text + '"';
    case OracleNode::Kind::kClass: return '[' + node.text + ']';
    case OracleNode::Kind::kRule: return node.rule == 0 ? "root" : "r" + std::to_string(node.rule);
    case OracleNode::Kind::kSequence:
    case OracleNode::Kind::kChoice:
      for (const OracleNode& part : node.parts) {
        const bool choice = node.kind == OracleNode::Kind::kChoice;
        out += (out.empty() ? "" : choice ? " | " : " ") + gbnf_of(part);
      }
      return '(' + out + ')';
    case OracleNode::Kind::kRepeat: break;
  }
  return '(' + gbnf_of(node.parts[0]) + "){" + std::to_string(node.min) + ',' +
         (node.max < 0 ? "" : std::to_string(node.max)) + '}';
}

}  // namespace

std::vector<OracleNode> random_rules(std::mt19937* engine) {
  std::vector<OracleNode> rules(static_cast<size_t>(1 + below(engine, 4)));
  for (OracleNode& rule : rules) rule = random_node(engine, rules.size(), 3);
  return rules;
}

std::string to_gbnf(const std::vector<OracleNode>& rules) {
  std::string text;
  for (size_t r = 0; r < rules.size(); ++r)
    text += (r == 0 ? "root" : "r" + std::to_string(r)) + " ::= " + gbnf_of(rules[r]) + "\n";
  return text;
}

}  // namespace trine::test
