// The "options" of a chat request, checked (spec section 10).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "trine/status.h"

namespace trine {

struct ChatOptions {
  bool add_generation_prompt = true;
  bool thinking = true;
  std::string thinking_effort = "max";  ///< empty: no effort message
  std::string tool_choice;              ///< "required", "none" or empty
  std::string response_format;          ///< "json_object", "json_schema" or empty
  json::Value response_schema;          ///< of json_schema
  std::optional<std::vector<std::string>> image_prompts;

  /// `options` may be null. Unknown keys and values are refused by name.
  static Result<ChatOptions> parse(const json::Value& options);
};

}  // namespace trine
