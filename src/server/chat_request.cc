// Reading a request of /v1/chat/completions.
#include "server/chat_request.h"

#include "server/chat_messages_in.h"
#include "server/common_fields.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kThinkingFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "enabled|disabled", .required = true},
});
constexpr FieldTable kThinking = {"Thinking", kThinkingFields};

constexpr auto kOwnFields = std::to_array<Field>({
    {.name = "messages",
     .types = kArray,
     .items = kObject,
     .item_members = &kChatMessage,
     .required = true},
    {.name = "max_tokens", .types = kInt, .min = 0},
    {.name = "max_completion_tokens", .types = kInt, .min = 0, .note = "Wins over max_tokens."},
    {.name = "n", .types = kInt, .min = 1},
    {.name = "stop", .types = kString | kArray, .items = kString, .note = "Found in content only."},
    {.name = "logprobs", .types = kBool},
    {.name = "top_logprobs", .types = kInt, .min = 0, .max = 20},
    {.name = "stream_options", .types = kObject, .members = &kStreamOptions},
    {.name = "response_format", .types = kObject, .members = &kResponseFormat},
    {.name = "reasoning_effort", .types = kString, .values = kEfforts},
    {.name = "thinking", .types = kObject, .members = &kThinking},
    {.name = "tools", .types = kArray, .items = kObject, .item_members = &kChatTool},
    {.name = "tool_choice", .types = kString | kObject, .values = "none|auto|required"},
    {.name = "audio", .handling = Handling::kRefused},
    {.name = "modalities", .handling = Handling::kRefused, .neutral = "[\"text\"]"},
    {.name = "function_call", .handling = Handling::kRefused, .note = "use tool_choice"},
    {.name = "functions", .handling = Handling::kRefused, .note = "use tools"},
    {.name = "prediction", .handling = Handling::kRefused},
    {.name = "verbosity", .handling = Handling::kRefused, .neutral = "\"medium\""},
    {.name = "web_search_options", .handling = Handling::kRefused},
});
constexpr auto kAllFields = joined(kCommonFields, kOwnFields);

constexpr auto kNamedFields = std::to_array<Field>({
    {.name = "name", .types = kString, .required = true},
});
constexpr FieldTable kNamed = {"NamedFunction", kNamedFields};
constexpr auto kChoiceFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "function", .required = true},
    {.name = "function", .types = kObject, .members = &kNamed, .required = true},
});
constexpr FieldTable kNamedChoice = {"NamedToolChoice", kChoiceFields};

MaybeProblem read_tools(const Value& body, GenerationRequest* out) {
  ToolUse use;
  if (const Value* tools = given(body, "tools"); tools != nullptr && !tools->as_array().empty()) {
    TRINE_RETURN_IF_PROBLEM(check_chat_tools(*tools, "tools"));
    Value kept = Value::array();
    for (const Value& tool : tools->as_array()) {
      Value copy;  // without fields that the model must not see
      for (const char* key : {"type", "function"}) copy.set(key, *tool.find(key));
      kept.push(std::move(copy));
    }
    out->chat.set("tools", std::move(kept));
  }
  const Value* choice = given(body, "tool_choice");
  if (choice != nullptr && choice->is_object()) {
    TRINE_RETURN_IF_PROBLEM(check_fields(*choice, "tool_choice", kNamedChoice));
    use.choice = ToolUse::Choice::kRequired;
    use.name = string_of(*choice->find("function"), "name");
    if (use.name.empty()) return invalid("tool_choice.function.name", "is empty");
  } else if (choice != nullptr && choice->as_string() == "required") {
    use.choice = ToolUse::Choice::kRequired;
  } else if (choice != nullptr && choice->as_string() == "none") {
    use.choice = ToolUse::Choice::kNone;
  }
  return set_tool_choice(std::move(use), "tool_choice", out);
}

MaybeProblem read_logprobs(const Value& body, GenerationRequest* out) {
  out->logprobs = bool_of(body, "logprobs", false);
  const int64_t top = int_of(body, "top_logprobs", 0);
  if (top > 0 && !out->logprobs) return invalid("top_logprobs", "needs \"logprobs\": true");
  out->request.top_logprobs = out->logprobs ? static_cast<int>(top) : -1;
  return std::nullopt;
}

}  // namespace

const FieldTable kChatRequest = {"ChatCompletionRequest", kAllFields};

MaybeProblem parse_chat_request(const Value& body, const RequestRules& rules,
                                GenerationRequest* out) {
  out->api = ApiKind::kChat;
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kChatRequest));
  TRINE_RETURN_IF_PROBLEM(read_common(body, rules, out));
  Value messages;
  TRINE_RETURN_IF_PROBLEM(read_chat_messages(*body.find("messages"), &messages));
  out->chat.set("messages", std::move(messages));
  TRINE_RETURN_IF_PROBLEM(read_tools(body, out));
  const Value* thinking = given(body, "thinking");
  const bool thinks = thinking == nullptr || string_of(*thinking, "type") == "enabled";
  TRINE_RETURN_IF_PROBLEM(
      read_thinking(body, given(body, "reasoning_effort"), "reasoning_effort", thinks, out));
  if (const Value* format = given(body, "response_format"))
    TRINE_RETURN_IF_PROBLEM(read_format(body, "response_format", *format, true, out));
  TRINE_RETURN_IF_PROBLEM(read_stop(body, "stop", out));
  TRINE_RETURN_IF_PROBLEM(read_logprobs(body, out));
  TRINE_RETURN_IF_PROBLEM(read_stream_options(body, out));
  read_max_tokens(body, {"max_tokens", "max_completion_tokens"}, out);
  out->n = int_of(body, "n", 1);
  if (out->n > rules.n_max)
    return invalid("n", "found " + std::to_string(out->n) + ", expected at most " +
                            std::to_string(rules.n_max));
  return std::nullopt;
}

}  // namespace trine::server
