// Reading a request of /v1/responses into the one chat form: same content, same prompt.
#include "server/responses_request.h"

#include "server/common_fields.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kReasoningFields = std::to_array<Field>({
    {.name = "effort", .types = kString, .values = kEfforts},
    {.name = "summary",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = "Without effect: the reasoning itself is given."},
    {.name = "generate_summary",
     .types = kString,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});
constexpr FieldTable kReasoning = {"Reasoning", kReasoningFields};

constexpr auto kTextFields = std::to_array<Field>({
    {.name = "format", .types = kObject, .members = &kTextFormat},
    {.name = "verbosity", .handling = Handling::kRefused, .neutral = "\"medium\""},
});
constexpr FieldTable kText = {"TextConfig", kTextFields};

constexpr auto kOwnFields = std::to_array<Field>({
    {.name = "input", .types = kString | kArray, .items = kObject, .required = true},
    {.name = "instructions", .types = kString, .note = "A system message before the input."},
    {.name = "max_output_tokens", .types = kInt, .min = 0},
    {.name = "reasoning", .types = kObject, .members = &kReasoning},
    {.name = "text", .types = kObject, .members = &kText},
    {.name = "tools", .types = kArray, .items = kObject},
    {.name = "tool_choice", .types = kString | kObject, .values = "none|auto|required"},
    {.name = "top_logprobs", .types = kInt, .min = 0, .max = 20},
    {.name = "include",
     .types = kArray,
     .items = kString,
     .note = "message.output_text.logprobs; reasoning.encrypted_content has no effect."},
    {.name = "stop", .types = kString | kArray, .items = kString, .note = "Found in content only."},
    {.name = "stream_options", .types = kObject, .members = &kStreamOptions},
    {.name = "truncation", .handling = Handling::kRefused, .neutral = "\"disabled\""},
    {.name = "background", .handling = Handling::kRefused, .neutral = "false"},
    {.name = "previous_response_id",
     .handling = Handling::kRefused,
     .note = "nothing is stored; send the whole conversation as input"},
    {.name = "conversation",
     .handling = Handling::kRefused,
     .note = "nothing is stored; send the whole conversation as input"},
    {.name = "prompt", .handling = Handling::kRefused},
    {.name = "max_tool_calls", .handling = Handling::kRefused},
});
constexpr auto kAllFields = joined(kCommonFields, kOwnFields);

constexpr auto kItemFields = std::to_array<Field>({
    {.name = "type", .types = kString},
    {.name = "id", .types = kString, .handling = Handling::kWithoutEffect},
    {.name = "status", .types = kString, .handling = Handling::kWithoutEffect},
    {.name = "role", .types = kString, .values = "system|developer|user|assistant"},
    {.name = "content", .types = kString | kArray},
    {.name = "phase", .types = kString, .handling = Handling::kWithoutEffect},
    {.name = "call_id", .types = kString},
    {.name = "name", .types = kString},
    {.name = "arguments", .types = kString},
    {.name = "output", .types = kString | kArray},
    {.name = "summary", .types = kArray},
    {.name = "encrypted_content", .types = kString, .handling = Handling::kWithoutEffect},
});
constexpr FieldTable kItem = {"InputItem", kItemFields};

constexpr auto kPartFields = std::to_array<Field>({
    {.name = "type", .types = kString, .required = true},
    {.name = "text", .types = kString},
    {.name = "refusal", .types = kString},
    {.name = "annotations", .types = kArray, .handling = Handling::kWithoutEffect},
    {.name = "logprobs", .types = kArray, .handling = Handling::kWithoutEffect},
});
constexpr FieldTable kPart = {"InputPart", kPartFields};

constexpr auto kToolFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "function", .required = true},
    {.name = "name", .types = kString, .required = true},
    {.name = "description", .types = kString},
    {.name = "parameters", .types = kObject},
    {.name = "strict", .types = kBool},
});
constexpr FieldTable kTool = {"ResponsesTool", kToolFields};

