// Reading a request of /v1/completions.
#include "server/chat_request.h"
#include "server/common_fields.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kOwnFields = std::to_array<Field>({
    {.name = "prompt",
     .types = kString | kArray,
     .items = kString | kInt | kArray,
     .required = true,
     .note = "A text, texts, token ids, or arrays of token ids."},
    {.name = "max_tokens", .types = kInt, .min = 0},
    {.name = "n", .types = kInt, .min = 1},
    {.name = "best_of", .types = kInt, .min = 1, .note = "Only the same as n."},
    {.name = "stop", .types = kString | kArray, .items = kString},
    {.name = "echo", .types = kBool},
    {.name = "logprobs", .types = kInt, .min = 0, .max = 20},
    {.name = "stream_options", .types = kObject, .members = &kStreamOptions},
    {.name = "response_format", .types = kObject, .members = &kResponseFormat},
    {.name = "add_special_tokens",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = "Without effect: this tokenizer adds none."},
    {.name = "suffix", .handling = Handling::kRefused, .neutral = "\"\""},
    {.name = "prompt_logprobs", .handling = Handling::kRefused, .note = "use echo with logprobs"},
});
constexpr size_t kPromptsMax = 1024;
constexpr auto kAllFields = joined(kCommonFields, kOwnFields);

MaybeProblem read_ids(const Value& array, const std::string& where, int64_t vocab_size,
                      GenerationRequest* out) {
  PlainPrompt prompt;
  prompt.is_ids = true;
  prompt.ids.reserve(array.as_array().size());
  for (size_t i = 0; i < array.as_array().size(); ++i) {
    const Value& item = array.as_array()[i];
    int64_t id = -1;
    if (!item.is_number() || !item.to_int64(&id) || id < 0 || id >= vocab_size)
      return invalid(where, "found " + shown(item) + " at " + std::to_string(i) +
                                ", expected token ids below " + std::to_string(vocab_size));
    prompt.ids.push_back(static_cast<int32_t>(id));
  }
  if (prompt.ids.empty()) return invalid(where, "is empty; expected at least one token");
  out->prompts.push_back(std::move(prompt));
  return std::nullopt;
}

MaybeProblem read_text(const Value& text, const std::string& where, GenerationRequest* out) {
  if (text.as_string().empty()) return invalid(where, "is empty; expected at least one token");
  out->prompts.push_back({text.as_string(), {}, false});
  return std::nullopt;
}

MaybeProblem read_prompts(const Value& prompt, int64_t vocab_size, GenerationRequest* out) {
  if (prompt.is_string()) return read_text(prompt, "prompt", out);
  const Value::Array& items = prompt.as_array();
  if (items.empty()) return invalid("prompt", "is empty; expected at least one prompt");
  if (items[0].is_number()) return read_ids(prompt, "prompt", vocab_size, out);
  if (items.size() > kPromptsMax)
    return invalid("prompt", "found " + std::to_string(items.size()) +
                                 " prompts, expected at most " + std::to_string(kPromptsMax));
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string where = path_of("prompt", i);
    if (items[i].type() != items[0].type())
      return invalid(where, "found " + shown(items[i]) + " among prompts of another kind");
    TRINE_RETURN_IF_PROBLEM(items[i].is_string() ? read_text(items[i], where, out)
                                                 : read_ids(items[i], where, vocab_size, out));
  }
  return std::nullopt;
}

}  // namespace

const FieldTable kCompletionRequest = {"CompletionRequest", kAllFields};

MaybeProblem parse_completion_request(const Value& body, const RequestRules& rules,
                                      GenerationRequest* out) {
  out->api = ApiKind::kCompletions;
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kCompletionRequest));
  TRINE_RETURN_IF_PROBLEM(read_common(body, rules, out));
  TRINE_RETURN_IF_PROBLEM(read_prompts(*body.find("prompt"), rules.vocab_size, out));
  if (given(body, "chat_template_kwargs") != nullptr)
    return invalid("chat_template_kwargs", "has no meaning without a chat template");
  if (const Value* format = given(body, "response_format"))
    TRINE_RETURN_IF_PROBLEM(read_format(body, "response_format", *format, true, out));
  TRINE_RETURN_IF_PROBLEM(read_stop(body, "stop", out));
  TRINE_RETURN_IF_PROBLEM(read_stream_options(body, out));
  read_max_tokens(body, {"max_tokens"}, out);
  out->n = int_of(body, "n", 1);
  if (int_of(body, "best_of", out->n) != out->n)
    return unsupported("best_of", "is supported only where it equals n");
  const auto prompts = static_cast<int64_t>(out->prompts.size());
  if (out->n > rules.n_max || out->n * prompts > std::max(rules.n_max, prompts))
    return invalid("n", "found " + std::to_string(out->n) + " answers for " +
                            std::to_string(prompts) + " prompts, expected at most " +
                            std::to_string(rules.n_max) + " in all");
  out->echo = bool_of(body, "echo", false);
  out->logprobs = given(body, "logprobs") != nullptr;
  out->request.top_logprobs = static_cast<int>(int_of(body, "logprobs", -1));
  out->request.prompt_logprobs = out->echo && out->logprobs;
  return std::nullopt;
}

}  // namespace trine::server
