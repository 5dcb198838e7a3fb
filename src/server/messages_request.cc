// Reading requests of Anthropic's API into the one chat form: same content, same prompt.
#include "server/messages_request.h"

#include "server/common_fields.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kThinkingFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "enabled|adaptive|disabled", .required = true},
    {.name = "budget_tokens",
     .types = kInt,
     .handling = Handling::kWithoutEffect,
     .min = 0,
     .note = kNoEffect},
    {.name = "display", .types = kString, .handling = Handling::kWithoutEffect, .note = kNoEffect},
});
constexpr FieldTable kThinking = {"ThinkingConfig", kThinkingFields};

constexpr auto kOutputConfigFields = std::to_array<Field>({
    {.name = "effort", .types = kString, .values = kEfforts},
    {.name = "format", .types = kObject, .members = &kTextFormat},
});
constexpr FieldTable kOutputConfig = {"OutputConfig", kOutputConfigFields};

constexpr auto kToolFields = std::to_array<Field>({
    {.name = "name", .types = kString, .required = true},
    {.name = "description", .types = kString},
    {.name = "input_schema", .types = kObject, .required = true},
    {.name = "strict", .types = kBool},
    {.name = "type", .types = kString, .values = "custom"},
    {.name = "cache_control",
     .types = kObject,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "input_examples",
     .types = kArray,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
    {.name = "eager_input_streaming",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});
constexpr FieldTable kTool = {"AnthropicTool", kToolFields};

constexpr auto kChoiceFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "auto|any|tool|none", .required = true},
    {.name = "name", .types = kString},
    {.name = "disable_parallel_tool_use",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});
constexpr FieldTable kToolChoice = {"AnthropicToolChoice", kChoiceFields};

constexpr auto kMessageFields = std::to_array<Field>({
    {.name = "role", .types = kString, .values = "user|assistant", .required = true},
    {.name = "content", .types = kString | kArray, .required = true},
});
constexpr FieldTable kMessage = {"AnthropicMessage", kMessageFields};

