// Reading the messages of a chat request; see the header.
#include "text/chat_messages.h"

#include <algorithm>

#include "base/try.h"
#include "text/chat_tools.h"
#include "text/utf8.h"

namespace trine {
namespace {

using json::Value;
using Role = ChatMessage::Role;

Status bad(const std::string& where, const std::string& what) {
  return Status(Code::kInvalidArgument, where + ": " + what);
}

// A member that is absent or null counts as not given.
const Value* given(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status read_string(const Value& object, const char* key, const std::string& where,
                   std::string* out) {
  const Value* value = given(object, key);
  if (value == nullptr) return Status();
  if (!value->is_string())
    return bad(where + "." + key, "found " + json::dump(*value) + ", expected a string");
  *out = value->as_string();
  return Status();
}

Status read_part(const Value& part, const std::string& where, ContentPart* out) {
  const Value* type = given(part, "type");
  if (type == nullptr || !type->is_string()) return bad(where + ".type", "expected a string");
  if (type->as_string() == "image" || type->as_string() == "image_url") {
    out->is_image = true;
    out->text = where;
    return Status();
  }
  if (type->as_string() != "text")
    return bad(where + ".type", "found " + json::quote(type->as_string()) +
                                    ", expected \"text\", \"image\" or \"image_url\"");
  if (given(part, "text") == nullptr) return bad(where + ".text", "is missing");
  return read_string(part, "text", where, &out->text);
}

Status read_content(const Value& message, const std::string& where, std::vector<ContentPart>* out) {
  const Value* content = given(message, "content");
  if (content == nullptr) return Status();
  if (content->is_string()) {
    out->push_back({false, content->as_string()});
    return Status();
  }
  if (!content->is_array())
    return bad(where + ".content", "expected a string, an array of parts or null");
  for (size_t i = 0; i < content->as_array().size(); ++i)
    TRINE_RETURN_IF_ERROR(read_part(content->as_array()[i],
                                    where + ".content[" + std::to_string(i) + "]",
                                    &out->emplace_back()));
  return Status();
}

// An object, JSON text of one, blank text or null; other text is kept as it is.
Status read_arguments(const Value& function, const std::string& where, RequestedCall* out) {
  const Value* arguments = given(function, "arguments");
  if (arguments == nullptr) return Status();
  Value parsed = *arguments;
  if (arguments->is_string()) {
    if (is_blank(arguments->as_string())) return Status();
    json::ParseLimits limits;
    limits.allow_duplicate_keys = true;
    Result<Value> value = json::parse(arguments->as_string(), "", limits);
    if (!value.ok()) {
      out->raw_arguments = arguments->as_string();
      return Status();
    }
    parsed = *std::move(value);
  }
  if (!parsed.is_object())
    return bad(where + ".arguments", "found " + json::dump(*arguments) +
                                         ", expected an object, or JSON text of an object");
  out->arguments = std::move(parsed);
  return Status();
}

// Ids are opaque; numbers count as their spelling.
std::optional<std::string> id_text(const Value* id) {
  if (id != nullptr && id->is_string()) return id->as_string();
  if (id != nullptr && id->is_number()) return id->number_text();
  return std::nullopt;
}

Status read_calls(const Value& message, const std::string& where, std::vector<RequestedCall>* out) {
  const Value* calls = given(message, "tool_calls");
  if (calls == nullptr) return Status();
  if (!calls->is_array()) return bad(where + ".tool_calls", "expected an array");
  for (size_t i = 0; i < calls->as_array().size(); ++i) {
    const Value& call = calls->as_array()[i];
    std::string place = where + ".tool_calls[" + std::to_string(i) + "]";
    if (!call.is_object()) return bad(place, "expected an object");
    const Value* function = given(call, "function");
    if (function != nullptr) place += ".function";
    const Value& body = function != nullptr ? *function : call;
    if (given(body, "name") == nullptr) return bad(place + ".name", "is missing");
    RequestedCall& read = out->emplace_back();
    read.id = id_text(given(call, "id"));
    TRINE_RETURN_IF_ERROR(read_string(body, "name", place, &read.name));
    TRINE_RETURN_IF_ERROR(read_arguments(body, place, &read));
  }
  return Status();
}

Status read_role(const Value& message, const std::string& where, Role* out) {
  const Value* role = message.find("role");
  const std::string name = role != nullptr && role->is_string() ? role->as_string() : "";
  if (name == "user")
    *out = Role::kUser;
  else if (name == "system")
    *out = Role::kSystem;
  else if (name == "assistant")
    *out = Role::kAssistant;
  else if (name == "tool")
    *out = Role::kTool;
  else
    return bad(where + ".role", "found " + (role == nullptr ? "nothing" : json::dump(*role)) +
                                    ", expected \"user\", \"system\", \"assistant\" or \"tool\"");
  return Status();
}

Status read_message(const Value& message, const std::string& where, ChatMessage* out) {
  if (!message.is_object()) return bad(where, "expected an object");
  TRINE_RETURN_IF_ERROR(read_role(message, where, &out->role));
  TRINE_RETURN_IF_ERROR(read_content(message, where, &out->content));
  TRINE_RETURN_IF_ERROR(read_string(message, "name", where, &out->name));
  if (out->role == Role::kSystem) {
    if (const Value* tools = given(message, "tools"); tools != nullptr) {
      TRINE_RETURN_IF_ERROR(check_tools(*tools, where + ".tools"));
      if (!tools->as_array().empty()) out->tools = *tools;
    }
  }
  if (out->role == Role::kTool) {
    for (const char* key : {"name", "tool"})
      if (given(message, key) != nullptr)
        TRINE_RETURN_IF_ERROR(read_string(message, key, where, &out->tool.emplace()));
  }
  if (out->role == Role::kAssistant) {
    TRINE_RETURN_IF_ERROR(read_string(message, "reasoning_content", where, &out->reasoning));
    if (out->reasoning.empty())
      TRINE_RETURN_IF_ERROR(read_string(message, "reasoning", where, &out->reasoning));
    TRINE_RETURN_IF_ERROR(read_calls(message, where, &out->calls));
  }
  return Status();
}

// A run of tool messages after an assistant.
struct ToolRun {
  size_t begin = 0;
  size_t end = 0;
};

constexpr size_t kNoCall = SIZE_MAX;

size_t call_with_id(const std::vector<RequestedCall>& calls, const std::optional<std::string>& id) {
  for (size_t i = 0; i < calls.size(); ++i)
    if (id && calls[i].id == id) return i;
  return kNoCall;
}

// When every id of the run is that of a call: call order, and the call's name.
void sort_run(const Value& messages, ToolRun run, const std::vector<RequestedCall>& calls,
              std::vector<ChatMessage>* out) {
  std::vector<std::pair<size_t, ChatMessage>> results;
  for (size_t i = run.begin; i < run.end; ++i) {
    const Value& message = messages.as_array()[i];
    const Value* id = message.find("tool_call_id");
    if (id == nullptr) id = message.find("id");
    const size_t call = call_with_id(calls, id_text(id));
    if (call == kNoCall) return;
    results.emplace_back(call, (*out)[i]);
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = run.begin; i < run.end; ++i) {
    auto& [call, message] = results[i - run.begin];
    message.tool = calls[call].name;
    (*out)[i] = std::move(message);
  }
}

}  // namespace

Result<std::vector<ChatMessage>> parse_messages(const Value& messages) {
  if (!messages.is_array()) return bad("messages", "expected an array");
  std::vector<ChatMessage> out(messages.as_array().size());
  for (size_t i = 0; i < out.size(); ++i)
    TRINE_RETURN_IF_ERROR(
        read_message(messages.as_array()[i], "messages[" + std::to_string(i) + "]", &out[i]));

  std::vector<RequestedCall> calls;  // of the last assistant
  size_t results = 0;                // tool messages since then
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].role == Role::kAssistant) {
      calls = out[i].calls;
      results = 0;
    }
    if (out[i].role != Role::kTool) continue;
    if (i == 0 || out[i - 1].role != Role::kTool) {
      ToolRun run{i, i};
      while (run.end < out.size() && out[run.end].role == Role::kTool) ++run.end;
      sort_run(messages, run, calls, &out);
    }
    if (!out[i].tool && results < calls.size()) out[i].tool = calls[results].name;
    ++results;
    if (!out[i].tool)
      return bad("messages[" + std::to_string(i) + "].tool",
                 "no tool name; give \"tool\" or \"name\", or put the result after an assistant "
                 "message with a call for it");
  }
  return out;
}

}  // namespace trine
