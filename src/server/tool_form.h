// What a constrained call of a tool looks like in XTML (spec section 10), from its JSON Schema.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/grammar.h"
#include "trine/status.h"

namespace trine::server {

struct ToolSpec {
  std::string name;
  json::Value parameters;  ///< JSON Schema of the arguments; null = none
  bool strict = false;
};

/// The element of one argument with a value of one type.
struct ArgumentForm {
  std::string head;  ///< argument key="K" type="T"
  size_t property = 0;
  std::shared_ptr<const grammar::Grammar> value;
};

/// A schema that lists `properties` is written as <argument> elements: each property at most once,
/// in any order, no others. Any other schema (anyOf at the top, free keys, huge) is one <json>
/// element (where keys are free, one may come twice: ToolCall::arguments_are_text says so).
struct ToolForm {
  std::string head;            ///< call tool="NAME" index="
  std::vector<bool> required;  ///< by property
  std::vector<ArgumentForm> arguments;
  std::shared_ptr<const grammar::Grammar> json;
};

/// kInvalidArgument names the tool, the place in its schema and the keyword.
Result<ToolForm> tool_form(const ToolSpec& tool);
/// For a tool whose schema is not to be enforced: any object.
Result<ToolForm> loose_tool_form(const ToolSpec& tool);

}  // namespace trine::server