constexpr auto kPromptFields = std::to_array<Field>({
    {.name = "messages",
     .types = kArray,
     .items = kObject,
     .item_members = &kMessage,
     .required = true},
    {.name = "system", .types = kString | kArray},
    {.name = "thinking", .types = kObject, .members = &kThinking},
    {.name = "output_config", .types = kObject, .members = &kOutputConfig},
    {.name = "tools", .types = kArray, .items = kObject},
    {.name = "tool_choice", .types = kObject, .members = &kToolChoice},
    {.name = "container", .handling = Handling::kRefused},
    {.name = "context_management", .handling = Handling::kRefused},
    {.name = "mcp_servers", .handling = Handling::kRefused, .neutral = "[]"},
});
constexpr auto kOwnFields = std::to_array<Field>({
    {.name = "max_tokens", .types = kInt, .min = 0},
    {.name = "stop_sequences", .types = kArray, .items = kString},
    {.name = "inference_geo",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});
constexpr auto kCountFields =
    joined(std::to_array<Field>({
               {.name = "model", .types = kString},
               {.name = "cache_control",
                .types = kObject,
                .handling = Handling::kWithoutEffect,
                .note = kNoEffect},
               {.name = "chat_template_kwargs", .types = kObject, .members = &kTemplateOptions},
           }),
           kPromptFields);
constexpr auto kAllFields = joined(kCommonFields, joined(kPromptFields, kOwnFields));

constexpr auto kBlockFields = std::to_array<Field>({
    {.name = "type", .types = kString, .required = true},
    {.name = "text", .types = kString},
    {.name = "citations", .types = kArray, .handling = Handling::kWithoutEffect},
    {.name = "cache_control", .types = kObject, .handling = Handling::kWithoutEffect},
    {.name = "thinking", .types = kString},
    {.name = "signature", .types = kString, .handling = Handling::kWithoutEffect},
    {.name = "data", .types = kString, .handling = Handling::kWithoutEffect},
    {.name = "id", .types = kString},
    {.name = "name", .types = kString},
    {.name = "input", .types = kObject},
    {.name = "caller", .types = kObject, .handling = Handling::kWithoutEffect},
    {.name = "tool_use_id", .types = kString},
    {.name = "content", .types = kString | kArray},
    {.name = "is_error", .types = kBool, .handling = Handling::kWithoutEffect},
});
constexpr FieldTable kBlock = {"ContentBlock", kBlockFields};

Value text_part(const std::string& text) {
  Value out;
  out.set("type", "text");
  out.set("text", text);
  return out;
}

// A string, or text blocks as parts.
MaybeProblem read_texts(const Value& content, const std::string& where, Value* out) {
  if (content.is_string()) {
    *out = content;
    return std::nullopt;
  }
  *out = Value::array();
  for (size_t i = 0; i < content.as_array().size(); ++i) {
    const Value& block = content.as_array()[i];
    const std::string place = path_of(where, i);
    const std::string type = string_of(block, "type");
    if (!type.empty() && type != "text") return text_only(place, type, "text");
    TRINE_RETURN_IF_PROBLEM(check_fields(block, place, kBlock));
    TRINE_RETURN_IF_PROBLEM(needs(block, place, "text"));
    out->push(text_part(string_of(block, "text")));
  }
  return std::nullopt;
}

// Anthropic's turns become messages: tool results have messages of their own, in the order given.
class Turns {
 public:
  MaybeProblem read(const Value& messages) {
    if (messages.as_array().empty())
      return invalid("messages", "is empty; expected at least one message");
    for (size_t i = 0; i < messages.as_array().size(); ++i) {
      const Value& message = messages.as_array()[i];
      const std::string where = path_of("messages", i);
      const bool is_user = string_of(message, "role") == "user";
      const Value& content = *message.find("content");
      TRINE_RETURN_IF_PROBLEM(is_user ? user(content, where) : assistant(content, where));
      if (!is_user && i + 1 == messages.as_array().size())
        return unsupported(where,
                           "an answer that is begun cannot be continued; the last message "
                           "must have the role \"user\"");
    }
    return std::nullopt;
  }

  void add(Value message) { out_.push(std::move(message)); }
  Value take() { return std::move(out_); }

 private:
  MaybeProblem user(const Value& content, const std::string& where) {
    if (content.is_string()) {
      add(message("user", content));
      return std::nullopt;
    }
    Value parts = Value::array();
    const auto flush = [&] {
      if (!parts.as_array().empty()) add(message("user", std::move(parts)));
      parts = Value::array();
    };
    for (size_t i = 0; i < content.as_array().size(); ++i) {
      const Value& block = content.as_array()[i];
      const std::string place = path_of(where + ".content", i);
      if (string_of(block, "type") != "tool_result") {
        Value one = Value::array();
        one.push(block);
        Value read;
        if (MaybeProblem problem = read_texts(one, where + ".content", &read)) {
          const std::string wrong = path_of(where + ".content", 0);
          return moved(*std::move(problem), wrong, place);
        }
        parts.push(read.as_array()[0]);
        continue;
      }
      flush();
      TRINE_RETURN_IF_PROBLEM(check_fields(block, place, kBlock));
      TRINE_RETURN_IF_PROBLEM(needs(block, place, "tool_use_id"));
      Value result = message("tool", "");
      result.set("tool_call_id", *block.find("tool_use_id"));
      if (const Value* inner = given(block, "content")) {
        Value read;
        TRINE_RETURN_IF_PROBLEM(read_texts(*inner, place + ".content", &read));
        result.set("content", std::move(read));
      }
      add(std::move(result));
    }
    flush();
    return std::nullopt;
  }

  MaybeProblem assistant(const Value& content, const std::string& where) {
    Value turn = message("assistant", content);
    if (content.is_string()) {
      add(std::move(turn));
      return std::nullopt;
    }
    Value parts = Value::array();
    Value calls = Value::array();
    std::string reasoning;
    bool has_reasoning = false;
    for (size_t i = 0; i < content.as_array().size(); ++i) {
      const Value& block = content.as_array()[i];
      const std::string place = path_of(where + ".content", i);
      TRINE_RETURN_IF_PROBLEM(check_fields(block, place, kBlock));
      const std::string type = string_of(block, "type");
      if (type == "text") {
        TRINE_RETURN_IF_PROBLEM(needs(block, place, "text"));
        parts.push(text_part(string_of(block, "text")));
      } else if (type == "thinking") {
        TRINE_RETURN_IF_PROBLEM(needs(block, place, "thinking"));
        reasoning += string_of(block, "thinking");
        has_reasoning = true;
      } else if (type == "tool_use") {
        TRINE_RETURN_IF_PROBLEM(read_call(block, place, &calls));
      } else if (type != "redacted_thinking") {
        return invalid(place + ".type",
                       "found " + json::quote(type) +
                           R"(, expected "text", "thinking", "redacted_thinking" or "tool_use")");
      }
    }
    turn.set("content", std::move(parts));
    if (has_reasoning) turn.set("reasoning_content", std::move(reasoning));
    if (!calls.as_array().empty()) turn.set("tool_calls", std::move(calls));
    add(std::move(turn));
    return std::nullopt;
  }

  static MaybeProblem read_call(const Value& block, const std::string& where, Value* calls) {
    for (const char* key : {"id", "name", "input"})
      TRINE_RETURN_IF_PROBLEM(needs(block, where, key));
    const Value& input = *block.find("input");
    Value function;
    function.set("name", *block.find("name"));
    // What input_of_arguments made of text goes back to the text that it was.
    const Value* raw = input.as_object().size() == 1 ? input.find("raw") : nullptr;
    const bool was_text = raw != nullptr && raw->is_string() &&
                          input_of_arguments(raw->as_string()).find("raw") != nullptr;
    function.set("arguments", was_text ? *raw : input);
    Value call;
    call.set("id", *block.find("id"));
    call.set("type", "function");
    call.set("function", std::move(function));
    calls->push(std::move(call));
    return std::nullopt;
  }

  static Value message(const char* role, Value content) {
    Value out;
    out.set("role", role);
    out.set("content", std::move(content));
    return out;
  }

  // The problem of a part that was looked at alone, at its true place.
  static Problem moved(Problem problem, const std::string& from, const std::string& to) {
    for (std::string* text : {&problem.message, &problem.param})
      if (text->starts_with(from)) text->replace(0, from.size(), to);
    return problem;
  }

  Value out_ = Value::array();
};

MaybeProblem read_tools(const Value& body, GenerationRequest* out) {
  if (const Value* tools = given(body, "tools"); tools != nullptr && !tools->as_array().empty()) {
    Value all = Value::array();
    for (size_t i = 0; i < tools->as_array().size(); ++i) {
      const Value& tool = tools->as_array()[i];
      const std::string where = path_of("tools", i);
      const std::string type = string_of(tool, "type", "custom");
      if (type != "custom")
        return unsupported(where + ".type",
                           "found " + json::quote(type) + ": this server has no tools of its own");
      TRINE_RETURN_IF_PROBLEM(check_fields(tool, where, kTool));
      if (string_of(tool, "name").empty()) return invalid(where + ".name", "is empty");
      Value function;
      function.set("name", *tool.find("name"));
      for (const char* key : {"description", "strict"})
        if (const Value* value = given(tool, key)) function.set(key, *value);
      function.set("parameters", *tool.find("input_schema"));
      Value converted;
      converted.set("type", "function");
      converted.set("function", std::move(function));
      all.push(std::move(converted));
    }
    out->chat.set("tools", std::move(all));
  }
  ToolUse use;
  if (const Value* choice = given(body, "tool_choice")) {
    const std::string type = string_of(*choice, "type");
    if (type == "tool") {
      use.name = string_of(*choice, "name");
      if (use.name.empty()) return invalid("tool_choice.name", "is missing");
    }
    if (type == "any" || type == "tool") use.choice = ToolUse::Choice::kRequired;
    if (type == "none") use.choice = ToolUse::Choice::kNone;
  }
  return set_tool_choice(std::move(use), "tool_choice", out);
}

// Everything that decides the prompt.
MaybeProblem read_prompt(const Value& body, GenerationRequest* out) {
  Turns turns;
  if (const Value* system = given(body, "system")) {
    Value content;
    TRINE_RETURN_IF_PROBLEM(read_texts(*system, "system", &content));
    Value message;
    message.set("role", "system");
    message.set("content", std::move(content));
    turns.add(std::move(message));
  }
  TRINE_RETURN_IF_PROBLEM(turns.read(*body.find("messages")));
  out->chat.set("messages", turns.take());
  TRINE_RETURN_IF_PROBLEM(read_tools(body, out));
  const Value* thinking = given(body, "thinking");
  const bool thinks = thinking == nullptr || string_of(*thinking, "type") != "disabled";
  const Value* config = given(body, "output_config");
  const Value* effort = config == nullptr ? nullptr : given(*config, "effort");
  TRINE_RETURN_IF_PROBLEM(read_thinking(body, effort, "output_config.effort", thinks, out));
  const Value* format = config == nullptr ? nullptr : given(*config, "format");
  if (format == nullptr) return std::nullopt;
  return read_format(body, "output_config.format", *format, false, out);
}

}  // namespace

