// A validator of JSON Schema, slow and by the book, to judge what grammars produce. Shares no code
// with src/grammar; knows the keywords that the grammar room claims and refuses to judge others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trine::test {

/// Nothing when the value is valid, else where and why. Unknown keywords are reported as failures.
std::optional<std::string> schema_violation(const json::Value& schema, const json::Value& value);

/// Backtracking search for an ECMAScript pattern (the constructs that the grammar room supports).
bool pattern_found(std::string_view pattern, std::string_view text);

/// Date, time, date-time, uuid, email and others by hand-written rules; true for unknown formats.
bool format_holds(std::string_view format, std::string_view text);

}  // namespace trine::test