constexpr auto kChoiceFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "function", .required = true},
    {.name = "name", .types = kString, .required = true},
});
constexpr FieldTable kNamedChoice = {"ResponsesToolChoice", kChoiceFields};

// A string, or text parts of any of the names that texts have here.
MaybeProblem read_texts(const Value& content, const std::string& where, Value* out) {
  if (content.is_string()) {
    *out = content;
    return std::nullopt;
  }
  *out = Value::array();
  for (size_t i = 0; i < content.as_array().size(); ++i) {
    const Value& part = content.as_array()[i];
    const std::string place = path_of(where, i);
    const std::string type = string_of(part, "type");
    if (type == "input_image" || type == "input_file" || type == "input_audio")
      return text_only(place, type, "input_text");
    TRINE_RETURN_IF_PROBLEM(check_fields(part, place, kPart));
    const char* key = type == "refusal" ? "refusal" : "text";
    if (type != "input_text" && type != "output_text" && type != "text" && type != "refusal" &&
        type != "reasoning_text" && type != "summary_text")
      return invalid(place + ".type",
                     "found " + json::quote(type) + R"(, expected "input_text" or "output_text")");
    TRINE_RETURN_IF_PROBLEM(needs(part, place, key));
    Value text;
    text.set("type", "text");
    text.set("text", *part.find(key));
    out->push(std::move(text));
  }
  return std::nullopt;
}

std::string joined_texts(const Value& content) {
  if (content.is_string()) return content.as_string();
  std::string out;
  for (const Value& part : content.as_array()) out += string_of(part, "text");
  return out;
}

// Items become messages; reasoning, text and calls of one answer become one message.
class Items {
 public:
  MaybeProblem read(const Value& items) {
    if (items.as_array().empty()) return invalid("input", "is empty; expected at least one item");
    for (size_t i = 0; i < items.as_array().size(); ++i)
      TRINE_RETURN_IF_PROBLEM(item(items.as_array()[i], path_of("input", i)));
    flush();
    if (out_.as_array().empty()) return invalid("input", "has no message");
    return std::nullopt;
  }

  void add(const char* role, Value content) {
    Value message;
    message.set("role", role);
    message.set("content", std::move(content));
    out_.push(std::move(message));
  }
  Value take() { return std::move(out_); }

 private:
  MaybeProblem item(const Value& item, const std::string& where) {
    TRINE_RETURN_IF_PROBLEM(check_fields(item, where, kItem));
    const std::string type = string_of(item, "type", "message");
    if (type == "message") return message(item, where);
    if (type == "reasoning") return reasoning(item, where);
    if (type == "function_call") return call(item, where);
    if (type == "function_call_output") return result(item, where);
    return unsupported(
        where + ".type",
        "found " + json::quote(type) +
            R"(, expected "message", "reasoning", "function_call" or "function_call_output")");
  }

  MaybeProblem message(const Value& item, const std::string& where) {
    TRINE_RETURN_IF_PROBLEM(needs(item, where, "role"));
    TRINE_RETURN_IF_PROBLEM(needs(item, where, "content"));
    const std::string role = string_of(item, "role");
    Value content;
    TRINE_RETURN_IF_PROBLEM(read_texts(*item.find("content"), where + ".content", &content));
    if (role == "assistant") {
      if (assistant_.find("content") != nullptr || assistant_.find("tool_calls") != nullptr)
        flush();
      assistant_.set("content", std::move(content));
      return std::nullopt;
    }
    flush();
    add(role == "user" ? "user" : "system", std::move(content));
    return std::nullopt;
  }

  // The text itself, or what a client kept of it as summary.
  MaybeProblem reasoning(const Value& item, const std::string& where) {
    if (!assistant_.is_null()) flush();
    std::string text;
    for (const char* key : {"content", "summary"}) {
      const Value* parts = given(item, key);
      if (parts == nullptr || !text.empty()) continue;
      Value read;
      TRINE_RETURN_IF_PROBLEM(read_texts(*parts, path_of(where, key), &read));
      text = joined_texts(read);
    }
    assistant_.set("reasoning_content", std::move(text));
    return std::nullopt;
  }

