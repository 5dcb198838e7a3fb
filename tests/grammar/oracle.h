// A slow and simple reading of small grammars, written apart from the room: the sets of whole texts
// and of beginnings up to some length, by fixpoint over a tree.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace trine::test {

struct OracleNode {
  enum class Kind { kLiteral, kClass, kSequence, kChoice, kRepeat, kRule };
  Kind kind = Kind::kLiteral;
  std::string text;  ///< literal; or the characters of a class
  std::vector<OracleNode> parts;
  int min = 0, max = 0;  ///< of a repeat; max < 0 = without bound
  size_t rule = 0;
};

class Oracle {
 public:
  /// rules[0] is the root. Texts are cut at `length` bytes.
  Oracle(std::vector<OracleNode> rules, size_t length);

  bool is_whole(const std::string& text) const { return whole_[0].contains(text); }
  bool is_beginning(const std::string& text) const { return begun_[0].contains(text); }
  const std::set<std::string>& beginnings() const { return begun_[0]; }

 private:
  using Texts = std::set<std::string>;
  struct Both {
    Texts whole;  // up to the length
    Texts begun;  // beginnings of whole texts of any length; empty when there is no whole text
    bool productive = false;
  };
  Both read(const OracleNode& node) const;
  Both joined(const Both& a, const Both& b) const;

  size_t length_;
  std::vector<OracleNode> rules_;
  std::vector<Texts> whole_, begun_;
  std::vector<bool> productive_;
};

/// Random rules over a, b, c; recursion anywhere.
std::vector<OracleNode> random_rules(std::mt19937* engine);
/// As GBNF.
std::string to_gbnf(const std::vector<OracleNode>& rules);

}  // namespace trine::test