const FieldTable kMessagesRequest = {"MessagesRequest", kAllFields};
const FieldTable kCountTokensRequest = {"CountTokensRequest", kCountFields};

Value input_of_arguments(const std::string& arguments) {
  if (arguments.empty()) return Value::object();
  Result<Value> parsed = json::parse(arguments, "");
  if (parsed.ok() && parsed->is_object()) return *std::move(parsed);
  Value out;
  out.set("raw", arguments);
  return out;
}

MaybeProblem parse_messages_request(const Value& body, const RequestRules& rules,
                                    GenerationRequest* out) {
  out->api = ApiKind::kMessages;
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kMessagesRequest));
  TRINE_RETURN_IF_PROBLEM(read_common(body, rules, out));
  TRINE_RETURN_IF_PROBLEM(read_prompt(body, out));
  TRINE_RETURN_IF_PROBLEM(read_stop(body, "stop_sequences", out));
  read_max_tokens(body, {"max_tokens"}, out);
  return std::nullopt;
}

MaybeProblem parse_count_tokens_request(const Value& body, const RequestRules& /*rules*/,
                                        GenerationRequest* out) {
  out->api = ApiKind::kMessages;
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kCountTokensRequest));
  out->model = string_of(body, "model");
  return read_prompt(body, out);
}

}  // namespace trine::server
