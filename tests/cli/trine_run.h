// Running the built executable in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/process.h"

namespace trine::testing {

inline std::string golden(const std::string& name) {
  return std::string(TRINE_SOURCE_DIR) + "/tests/golden/" + name;
}
inline std::string nano() { return std::string(TRINE_SOURCE_DIR) + "/models/k3-nano"; }

/// trine with these arguments.
ProcessResult trine(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
ProcessResult trine_stdin(const std::vector<std::string>& arguments, const std::string& input);

/// Parses text that must be exactly one JSON value.
json::Value must_parse(const std::string& text);
json::Value read_json(const std::string& path);
/// The member, or null with a test failure.
const json::Value& member(const json::Value& object, const std::string& key);
std::vector<int32_t> ids_of(const json::Value& array);
std::string ids_text(const std::vector<int32_t>& ids);

}  // namespace trine::testing
