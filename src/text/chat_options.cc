// Reading the options of a chat request. A null stands for the default, except for the effort.
#include "text/chat_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/try.h"

namespace trine {
namespace {

constexpr std::array<std::string_view, 4> kEfforts = {"low", "medium", "high", "max"};
constexpr std::string_view kEffortRule =
    "\"low\", \"medium\", \"high\", \"max\", \"none\" (no thinking) or null (no effort message)";

Status bad(std::string_view key, const json::Value& found, std::string_view expected) {
  return Status(Code::kInvalidArgument, "options." + std::string(key) + ": found " +
                                            json::dump(found) + ", expected " +
                                            std::string(expected));
}

Status read_bool(std::string_view key, const json::Value& value, bool* out) {
  if (value.is_null()) return Status();
  if (!value.is_bool()) return bad(key, value, "true or false");
  *out = value.as_bool();
  return Status();
}

// The value itself is judged once it is known whether the model thinks at all.
Status read_effort(const json::Value& value, ChatOptions* out) {
  out->thinking_effort.clear();
  if (value.is_null()) return Status();
  if (!value.is_string() || value.as_string().empty())
    return bad("thinking_effort", value, kEffortRule);
  out->thinking_effort = value.as_string();
  return Status();
}

Status read_tool_choice(const json::Value& value, ChatOptions* out) {
  if (value.is_null()) return Status();
  const std::string choice = value.is_string() ? value.as_string() : "";
  if (choice != "auto" && choice != "none" && choice != "required")
    return bad("tool_choice", value, "\"auto\", \"none\" or \"required\"");
  if (choice != "auto") out->tool_choice = choice;
  return Status();
}

// {"type": T} or T itself.
Status read_response_format(const json::Value& value, ChatOptions* out) {
  if (value.is_null()) return Status();
  const json::Value* type = value.is_object() ? value.find("type") : &value;
  const std::string name = type != nullptr && type->is_string() ? type->as_string() : "";
  if (name != "text" && name != "json_object" && name != "json_schema")
    return bad("response_format", value, "the type \"text\", \"json_object\" or \"json_schema\"");
  if (name != "text") out->response_format = name;
  return Status();
}

// response_schema itself, or json_schema.schema (or a bare json_schema) of the response format.
Status find_schema(const json::Value& options, ChatOptions* out) {
  const json::Value* schema = options.find("response_schema");
  if (schema != nullptr && schema->is_null()) schema = nullptr;
  if (out->response_format != "json_schema") {
    if (schema == nullptr) return Status();
    return Status(Code::kInvalidArgument,
                  "options.response_schema: only with a response_format of type \"json_schema\"");
  }
  if (schema == nullptr) {
    const json::Value* nested = options.find("response_format")->find("json_schema");
    schema = nested;
    for (const char* key : {"json_schema", "schema"})
      if (nested != nullptr && nested->find(key) != nullptr) schema = nested->find(key);
  }
  if (schema == nullptr || schema->is_null())
    return Status(
        Code::kInvalidArgument,
        "options.response_format: \"json_schema\" needs a schema, in json_schema.schema or in "
        "options.response_schema");
  out->response_schema = *schema;
  return Status();
}

Status read_image_prompts(const json::Value& value, ChatOptions* out) {
  if (value.is_null()) return Status();
  if (!value.is_array()) return bad("image_prompts", value, "an array of strings");
  out->image_prompts.emplace();
  for (const json::Value& prompt : value.as_array()) {
    if (!prompt.is_string()) return bad("image_prompts", prompt, "strings in the array");
    out->image_prompts->push_back(prompt.as_string());
  }
  return Status();
}

Status read_option(const std::string& key, const json::Value& value, ChatOptions* out) {
  if (key == "add_generation_prompt") return read_bool(key, value, &out->add_generation_prompt);
  if (key == "thinking") return read_bool(key, value, &out->thinking);
  if (key == "thinking_effort") return read_effort(value, out);
  if (key == "tool_choice") return read_tool_choice(value, out);
  if (key == "response_format") return read_response_format(value, out);
  if (key == "image_prompts") return read_image_prompts(value, out);
  if (key == "response_schema") return Status();  // read with the response format
  return Status(Code::kInvalidArgument,
                "options: unknown option " + json::quote(key) +
                    "; known are add_generation_prompt, thinking, thinking_effort, tool_choice, "
                    "response_format, response_schema, image_prompts");
}

}  // namespace

Result<ChatOptions> ChatOptions::parse(const json::Value& options) {
  ChatOptions out;
  if (options.is_null()) return out;
  if (!options.is_object())
    return Status(Code::kInvalidArgument,
                  "options: found " + json::dump(options) + ", expected an object");
  for (const auto& [key, value] : options.as_object())
    TRINE_RETURN_IF_ERROR(read_option(key, value, &out));
  TRINE_RETURN_IF_ERROR(find_schema(options, &out));

  if (out.thinking_effort == "none") out.thinking = false;
  if (!out.thinking) out.thinking_effort.clear();
  const std::string& effort = out.thinking_effort;
  if (!effort.empty() && std::find(kEfforts.begin(), kEfforts.end(), effort) == kEfforts.end())
    return bad("thinking_effort", *options.find("thinking_effort"), kEffortRule);
  return out;
}

}  // namespace trine
