// JSON out.
#include "json_text.h"

#include <array>
#include <charconv>

#include "json.h"

namespace trine::cli {

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_array(std::span<const int32_t> ids) {
  std::string out = "[";
  for (const int32_t id : ids) {
    if (out.size() > 1) out += ',';
    out += std::to_string(id);
  }
  return out + "]";
}

std::string json_array(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += value;
  }
  return out + "]";
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view value) {
  body_ += body_.empty() ? '{' : ',';
  body_ += json_string(key);
  body_ += ':';
  body_ += value;
  return *this;
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
  return raw(key, json_string(value));
}

JsonObject& JsonObject::integer(std::string_view key, int64_t value) {
  return raw(key, std::to_string(value));
}

JsonObject& JsonObject::real(std::string_view key, double value) {
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return raw(key, std::string_view(text.data(), static_cast<size_t>(end - text.data())));
}

std::string json_tool_call(const ToolCall& call) {
  JsonObject object;
  object.text("name", call.name);
  if (call.arguments_are_text) {
    object.text("arguments_text", call.arguments);
  } else {
    object.raw("arguments", call.arguments.empty() ? "{}" : call.arguments);
  }
  return object.str();
}

std::string json_tool_calls(const std::vector<ToolCall>& calls) {
  std::vector<std::string> values;
  values.reserve(calls.size());
  for (const ToolCall& call : calls) values.push_back(json_tool_call(call));
  return json_array(values);
}

}  // namespace trine::cli
