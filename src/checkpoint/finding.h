// What an audit found: every item names file, tensor, found, expected and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trine::checkpoint {

enum class Severity {
  kNote,   ///< worth knowing, changes nothing (index absent)
  kError,  ///< the checkpoint is refused
};

/// Text of a file, safe on a terminal and on one line: control characters become \n, \t, \x1b.
std::string printable(std::string_view text);

struct Finding {
  Severity severity = Severity::kError;
  std::string kind = {};    ///< stable identifier, e.g. "missing-tensor"
  std::string file = {};    ///< file name inside the folder, or empty
  std::string tensor = {};  ///< tensor or config key, or empty
  std::string found = {};
  std::string expected = {};
  std::string action = {};  ///< what to do next

  /// "FILE: TENSOR: found ..., expected ...; do ..."
  std::string to_string() const;
  json::Value to_json() const;
};

using Findings = std::vector<Finding>;
bool has_errors(const Findings& findings);

/// At most this many are kept; one last error says that the list was cut.
constexpr int64_t kFindingsMax = 50'000;
void add_finding(Findings* findings, Finding finding);

/// Text for people: errors first, one line each; of a kind with more than `per_kind` items only the
/// first ones are written, then "... and N more of this kind".
std::string summarise(const Findings& findings, Severity least, int64_t per_kind);
/// How many of the findings that text does not show.
int64_t left_out_of_summary(const Findings& findings, Severity least, int64_t per_kind);

}  // namespace trine::checkpoint
