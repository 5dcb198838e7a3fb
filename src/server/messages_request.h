// The fields of Anthropic's /v1/messages and /v1/messages/count_tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "server/fields.h"

namespace trine::server {

extern const FieldTable kMessagesRequest;
extern const FieldTable kCountTokensRequest;

/// Thinking blocks are not signed here; clients want to give something back.
inline constexpr std::string_view kThinkingSignature = "unsigned";

/// The input of a tool_use block: the arguments, or {"raw": TEXT} when they are no JSON object (a
/// call that was cut off).
json::Value input_of_arguments(const std::string& arguments);

}  // namespace trine::server
