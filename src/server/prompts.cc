#include "server/prompts.h"

#include <algorithm>

#include "server/fields.h"
#include "text/utf8.h"
#include "trine/chat.h"

namespace trine::server {
namespace {

using json::Value;

// "messages[2].tool: no tool name; ..." blames the field before the colon.
std::string blamed_field(const std::string& message) {
  const std::string field = message.substr(0, message.find(':'));
  return field.starts_with("messages") || field.starts_with("tools") ? field : "messages";
}

// Ids from the last <|open|> on.
int64_t stub_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  const int32_t open = tokenizer.control_id("<|open|>");
  const auto last = std::find(ids.rbegin(), ids.rend(), open);
  return last == ids.rend() ? 0 : last - ids.rbegin() + 1;
}

std::string text_of(const Tokenizer& tokenizer, const PlainPrompt& prompt) {
  if (!prompt.is_ids) return prompt.text;
  const Result<std::string> bytes = tokenizer.decode_bytes(prompt.ids);
  return bytes.ok() ? replace_invalid_utf8(*bytes) : std::string();
}

std::string numbers(int64_t prompt, int64_t answer, int64_t context) {
  return "the prompt has " + std::to_string(prompt) + " tokens" +
         (answer > 0 ? " and max_tokens is " + std::to_string(answer) : "") +
         ", the context of this server is " + std::to_string(context) + " tokens";
}

Problem too_long(const std::string& message, const std::string& param) {
  return {400, message, param, "context_length_exceeded", 0};
}

void add_tools(const Value* tools, const ToolUse& use, std::vector<ToolSpec>* out) {
  if (tools == nullptr) return;
  for (const Value& tool : tools->as_array()) {
    const Value& function = *tool.find("function");
    ToolSpec spec;
    spec.name = string_of(function, "name");
    if (!use.name.empty() && spec.name != use.name) continue;
    if (const Value* parameters = given(function, "parameters")) spec.parameters = *parameters;
    spec.strict = bool_of(function, "strict", false);
    out->push_back(std::move(spec));
  }
}

}  // namespace

MaybeProblem make_prompts(const Tokenizer& tokenizer, bool count_stub,
                          const GenerationRequest& request, std::vector<Prompt>* out) {
  if (request.api != ApiKind::kCompletions) {
    Result<RenderedPrompt> rendered = render_chat(tokenizer, json::dump(request.chat));
    if (!rendered.ok())
      return problem_of(rendered.status(), blamed_field(rendered.status().message()));
    Prompt prompt;
    const auto all = static_cast<int64_t>(rendered->ids.size());
    prompt.counted = count_stub ? all : all - stub_tokens(tokenizer, rendered->ids);
    prompt.ids = std::move(rendered->ids);
    prompt.text = std::move(rendered->text);
    out->push_back(std::move(prompt));
    return std::nullopt;
  }
  for (const PlainPrompt& plain : request.prompts) {
    Prompt prompt;
    prompt.ids = plain.is_ids ? plain.ids : tokenizer.encode(plain.text);
    prompt.counted = static_cast<int64_t>(prompt.ids.size());
    if (request.echo) prompt.text = text_of(tokenizer, plain);
    out->push_back(std::move(prompt));
  }
  return std::nullopt;
}

MaybeProblem fit(const ApiOptions& options, int64_t context, const std::vector<Prompt>& prompts,
                 GenerationRequest* request) {
  size_t longest = 0;
  for (const Prompt& prompt : prompts) longest = std::max(longest, prompt.ids.size());
  const auto size = static_cast<int64_t>(longest);
  const char* param = request->api == ApiKind::kCompletions ? "prompt"
                      : request->api == ApiKind::kResponses ? "input"
                                                            : "messages";
  if (options.prompt_tokens_max > 0 && size > options.prompt_tokens_max)
    return too_long("the prompt has " + std::to_string(size) + " tokens, this server accepts " +
                        std::to_string(options.prompt_tokens_max),
                    param);
  serving::Request& wanted = request->request;
  const int64_t answer = request->has_max_tokens ? wanted.max_tokens : 1;
  if (size > context || (size == context && answer > 0))
    return too_long(numbers(size, 0, context), param);
  if (!request->has_max_tokens)
    wanted.max_tokens = std::min(context - size, options.default_max_tokens);
  if (wanted.max_tokens > context - size)
    return too_long(numbers(size, wanted.max_tokens, context) + ": at most " +
                        std::to_string(context - size) + " can be generated",
                    "max_tokens");
  if (wanted.min_tokens > wanted.max_tokens)
    return invalid("min_tokens", "found " + std::to_string(wanted.min_tokens) +
                                     ", more than max_tokens, " +
                                     std::to_string(wanted.max_tokens));
  return std::nullopt;
}

ConstraintSpec constraint_spec(const GenerationRequest& request) {
  ConstraintSpec spec;
  spec.chat = request.api != ApiKind::kCompletions;
  spec.thinking = request.thinking;
  switch (request.shape.kind) {
    case Shape::Kind::kFree: break;
    case Shape::Kind::kJsonObject: spec.content = ConstraintSpec::Content::kJsonObject; break;
    case Shape::Kind::kJsonSchema:
      spec.content = ConstraintSpec::Content::kJsonSchema;
      spec.schema = request.shape.schema;
      break;
    case Shape::Kind::kGrammar:
      spec.content = ConstraintSpec::Content::kGbnf;
      spec.gbnf = request.shape.grammar;
      break;
  }
  switch (request.tool_use.choice) {
    case ToolUse::Choice::kAuto: spec.tool_choice = ConstraintSpec::ToolChoice::kAuto; break;
    case ToolUse::Choice::kNone: spec.tool_choice = ConstraintSpec::ToolChoice::kNone; break;
    case ToolUse::Choice::kRequired:
      spec.tool_choice = ConstraintSpec::ToolChoice::kRequired;
      break;
  }
  add_tools(request.chat.find("tools"), request.tool_use, &spec.tools);
  if (const Value* messages = request.chat.find("messages"))
    for (const Value& message : messages->as_array())
      add_tools(given(message, "tools"), request.tool_use, &spec.tools);
  return spec;
}

std::string constrained_field(const GenerationRequest& request) {
  const bool is_text = request.api == ApiKind::kResponses;
  switch (request.shape.kind) {
    case Shape::Kind::kFree: break;
    case Shape::Kind::kGrammar: return "grammar";
    case Shape::Kind::kJsonObject:
    case Shape::Kind::kJsonSchema:
      if (request.api == ApiKind::kMessages) return "output_config.format";
      return is_text ? "text.format" : "response_format";
  }
  return "tools";
}

}  // namespace trine::server
