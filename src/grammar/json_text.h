// The parts of JSON text that every schema shares: strings, literals and white space.
//
// Free strings may use every escape of JSON. Strings that must meet a condition (patterns, formats,
// names, enum) are written in one way only: a character as itself, what JSON forbids in its
// shortest escape. So a condition on the value is a condition on the text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "grammar/char_dfa.h"
#include "grammar/grammar.h"
#include "grammar/program.h"

namespace trine::grammar {

class JsonText {
 public:
  JsonText(ProgramBuilder* builder, const JsonOptions& options) : b_(*builder), options_(options) {}

  /// Where line breaks may be: after `{ [ ,` and before `} ]`.
  int32_t break_after(int32_t from);
  /// After a colon.
  int32_t blank_after(int32_t from);

  /// Any string of min to max characters; bare = without quotes and escapes.
  void add_string(int32_t from, int32_t to, int64_t min, int64_t max, bool bare);
  void add_string(int32_t from, int32_t to, const CharDfa& dfa, bool bare);
  /// One of these texts (each as it stands); shared beginnings are one path.
  void add_texts(int32_t from, int32_t to, std::vector<std::string> texts);
  /// The value itself. Numbers as they were spelled.
  void add_value(int32_t from, int32_t to, const json::Value& value);

 private:
  int32_t white_space_rule();
  int32_t char_rule(bool bare);
  void add_char(int32_t from, int32_t to, bool bare);
  void add_dfa(int32_t from, int32_t to, const CharDfa& dfa, bool bare);
  int32_t add_members(int32_t from, const json::Value& value);

  ProgramBuilder& b_;
  const JsonOptions options_;
  int32_t white_space_ = -1;
  int32_t chars_[2] = {-1, -1};                                    // rules: quoted, bare
  int32_t strings_[2] = {-1, -1};                                  // of any length
  std::map<std::tuple<int64_t, int64_t, bool>, int32_t> counted_;  // by min, max, bare
};

/// The characters as JSON text without quotes, as conditions write them.
std::string canonical_json(const std::vector<uint32_t>& chars);

}  // namespace trine::grammar
