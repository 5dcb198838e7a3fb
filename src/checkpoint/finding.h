// What an audit found: every item names file, tensor, found, expected and what to do.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace trine::checkpoint {

enum class Severity {
  kNote,     ///< worth knowing, changes nothing (index absent)
  kError,    ///< the checkpoint is refused
};

struct Finding {
  Severity severity = Severity::kError;
  std::string kind;      ///< stable identifier, e.g. "missing-tensor"
  std::string file;      ///< file name inside the folder, or empty
  std::string tensor;    ///< tensor or config key, or empty
  std::string found;
  std::string expected;
  std::string action;    ///< what to do next

  /// "FILE: TENSOR: found ..., expected ...; do ..."
  std::string to_string() const;
  json::Value to_json() const;
};

using Findings = std::vector<Finding>;
bool has_errors(const Findings& findings);

}  // namespace trine::checkpoint
