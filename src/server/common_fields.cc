#include "server/common_fields.h"

#include <algorithm>
#include <cmath>

#include "text/utf8.h"

namespace trine::server {
namespace {

using json::Value;

constexpr size_t kStopsMax = 16;
constexpr size_t kStopBytesMax = 1024;

constexpr auto kTemplateFields = std::to_array<Field>({
    {.name = "thinking", .types = kBool},
    {.name = "thinking_effort",
     .types = kString,
     .values = kEfforts,
     .null_is_value = true,
     .note = "null: the prompt does not speak of effort"},
});

constexpr auto kStreamFields = std::to_array<Field>({
    {.name = "include_usage", .types = kBool},
    {.name = "continuous_usage_stats", .types = kBool, .note = "Usage in every chunk."},
    {.name = "include_obfuscation",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});

constexpr auto kSchemaFields = std::to_array<Field>({
    {.name = "name", .types = kString},
    {.name = "description", .types = kString},
    {.name = "schema", .types = kObject | kBool, .required = true},
    {.name = "strict", .types = kBool, .note = "The schema is kept in either case."},
});
constexpr FieldTable kJsonSchema = {"JsonSchema", kSchemaFields};

constexpr auto kFormatFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "text|json_object|json_schema", .required = true},
    {.name = "json_schema", .types = kObject, .members = &kJsonSchema},
});

constexpr auto kTextFormatFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "text|json_object|json_schema", .required = true},
    {.name = "name", .types = kString},
    {.name = "description", .types = kString},
    {.name = "schema", .types = kObject | kBool},
    {.name = "strict", .types = kBool},
});

constexpr auto kFunctionFields = std::to_array<Field>({
    {.name = "name", .types = kString, .required = true},
    {.name = "description", .types = kString},
    {.name = "parameters", .types = kObject},
    {.name = "strict", .types = kBool},
});
constexpr FieldTable kFunction = {"Function", kFunctionFields};

constexpr auto kToolFields = std::to_array<Field>({
    {.name = "type", .types = kString, .values = "function", .required = true},
    {.name = "function", .types = kObject, .members = &kFunction, .required = true},
    {.name = "cache_control",
     .types = kObject,
     .handling = Handling::kWithoutEffect,
     .note = kNoEffect},
});

bool is_off(const std::string& effort) {
  return effort == "none" || effort == "minimal" || effort == "off";
}

// "17" and no other spelling of it.
bool parse_id(const std::string& text, int64_t vocab_size, int32_t* out) {
  if (text.empty() || text.size() > 9 || (text[0] == '0' && text.size() > 1)) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  *out = static_cast<int32_t>(value);
  return value < vocab_size;
}

MaybeProblem read_logit_bias(const Value& body, const RequestRules& rules,
                             serving::SamplingParams* out) {
  const Value* bias = given(body, "logit_bias");
  if (bias == nullptr) return std::nullopt;
  for (const auto& [key, value] : bias->as_object()) {
    int32_t id = 0;
    if (!parse_id(key, rules.vocab_size, &id))
      return invalid("logit_bias", "found the key " + json::quote(key) +
                                       ", expected token ids below " +
                                       std::to_string(rules.vocab_size));
    if (!value.is_number() || !(std::abs(value.as_double()) <= 100))
      return invalid("logit_bias",
                     "found " + shown(value) + " for token " + key + ", expected -100 to 100");
    out->logit_bias.emplace_back(id, static_cast<float>(value.as_double()));
  }
  return std::nullopt;
}

MaybeProblem read_stop_ids(const Value& body, const RequestRules& rules, serving::Request* out) {
  const Value* ids = given(body, "stop_token_ids");
  if (ids == nullptr) return std::nullopt;
  for (const Value& item : ids->as_array()) {
    int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id >= rules.vocab_size)
      return invalid("stop_token_ids", "found " + shown(item) + ", expected token ids below " +
                                           std::to_string(rules.vocab_size));
    out->stop_token_ids.push_back(static_cast<int32_t>(id));
  }
  return std::nullopt;
}

MaybeProblem check_fixed(const Value& body, const char* name, double fixed) {
  const double found = number_of(body, name, fixed);
  if (found == fixed) return std::nullopt;
  return invalid(name, "found " + json::dump(*body.find(name)) + ", but it is fixed at " +
                           json::dump(Value(fixed)) + " for this model (--vendor-strict)");
}