  MaybeProblem call(const Value& item, const std::string& where) {
    for (const char* key : {"call_id", "name", "arguments"})
      TRINE_RETURN_IF_PROBLEM(needs(item, where, key));
    Value function;
    function.set("name", *item.find("name"));
    function.set("arguments", *item.find("arguments"));
    Value call;
    call.set("id", *item.find("call_id"));
    call.set("type", "function");
    call.set("function", std::move(function));
    const Value* calls = assistant_.find("tool_calls");
    Value all = calls == nullptr ? Value::array() : *calls;
    all.push(std::move(call));
    assistant_.set("tool_calls", std::move(all));
    return std::nullopt;
  }

  MaybeProblem result(const Value& item, const std::string& where) {
    for (const char* key : {"call_id", "output"}) TRINE_RETURN_IF_PROBLEM(needs(item, where, key));
    flush();
    Value content;
    TRINE_RETURN_IF_PROBLEM(read_texts(*item.find("output"), where + ".output", &content));
    Value message;
    message.set("role", "tool");
    message.set("tool_call_id", *item.find("call_id"));
    message.set("content", std::move(content));
    out_.push(std::move(message));
    return std::nullopt;
  }

  void flush() {
    if (assistant_.is_null()) return;
    Value message;
    message.set("role", "assistant");
    for (auto& [key, value] : assistant_.as_object()) message.set(key, std::move(value));
    out_.push(std::move(message));
    assistant_ = Value();
  }

  Value out_ = Value::array();
  Value assistant_;  // an answer whose items are being read
};

MaybeProblem read_tools(const Value& body, GenerationRequest* out) {
  if (const Value* tools = given(body, "tools"); tools != nullptr && !tools->as_array().empty()) {
    Value all = Value::array();
    for (size_t i = 0; i < tools->as_array().size(); ++i) {
      const Value& tool = tools->as_array()[i];
      const std::string where = path_of("tools", i);
      const std::string type = string_of(tool, "type");
      if (!type.empty() && type != "function")
        return unsupported(where + ".type",
                           "found " + json::quote(type) + ": this server has no tools of its own");
      TRINE_RETURN_IF_PROBLEM(check_fields(tool, where, kTool));
      if (string_of(tool, "name").empty()) return invalid(where + ".name", "is empty");
      Value function;
      for (const char* key : {"name", "description", "parameters", "strict"})
        if (const Value* value = given(tool, key)) function.set(key, *value);
      Value converted;
      converted.set("type", "function");
      converted.set("function", std::move(function));
      all.push(std::move(converted));
    }
    out->chat.set("tools", std::move(all));
  }
  ToolUse use;
  const Value* choice = given(body, "tool_choice");
  if (choice != nullptr && choice->is_object()) {
    TRINE_RETURN_IF_PROBLEM(check_fields(*choice, "tool_choice", kNamedChoice));
    use.choice = ToolUse::Choice::kRequired;
    use.name = string_of(*choice, "name");
    if (use.name.empty()) return invalid("tool_choice.name", "is empty");
  } else if (choice != nullptr && choice->as_string() == "required") {
    use.choice = ToolUse::Choice::kRequired;
  } else if (choice != nullptr && choice->as_string() == "none") {
    use.choice = ToolUse::Choice::kNone;
  }
  return set_tool_choice(std::move(use), "tool_choice", out);
}

MaybeProblem read_include(const Value& body, GenerationRequest* out) {
  const int64_t top = int_of(body, "top_logprobs", 0);
  out->logprobs = top > 0;
  if (const Value* include = given(body, "include")) {
    for (const Value& item : include->as_array()) {
      if (item.as_string() == "message.output_text.logprobs")
        out->logprobs = true;
      else if (item.as_string() != "reasoning.encrypted_content")
        return unsupported("include",
                           "found " + shown(item) + ", expected \"message.output_text.logprobs\"");
    }
  }
  out->request.top_logprobs = out->logprobs ? static_cast<int>(top) : -1;
  return std::nullopt;
}

