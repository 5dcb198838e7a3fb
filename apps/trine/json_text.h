// JSON out: values are built as text, so that arguments of tool calls keep the spelling they were
// generated in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trine/chat.h"

namespace trine::cli {

/// A JSON string literal; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
std::string json_array(std::span<const int32_t> ids);
std::string json_array(const std::vector<std::string>& values);

/// One object; every call appends a member.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& integer(std::string_view key, int64_t value);
  JsonObject& real(std::string_view key, double value);
  /// `value` is JSON already.
  JsonObject& raw(std::string_view key, std::string_view value);
  std::string str() const { return body_.empty() ? "{}" : body_ + "}"; }

 private:
  std::string body_;
};

/// {"name", "arguments": {...}}, or {"name", "arguments_text"} for what is no JSON object.
std::string json_tool_call(const ToolCall& call);
/// [{...}, ...] of all calls.
std::string json_tool_calls(const std::vector<ToolCall>& calls);

}  // namespace trine::cli