MaybeProblem check_vendor_rules(const Value& body, const RequestRules& rules) {
  if (!rules.vendor_strict) return std::nullopt;
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "temperature", 1.0));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "top_p", 0.95));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "n", 1));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "presence_penalty", 0));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "top_k", 0));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "min_p", 0));
  TRINE_RETURN_IF_PROBLEM(check_fixed(body, "repetition_penalty", 1));
  if (given(body, "logit_bias") != nullptr)
    return invalid("logit_bias", "is not taken for this model (--vendor-strict)");
  return check_fixed(body, "frequency_penalty", 0);
}

}  // namespace

const FieldTable kTemplateOptions = {"ChatTemplateOptions", kTemplateFields};
const FieldTable kStreamOptions = {"StreamOptions", kStreamFields};
const FieldTable kResponseFormat = {"ResponseFormat", kFormatFields};
const FieldTable kTextFormat = {"TextFormat", kTextFormatFields};
const FieldTable kChatTool = {"Tool", kToolFields};

MaybeProblem read_common(const Value& body, const RequestRules& rules, GenerationRequest* out) {
  TRINE_RETURN_IF_PROBLEM(check_vendor_rules(body, rules));
  out->model = string_of(body, "model");
  serving::Request& request = out->request;
  serving::SamplingParams& sampling = request.sampling;
  const auto number = [&](const char* name, float otherwise) {
    return static_cast<float>(number_of(body, name, static_cast<double>(otherwise)));
  };
  sampling.temperature = number("temperature", rules.temperature);
  // A float of 1e-50 is 0, which means something else.
  sampling.top_p = std::max(number("top_p", rules.top_p), 1e-9f);
  sampling.top_k = std::max<int64_t>(0, int_of(body, "top_k", 0));
  sampling.min_p = number("min_p", 0.0f);
  sampling.presence_penalty = number("presence_penalty", 0.0f);
  sampling.frequency_penalty = number("frequency_penalty", 0.0f);
  sampling.repetition_penalty = std::max(number("repetition_penalty", 1.0f), 1e-6f);
  if (sampling.min_p >= 1.0f)
    return invalid("min_p", "found " + shown(*body.find("min_p")) + ", expected below 1");
  TRINE_RETURN_IF_PROBLEM(read_logit_bias(body, rules, &sampling));
  TRINE_RETURN_IF_PROBLEM(read_stop_ids(body, rules, &request));
  out->has_seed = given(body, "seed") != nullptr;
  sampling.seed = static_cast<uint64_t>(int_of(body, "seed", 0));
  request.min_tokens = int_of(body, "min_tokens", 0);
  request.ignore_eos = bool_of(body, "ignore_eos", false);
  out->include_stop = bool_of(body, "include_stop_str_in_output", false);
  out->stream = bool_of(body, "stream", false);
  out->progress = bool_of(body, "return_progress", false);
  if (out->progress && !out->stream)
    return invalid("return_progress", "is for streams: set \"stream\" to true");
  if (const Value* grammar = given(body, "grammar")) {
    if (is_blank(grammar->as_string())) return invalid("grammar", "is empty");
    out->shape.kind = Shape::Kind::kGrammar;
    out->shape.grammar = grammar->as_string();
  }
  return std::nullopt;
}

void read_max_tokens(const Value& body, std::initializer_list<const char*> names,
                     GenerationRequest* out) {
  for (const char* name : names) {
    if (given(body, name) == nullptr) continue;
    out->has_max_tokens = true;
    out->request.max_tokens = int_of(body, name, 0);
  }
}

MaybeProblem read_stop(const Value& body, const char* name, GenerationRequest* out) {
  const Value* stop = given(body, name);
  if (stop == nullptr) return std::nullopt;
  Value::Array single;
  if (stop->is_string()) single.push_back(*stop);
  const Value::Array& all = stop->is_string() ? single : stop->as_array();
  if (all.size() > kStopsMax)
    return invalid(name, "found " + std::to_string(all.size()) + " strings, expected at most " +
                             std::to_string(kStopsMax));
  for (const Value& text : all) {
    if (text.as_string().empty() || text.as_string().size() > kStopBytesMax)
      return invalid(name, "found " + shown(text) + ", expected strings of 1 to " +
                               std::to_string(kStopBytesMax) + " bytes");
    out->stop.push_back(text.as_string());
  }
  return std::nullopt;
}

