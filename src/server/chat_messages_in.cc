#include "server/chat_messages_in.h"

#include "server/common_fields.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kPartFields = std::to_array<Field>({
    {.name = "type", .types = kString, .required = true},
    {.name = "text", .types = kString},
    {.name = "refusal", .types = kString},
    {.name = "annotations", .types = kArray, .handling = Handling::kWithoutEffect},
    {.name = "cache_control", .types = kObject, .handling = Handling::kWithoutEffect},
});
constexpr FieldTable kPart = {"ContentPart", kPartFields};

constexpr auto kCallFunctionFields = std::to_array<Field>({
    {.name = "name", .types = kString, .required = true},
    {.name = "arguments", .types = kString | kObject},
});
constexpr FieldTable kCallFunction = {"CallFunction", kCallFunctionFields};

constexpr auto kCallFields = std::to_array<Field>({
    {.name = "id", .types = kString | kInt},
    {.name = "type", .types = kString, .values = "function"},
    {.name = "index", .types = kInt, .handling = Handling::kWithoutEffect},
    {.name = "function", .types = kObject, .members = &kCallFunction, .required = true},
});
constexpr FieldTable kCall = {"ToolCall", kCallFields};

constexpr auto kMessageFields = std::to_array<Field>({
    {.name = "role",
     .types = kString,
     .values = "system|developer|user|assistant|tool",
     .required = true},
    {.name = "content", .types = kString | kArray},
    {.name = "name", .types = kString},
    {.name = "reasoning_content", .types = kString, .note = "Of an assistant: what it thought."},
    {.name = "reasoning", .types = kString, .note = "The same, where reasoning_content is absent."},
    {.name = "tool_calls", .types = kArray, .items = kObject, .item_members = &kCall},
    {.name = "tool_call_id", .types = kString | kInt},
    {.name = "tool", .types = kString, .note = "Of a tool result: the tool's name."},
    {.name = "tools",
     .types = kArray,
     .items = kObject,
     .item_members = &kChatTool,
     .note = "Of a system message: tools that are added here."},
    {.name = "refusal", .types = kString, .handling = Handling::kWithoutEffect, .note = kNoEffect},
    {.name = "annotations",
     .types = kArray,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "cache_control",
     .types = kObject,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "audio", .handling = Handling::kRefused},
    {.name = "function_call", .handling = Handling::kRefused, .note = "use tool_calls"},
    {.name = "partial", .handling = Handling::kRefused, .neutral = "false"},
});

MaybeProblem read_part(const Value& part, const std::string& where, Value* out) {
  // Parts of other kinds have fields of their own: say what is wrong rather than name these.
  const std::string type = string_of(part, "type");
  if (part.is_object() && !type.empty() && type != "text" && type != "refusal")
    return text_only(where, type, "text");
  TRINE_RETURN_IF_PROBLEM(check_fields(part, where, kPart));
  const Value* text = given(part, type == "refusal" ? "refusal" : "text");
  if (text == nullptr) return invalid(where + ".text", "is missing");
  Value kept;
  kept.set("type", "text");
  kept.set("text", *text);
  out->push(std::move(kept));
  return std::nullopt;
}

MaybeProblem read_content(const Value& message, const std::string& where, Value* out) {
  const Value* content = given(message, "content");
  if (content == nullptr) return std::nullopt;
  if (content->is_string()) {
    out->set("content", *content);
    return std::nullopt;
  }
  Value parts = Value::array();
  for (size_t i = 0; i < content->as_array().size(); ++i)
    TRINE_RETURN_IF_PROBLEM(
        read_part(content->as_array()[i], path_of(where + ".content", i), &parts));
  out->set("content", std::move(parts));
  return std::nullopt;
}

MaybeProblem only_of(const Value& message, const std::string& where, const std::string& role,
                     const char* key, const char* owner) {
  if (given(message, key) == nullptr || role == owner) return std::nullopt;
  return invalid(path_of(where, key),
                 "belongs to messages with the role \"" + std::string(owner) + "\"");
}

void copy(const Value& from, const char* key, Value* to) {
  if (const Value* value = given(from, key)) to->set(key, *value);
}

MaybeProblem read_message(const Value& message, const std::string& where, Value* out) {
  std::string role = string_of(message, "role");
  if (role == "developer") role = "system";
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "tool_calls", "assistant"));
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "reasoning_content", "assistant"));
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "reasoning", "assistant"));
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "tools", "system"));
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "tool_call_id", "tool"));
  TRINE_RETURN_IF_PROBLEM(only_of(message, where, role, "tool", "tool"));
  out->set("role", role);
  TRINE_RETURN_IF_PROBLEM(read_content(message, where, out));
  const Value* tools = given(message, "tools");
  const bool may_lack_content = role == "assistant" || role == "tool" || tools != nullptr;
  if (out->find("content") == nullptr && !may_lack_content)
    return invalid(where + ".content", "is missing");
  if (tools != nullptr) TRINE_RETURN_IF_PROBLEM(check_chat_tools(*tools, where + ".tools"));
  for (const char* key : {"name", "tool_calls", "tool_call_id", "tool", "tools"})
    copy(message, key, out);
  // An empty reasoning_content is an answer without reasoning, not the lack of a statement.
  copy(message, given(message, "reasoning_content") != nullptr ? "reasoning_content" : "reasoning",
       out);
  return std::nullopt;
}

}  // namespace

const FieldTable kChatMessage = {"Message", kMessageFields};

MaybeProblem read_chat_messages(const Value& messages, Value* out) {
  if (messages.as_array().empty())
    return invalid("messages", "is empty; expected at least one message");
  *out = Value::array();
  for (size_t i = 0; i < messages.as_array().size(); ++i) {
    Value read = Value::object();
    TRINE_RETURN_IF_PROBLEM(read_message(messages.as_array()[i], path_of("messages", i), &read));
    out->push(std::move(read));
  }
  return std::nullopt;
}

}  // namespace trine::server