// What the response object says again, as it was meant.
Value repeated(const Value& body, const GenerationRequest& request) {
  const auto as_given = [&](const char* key, const Value& otherwise) {
    const Value* value = given(body, key);
    return value == nullptr ? otherwise : *value;
  };
  Value free;
  free.set("type", "text");
  Value text;
  text.set("format", std::move(free));
  Value reasoning;
  const Value* asked = given(body, "reasoning");
  const Value* options = request.chat.find("options");
  const Value* effort = options == nullptr ? nullptr : options->find("thinking_effort");
  reasoning.set("effort", request.thinking && effort != nullptr ? *effort : Value("none"));
  reasoning.set("summary", asked == nullptr ? Value() : string_of(*asked, "summary"));
  if (string_of(reasoning, "summary").empty()) reasoning.set("summary", Value());
  Value out;
  out.set("instructions", as_given("instructions", Value()));
  out.set("max_output_tokens", as_given("max_output_tokens", Value()));
  out.set("max_tool_calls", Value());
  out.set("metadata", as_given("metadata", Value::object()));
  out.set("parallel_tool_calls", as_given("parallel_tool_calls", true));
  out.set("previous_response_id", Value());
  out.set("prompt_cache_key", as_given("prompt_cache_key", Value()));
  out.set("reasoning", std::move(reasoning));
  out.set("safety_identifier", as_given("safety_identifier", Value()));
  out.set("service_tier", as_given("service_tier", "default"));
  out.set("store", false);
  const serving::SamplingParams& sampling = request.request.sampling;
  out.set("temperature", static_cast<double>(sampling.temperature));
  out.set("top_p", static_cast<double>(sampling.top_p));
  if (given(body, "temperature") != nullptr) out.set("temperature", *body.find("temperature"));
  if (given(body, "top_p") != nullptr) out.set("top_p", *body.find("top_p"));
  out.set("text", as_given("text", text));
  out.set("tool_choice", as_given("tool_choice", "auto"));
  out.set("tools", as_given("tools", Value::array()));
  out.set("top_logprobs", std::max(0, request.request.top_logprobs));
  out.set("truncation", "disabled");
  out.set("user", as_given("user", Value()));
  return out;
}

}  // namespace

const FieldTable kResponsesRequest = {"ResponsesRequest", kAllFields};

MaybeProblem parse_responses_request(const Value& body, const RequestRules& rules,
                                     GenerationRequest* out) {
  out->api = ApiKind::kResponses;
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kResponsesRequest));
  TRINE_RETURN_IF_PROBLEM(read_common(body, rules, out));
  Items items;
  if (const Value* instructions = given(body, "instructions")) items.add("system", *instructions);
  const Value& input = *body.find("input");
  if (input.is_string())
    items.add("user", input);
  else
    TRINE_RETURN_IF_PROBLEM(items.read(input));
  out->chat.set("messages", items.take());
  TRINE_RETURN_IF_PROBLEM(read_tools(body, out));
  const Value* reasoning = given(body, "reasoning");
  const Value* effort = reasoning == nullptr ? nullptr : given(*reasoning, "effort");
  TRINE_RETURN_IF_PROBLEM(read_thinking(body, effort, "reasoning.effort", true, out));
  const Value* text = given(body, "text");
  if (const Value* format = text == nullptr ? nullptr : given(*text, "format"))
    TRINE_RETURN_IF_PROBLEM(read_format(body, "text.format", *format, false, out));
  TRINE_RETURN_IF_PROBLEM(read_stop(body, "stop", out));
  TRINE_RETURN_IF_PROBLEM(read_stream_options(body, out));
  TRINE_RETURN_IF_PROBLEM(read_include(body, out));
  read_max_tokens(body, {"max_output_tokens"}, out);
  out->repeated = repeated(body, *out);
  return std::nullopt;
}

}  // namespace trine::server