MaybeProblem read_stream_options(const Value& body, GenerationRequest* out) {
  const Value* options = given(body, "stream_options");
  if (options == nullptr) return std::nullopt;
  if (!out->stream) return invalid("stream_options", "is for streams: set \"stream\" to true");
  out->continuous_usage = bool_of(*options, "continuous_usage_stats", false);
  out->include_usage = bool_of(*options, "include_usage", false);
  return std::nullopt;
}

void set_option(GenerationRequest* out, const std::string& key, Value value) {
  const Value* options = out->chat.find("options");
  Value changed = options == nullptr ? Value::object() : *options;
  changed.set(key, std::move(value));
  out->chat.set("options", std::move(changed));
}

MaybeProblem read_thinking(const Value& body, const Value* effort, const std::string& effort_name,
                           bool thinking_by_default, GenerationRequest* out) {
  const Value* kwargs = given(body, "chat_template_kwargs");
  Value chosen = "max";
  if (effort != nullptr) chosen = *effort;
  if (kwargs != nullptr && kwargs->find("thinking_effort") != nullptr)
    chosen = *kwargs->find("thinking_effort");
  else if (effort != nullptr && (!effort->is_string() || effort->as_string().empty()))
    return invalid(effort_name, "found " + shown(*effort) + ", expected a string");
  const std::string text = chosen.is_string() ? chosen.as_string() : "";
  out->thinking = !is_off(text) && thinking_by_default;
  if (kwargs != nullptr && !is_off(text))
    out->thinking = bool_of(*kwargs, "thinking", thinking_by_default);
  set_option(out, "thinking", out->thinking);
  if (out->thinking) set_option(out, "thinking_effort", std::move(chosen));
  return std::nullopt;
}

MaybeProblem read_format(const Value& body, const std::string& path, const Value& format,
                         bool nested, GenerationRequest* out) {
  const std::string type = string_of(format, "type");
  const Value* holder = nested ? given(format, "json_schema") : &format;
  const Value* schema = holder == nullptr ? nullptr : given(*holder, "schema");
  if (type == "text") return std::nullopt;
  if (type == "json_schema" && schema == nullptr)
    return invalid(path + (nested ? ".json_schema.schema" : ".schema"), "is missing");
  if (out->shape.kind != Shape::Kind::kFree && given(body, "grammar") != nullptr)
    return invalid("grammar", "cannot be kept together with " + path);
  set_option(out, "response_format", type);
  out->shape.kind = Shape::Kind::kJsonObject;
  if (schema == nullptr || type == "json_object") return std::nullopt;
  out->shape.kind = Shape::Kind::kJsonSchema;
  out->shape.schema = *schema;
  set_option(out, "response_schema", *schema);
  return std::nullopt;
}

MaybeProblem check_chat_tools(const Value& tools, const std::string& where) {
  for (size_t i = 0; i < tools.as_array().size(); ++i) {
    const std::string place = path_of(where, i);
    const Value& tool = tools.as_array()[i];
    if (is_blank(string_of(*tool.find("function"), "name")))
      return invalid(place + ".function.name", "is empty");
  }
  return std::nullopt;
}

MaybeProblem set_tool_choice(ToolUse use, const std::string& path, GenerationRequest* out) {
  // Those of the request, and those that system messages bring.
  std::vector<const Value*> lists = {out->chat.find("tools")};
  if (const Value* messages = out->chat.find("messages"))
    for (const Value& message : messages->as_array()) lists.push_back(given(message, "tools"));
  bool has_tools = false, has_named = use.name.empty();
  for (const Value* tools : lists) {
    if (tools == nullptr) continue;
    for (const Value& tool : tools->as_array()) {
      has_tools = true;
      has_named = has_named || string_of(*tool.find("function"), "name") == use.name;
    }
  }
  if (use.choice == ToolUse::Choice::kRequired && !has_tools)
    return invalid(path, "asks for a call, but there are no tools");
  if (!has_named)
    return invalid(path, "names the tool " + json::quote(use.name) + ", which is not in tools");
  if (use.choice == ToolUse::Choice::kRequired) set_option(out, "tool_choice", "required");
  if (use.choice == ToolUse::Choice::kNone) set_option(out, "tool_choice", "none");
  out->tool_use = std::move(use);
  return std::nullopt;
}

}  // namespace trine::server
