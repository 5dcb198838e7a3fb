// Answers of Anthropic's /v1/messages: a message of content blocks, or its events.
#include "server/answer.h"
#include "server/messages_request.h"

namespace trine::server {
namespace {

using json::Value;
using EventKind = OutputEvent::Kind;

class MessagesAnswer : public Answer {
 public:
  MessagesAnswer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer)
      : Answer(request, std::move(info), tokenizer) {}

  std::string begin() override {
    Value event;
    event.set("type", "message_start");
    event.set("message",
              message(Value::array(), Value(), Value(), {.prompt = info_.prompt_tokens}));
    Value ping;
    ping.set("type", "ping");
    return sse_event("message_start", event) + sse_event("ping", ping);
  }

  std::string end(const Usage& usage) override {
    const Choice& c = choices()[0];
    Value delta;
    delta.set("stop_reason", stop_reason(c));
    delta.set("stop_sequence", stop_sequence(c));
    Value event;
    event.set("type", "message_delta");
    event.set("delta", std::move(delta));
    event.set("usage", usage_value(usage));
    Value stop;
    stop.set("type", "message_stop");
    return sse_event("message_delta", event) + sse_event("message_stop", stop);
  }

  std::string fail(const Problem& problem) override {
    return sse_event("error", anthropic_error(problem, info_.id));
  }

  Value whole(const Usage& usage) override {
    const Choice& c = choices()[0];
    Value content = Value::array();
    for (const Block& block : c.blocks) content.push(whole_block(block));
    return message(std::move(content), stop_reason(c), stop_sequence(c), usage);
  }

 protected:
  void on_event(size_t /*choice*/, const OutputEvent& event, bool fresh,
                std::string* out) override {
    if (!request_.stream) return;
    if (fresh) {
      close_block(out);
      open_block(out);
    }
    if (event.kind == EventKind::kToolBegin || event.text.empty()) return;
    Value delta;
    switch (event.kind) {
      case EventKind::kReasoning:
        delta.set("type", "thinking_delta");
        delta.set("thinking", event.text);
        break;
      case EventKind::kContent:
        delta.set("type", "text_delta");
        delta.set("text", event.text);
        break;
      case EventKind::kToolBegin:
      case EventKind::kToolArguments:
      case EventKind::kToolEnd:
        delta.set("type", "input_json_delta");
        delta.set("partial_json", event.text);
        break;
    }
    send_delta(std::move(delta), out);
  }

  void on_end(size_t /*choice*/, std::string* out) override {
    if (request_.stream) close_block(out);
  }

 private:
  static const char* stop_reason(const Choice& c) {
    switch (c.reason) {
      case EndReason::kLength: return "max_tokens";
      case EndReason::kStopString: return "stop_sequence";
      case EndReason::kStop: break;
    }
    return c.has_calls() ? "tool_use" : "end_turn";
  }

  static Value stop_sequence(const Choice& c) {
    return c.reason == EndReason::kStopString ? Value(c.stop_string) : Value();
  }

  // Anthropic counts what came from the cache apart.
  static Value usage_value(const Usage& usage) {
    Value out;
    out.set("input_tokens", usage.prompt - usage.cached);
    out.set("cache_creation_input_tokens", 0);
    out.set("cache_read_input_tokens", usage.cached);
    out.set("output_tokens", usage.completion);
    return out;
  }

  Value message(Value content, Value reason, Value sequence, const Usage& usage) const {
    Value out;
    out.set("id", info_.id);
    out.set("type", "message");
    out.set("role", "assistant");
    out.set("model", info_.model);
    out.set("content", std::move(content));
    out.set("stop_reason", std::move(reason));
    out.set("stop_sequence", std::move(sequence));
    out.set("usage", usage_value(usage));
    return out;
  }

  static Value empty_block(const Block& block) {
    Value out;
    switch (block.kind) {
      case Block::Kind::kReasoning:
        out.set("type", "thinking");
        out.set("thinking", "");
        out.set("signature", "");
        break;
      case Block::Kind::kContent:
        out.set("type", "text");
        out.set("text", "");
        break;
      case Block::Kind::kCall:
        out.set("type", "tool_use");
        out.set("id", block.id);
        out.set("name", block.name);
        out.set("input", Value::object());
        break;
    }
    return out;
  }

  static Value whole_block(const Block& block) {
    Value out = empty_block(block);
    switch (block.kind) {
      case Block::Kind::kReasoning:
        out.set("thinking", block.text);
        out.set("signature", std::string(kThinkingSignature));
        break;
      case Block::Kind::kContent: out.set("text", block.text); break;
      case Block::Kind::kCall: out.set("input", input_of_arguments(block.text)); break;
    }
    return out;
  }

  void open_block(std::string* out) {
    Value event;
    event.set("type", "content_block_start");
    event.set("index", ++index_);
    event.set("content_block", empty_block(choice(0).blocks.back()));
    *out += sse_event("content_block_start", event);
    is_thinking_ = choice(0).blocks.back().kind == Block::Kind::kReasoning;
    is_open_ = true;
  }

  void close_block(std::string* out) {
    if (!is_open_) return;
    if (is_thinking_) {
      Value delta;
      delta.set("type", "signature_delta");
      delta.set("signature", std::string(kThinkingSignature));
      send_delta(std::move(delta), out);
    }
    Value event;
    event.set("type", "content_block_stop");
    event.set("index", index_);
    *out += sse_event("content_block_stop", event);
    is_open_ = false;
  }

  void send_delta(Value delta, std::string* out) const {
    Value event;
    event.set("type", "content_block_delta");
    event.set("index", index_);
    event.set("delta", std::move(delta));
    *out += sse_event("content_block_delta", event);
  }

  int64_t index_ = -1;
  bool is_open_ = false;
  bool is_thinking_ = false;
};

}  // namespace

std::unique_ptr<Answer> make_messages_answer(const GenerationRequest& request, AnswerInfo info,
                                             const Tokenizer& tokenizer) {
  return std::make_unique<MessagesAnswer>(request, std::move(info), tokenizer);
}

}  // namespace trine::server
