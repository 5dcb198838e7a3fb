// Routes about text and tokens: nothing is generated.
#include "server/chat_request.h"
#include "server/common_fields.h"
#include "server/messages_request.h"
#include "server/prompts.h"
#include "server/routes.h"

namespace trine::server {
namespace {

using json::Value;

constexpr auto kTokenizeFields = std::to_array<Field>({
    {.name = "model", .types = kString},
    {.name = "prompt", .types = kString},
    {.name = "content", .types = kString, .note = "Another name of prompt."},
    {.name = "messages", .types = kArray, .note = "Instead of a prompt: rendered as a chat."},
    {.name = "tools", .types = kArray},
    {.name = "chat_template_kwargs", .types = kObject},
    {.name = "add_special_tokens",
     .types = kBool,
     .handling = Handling::kWithoutEffect,
     .note = "Without effect: this tokenizer adds none."},
    {.name = "parse_special", .types = kBool, .note = "Spelled control tokens become control ids."},
    {.name = "return_token_strs", .types = kBool},
});
constexpr auto kDetokenizeFields = std::to_array<Field>({
    {.name = "model", .types = kString},
    {.name = "tokens", .types = kArray, .items = kInt, .required = true},
});

Value id_array(const std::vector<int32_t>& ids) {
  Value::Array out(ids.begin(), ids.end());
  return out;
}

// The prompt that a chat request with these messages would have.
MaybeProblem render_messages(const ApiContext& context, const Value& body, Prompt* out) {
  Value chat = Value::object();
  for (const char* key : {"model", "messages", "tools", "chat_template_kwargs"})
    if (const Value* value = given(body, key)) chat.set(key, *value);
  GenerationRequest request;
  TRINE_RETURN_IF_PROBLEM(parse_chat_request(chat, rules_of(context), &request));
  std::vector<Prompt> prompts;
  TRINE_RETURN_IF_PROBLEM(
      make_prompts(context.tokenizer, context.options.usage_counts_stub, request, &prompts));
  *out = std::move(prompts.front());
  return std::nullopt;
}

MaybeProblem tokenize(const ApiContext& context, const Call& call, Value* out) {
  Value body;
  TRINE_RETURN_IF_PROBLEM(parse_body(call, &body));
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kTokenizeRequest));
  TRINE_RETURN_IF_PROBLEM(check_model(context, string_of(body, "model")));
  int sources = 0;
  for (const char* key : {"prompt", "content", "messages"}) sources += given(body, key) != nullptr;
  if (sources != 1)
    return invalid("prompt", "expected exactly one of prompt, content and messages");
  Prompt prompt;
  if (given(body, "messages") != nullptr) {
    TRINE_RETURN_IF_PROBLEM(render_messages(context, body, &prompt));
  } else {
    const Value* text = given(body, "prompt");
    if (text == nullptr) text = given(body, "content");
    prompt.ids = context.tokenizer.encode(text->as_string(), bool_of(body, "parse_special", false));
    prompt.counted = static_cast<int64_t>(prompt.ids.size());
  }
  out->set("count", prompt.counted);
  out->set("max_model_len", context.service.context());
  out->set("tokens", id_array(prompt.ids));
  if (bool_of(body, "return_token_strs", false)) {
    Value texts = Value::array();
    for (const int32_t id : prompt.ids) texts.push(token_text(context.tokenizer, id));
    out->set("token_strs", std::move(texts));
  }
  return std::nullopt;
}

MaybeProblem detokenize(const ApiContext& context, const Call& call, Value* out) {
  Value body;
  TRINE_RETURN_IF_PROBLEM(parse_body(call, &body));
  TRINE_RETURN_IF_PROBLEM(check_fields(body, "", kDetokenizeRequest));
  TRINE_RETURN_IF_PROBLEM(check_model(context, string_of(body, "model")));
  std::vector<int32_t> ids;
  for (const Value& item : body.find("tokens")->as_array()) {
    int64_t id = -1;
    if (!item.to_int64(&id) || id < 0 || id >= context.tokenizer.vocab_size())
      return invalid("tokens", "found " + shown(item) + ", expected token ids below " +
                                   std::to_string(context.tokenizer.vocab_size()));
    ids.push_back(static_cast<int32_t>(id));
  }
  const Result<std::string> text = context.tokenizer.decode(ids);
  if (!text.ok()) return problem_of(text.status(), "tokens");
  out->set("prompt", *text);
  return std::nullopt;
}

using Parse = MaybeProblem (*)(const Value&, const RequestRules&, GenerationRequest*);

/// The prompt that a request would be answered from.
MaybeProblem read_prompt(const ApiContext& context, const Call& call, Parse parse, Prompt* out) {
  Value body;
  TRINE_RETURN_IF_PROBLEM(parse_body(call, &body));
  GenerationRequest request;
  TRINE_RETURN_IF_PROBLEM(parse(body, rules_of(context), &request));
  TRINE_RETURN_IF_PROBLEM(check_model(context, request.model));
  std::vector<Prompt> prompts;
  TRINE_RETURN_IF_PROBLEM(
      make_prompts(context.tokenizer, context.options.usage_counts_stub, request, &prompts));
  *out = std::move(prompts.front());
  return std::nullopt;
}

MaybeProblem render(const ApiContext& context, const Call& call, Value* out) {
  Prompt prompt;
  TRINE_RETURN_IF_PROBLEM(read_prompt(context, call, parse_chat_request, &prompt));
  out->set("prompt", prompt.text);
  out->set("count", prompt.counted);
  out->set("tokens", id_array(prompt.ids));
  return std::nullopt;
}

MaybeProblem count_tokens(const ApiContext& context, const Call& call, Value* out) {
  Prompt prompt;
  TRINE_RETURN_IF_PROBLEM(read_prompt(context, call, parse_count_tokens_request, &prompt));
  out->set("input_tokens", prompt.counted);
  return std::nullopt;
}

using Work = MaybeProblem (*)(const ApiContext&, const Call&, Value*);

void answer_with(ApiContext& context, const Call& call, Work work) {
  Value out;
  if (const MaybeProblem problem = work(context, call, &out))
    return refuse(context, call, *problem);
  respond(context, call, 200, out);
}

}  // namespace

const FieldTable kTokenizeRequest = {"TokenizeRequest", kTokenizeFields};
const FieldTable kDetokenizeRequest = {"DetokenizeRequest", kDetokenizeFields};

void serve_count_tokens(ApiContext& context, Call call) {
  answer_with(context, call, count_tokens);
}
void serve_tokenize(ApiContext& context, Call call) { answer_with(context, call, tokenize); }
void serve_detokenize(ApiContext& context, Call call) { answer_with(context, call, detokenize); }
void serve_render(ApiContext& context, Call call) { answer_with(context, call, render); }

void serve_tokenizer_info(ApiContext& context, Call call) {
  const auto control = [&](const char* spelling) {
    return context.tokenizer.control_id(spelling) < 0 ? Value() : Value(spelling);
  };
  Value out;
  out.set("tokenizer_class", "TikTokenTokenizer");
  out.set("vocab_size", context.tokenizer.vocab_size());
  out.set("model_max_length", context.service.context());
  out.set("bos_token", control("[BOS]"));
  out.set("eos_token", control("[EOS]"));
  out.set("pad_token", control("[PAD]"));
  out.set("unk_token", control("[UNK]"));
  out.set("add_bos_token", false);
  out.set("chat_template", Value());
  respond(context, call, 200, out);
}

}  // namespace trine::server
