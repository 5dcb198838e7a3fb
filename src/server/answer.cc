#include "server/answer.h"

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "server/token_text.h"

namespace trine::server {
namespace {

using json::Value;
using Kind = OutputEvent::Kind;

Block::Kind block_kind(Kind kind) {
  switch (kind) {
    case Kind::kReasoning: return Block::Kind::kReasoning;
    case Kind::kContent: return Block::Kind::kContent;
    case Kind::kToolBegin:
    case Kind::kToolArguments:
    case Kind::kToolEnd: break;
  }
  return Block::Kind::kCall;
}

Value bytes_of(std::string_view text) {
  Value::Array out;
  out.reserve(text.size());
  for (const char c : text) out.emplace_back(static_cast<int>(static_cast<unsigned char>(c)));
  return out;
}

// {"token", "logprob", "bytes"}
Value one_logprob(const Tokenizer& tokenizer, int32_t id, float logprob) {
  Value out;
  out.set("token", token_text(tokenizer, id));
  out.set("logprob", finite_logprob(logprob));
  out.set("bytes", bytes_of(tokenizer.token_bytes(id)));
  return out;
}

}  // namespace

std::string Choice::joined(Block::Kind kind) const {
  std::string out;
  for (const Block& block : blocks)
    if (block.kind == kind) out += block.text;
  return out;
}

bool Choice::has_calls() const {
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const Block& block) { return block.kind == Block::Kind::kCall; });
}

std::unique_ptr<Answer> Answer::make(const GenerationRequest& request, AnswerInfo info,
                                     const Tokenizer& tokenizer) {
  switch (request.api) {
    case ApiKind::kChat: return make_chat_answer(request, std::move(info), tokenizer);
    case ApiKind::kCompletions: return make_completion_answer(request, std::move(info), tokenizer);
    case ApiKind::kResponses: return make_responses_answer(request, std::move(info), tokenizer);
    case ApiKind::kMessages: break;
  }
  return make_messages_answer(request, std::move(info), tokenizer);
}

Answer::Answer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer)
    : request_(request),
      info_(std::move(info)),
      tokenizer_(&tokenizer),
      choices_(std::max<size_t>(1, request.prompts.size()) * static_cast<size_t>(request.n)) {
  so_far_.prompt = info_.prompt_tokens;
}

std::string Answer::progress(int64_t done, int64_t total, int64_t cached) {
  Value figures;
  figures.set("total", total);
  figures.set("cached", cached);
  figures.set("processed", done);
  Value event;
  event.set("type", "prompt_progress");
  event.set("prompt_progress", std::move(figures));
  return sse_event("prompt_progress", event);
}

std::string Answer::prompt_read(size_t index, std::vector<AnswerToken> prompt) {
  choice(index).prompt = std::move(prompt);
  return "";
}

std::string Answer::add(size_t index, const std::vector<OutputEvent>& events,
                        const AnswerToken* token, std::vector<TokenPiece> new_pieces,
                        const Usage& so_far) {
  std::string out;
  so_far_ = so_far;
  Choice& c = choice(index);
  TRINE_CHECK(!c.ended);
  if (token != nullptr) c.tokens.push_back(*token);
  pieces(index, std::move(new_pieces));
  for (const OutputEvent& event : events) {
    const Block::Kind kind = block_kind(event.kind);
    const bool fresh =
        event.kind == Kind::kToolBegin ||
        (kind != Block::Kind::kCall && (c.blocks.empty() || c.blocks.back().kind != kind));
    if (fresh) {
      Block block{.kind = kind, .text = "", .id = "", .name = event.name};
      if (kind == Block::Kind::kCall)
        block.id = info_.new_id(request_.api == ApiKind::kMessages ? "toolu_" : "call_");
      c.blocks.push_back(std::move(block));
    }
    if (event.kind != Kind::kToolBegin) c.blocks.back().text += event.text;
    if (event.kind == Kind::kToolEnd) c.blocks.back().arguments_are_text = event.arguments_are_text;
    on_event(index, event, fresh, &out);
  }
  return out;
}

std::string Answer::end_choice(size_t index, EndReason reason, std::string stop_string) {
  std::string out;
  Choice& c = choice(index);
  c.ended = true;
  c.reason = reason;
  c.stop_string = std::move(stop_string);
  on_end(index, &out);
  return out;
}

std::string sse_data(const Value& value) { return "data: " + json::dump(value) + "\n\n"; }

std::string sse_event(const std::string& name, const Value& value) {
  return "event: " + name + "\n" + sse_data(value);
}

double finite_logprob(float logprob) {
  constexpr double kLeast = -9999.0;  // as OpenAI writes "not among the likely ones"
  return std::isfinite(logprob) ? static_cast<double>(logprob) : kLeast;
}

Value token_logprob(const Tokenizer& tokenizer, const AnswerToken& token) {
  Value out = one_logprob(tokenizer, token.id, token.logprob);
  Value top = Value::array();
  for (const auto& [id, logprob] : token.top) top.push(one_logprob(tokenizer, id, logprob));
  out.set("top_logprobs", std::move(top));
  return out;
}

Value openai_usage(const Usage& usage) {
  Value out;
  out.set("prompt_tokens", usage.prompt);
  out.set("completion_tokens", usage.completion);
  out.set("total_tokens", usage.prompt + usage.completion);
  Value prompt;
  prompt.set("cached_tokens", usage.cached);
  out.set("prompt_tokens_details", std::move(prompt));
  Value completion;
  completion.set("reasoning_tokens", usage.reasoning);
  out.set("completion_tokens_details", std::move(completion));
  return out;
}

}  // namespace trine::server
