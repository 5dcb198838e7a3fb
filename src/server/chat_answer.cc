// Answers of /v1/chat/completions: chat.completion and chat.completion.chunk.
#include "server/openai_answer.h"

namespace trine::server {
namespace {

using json::Value;
using EventKind = OutputEvent::Kind;

class ChatAnswer : public OpenAiAnswer {
 public:
  ChatAnswer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer)
      : OpenAiAnswer(request, std::move(info), tokenizer, "chat.completion",
                     "chat.completion.chunk"),
        streams_(choices().size()) {}

  std::string begin() override {
    std::string out;
    for (size_t i = 0; i < choices().size(); ++i) {
      Value delta;
      delta.set("role", "assistant");
      delta.set("content", "");
      send(i, std::move(delta), Value(), &out);
    }
    return out;
  }

 protected:
  Value whole_choice(size_t index) const override {
    const Choice& c = choices()[index];
    Value one;
    one.set("index", static_cast<int64_t>(index));
    one.set("message", message(c));
    one.set("logprobs", request_.logprobs ? logprobs(c, 0) : Value());
    one.set("finish_reason", finish_reason(c));
    return one;
  }

  void on_event(size_t index, const OutputEvent& event, bool /*fresh*/, std::string* out) override {
    Value delta;
    switch (event.kind) {
      case EventKind::kReasoning: delta.set("reasoning_content", event.text); break;
      case EventKind::kContent: delta.set("content", event.text); break;
      case EventKind::kToolBegin: {
        const Block& call = choice(index).blocks.back();
        delta.set("tool_calls", call_delta(streams_[index].calls++, call.id, call.name, ""));
        break;
      }
      case EventKind::kToolArguments:
        delta.set("tool_calls", call_delta(streams_[index].calls - 1, "", "", event.text));
        break;
      case EventKind::kToolEnd:
        if (event.text.empty()) return;
        delta.set("tool_calls", call_delta(streams_[index].calls - 1, "", "", event.text));
        break;
    }
    send(index, std::move(delta), Value(), out);
  }

  void on_end(size_t index, std::string* out) override {
    send(index, Value::object(), finish_reason(choice(index)), out);
  }

 private:
  // How far the stream of one choice has come.
  struct Stream {
    int64_t calls = 0;
    size_t logprobs = 0;  // tokens whose logprobs were sent
  };

  static const char* finish_reason(const Choice& c) {
    if (c.reason == EndReason::kLength) return "length";
    return c.has_calls() ? "tool_calls" : "stop";
  }

  // The id and name come with the first piece of a call, and only then.
  static Value call_delta(int64_t index, const std::string& id, const std::string& name,
                          const std::string& arguments) {
    Value function = Value::object();
    Value call;
    call.set("index", index);
    if (!id.empty()) {
      call.set("id", id);
      call.set("type", "function");
      function.set("name", name);
    }
    function.set("arguments", arguments);
    call.set("function", std::move(function));
    Value out = Value::array();
    out.push(std::move(call));
    return out;
  }

  Value message(const Choice& c) const {
    Value out;
    out.set("role", "assistant");
    const std::string content = c.joined(Block::Kind::kContent);
    out.set("content", content.empty() && c.has_calls() ? Value() : Value(content));
    out.set("refusal", Value());
    // Without thinking there is no reasoning, with it there may be an empty one.
    if (request_.thinking) out.set("reasoning_content", c.joined(Block::Kind::kReasoning));
    if (!c.has_calls()) return out;
    Value calls = Value::array();
    for (const Block& block : c.blocks) {
      if (block.kind != Block::Kind::kCall) continue;
      Value function;
      function.set("name", block.name);
      function.set("arguments", block.text);
      Value call;
      call.set("id", block.id);
      call.set("type", "function");
      call.set("function", std::move(function));
      calls.push(std::move(call));
    }
    out.set("tool_calls", std::move(calls));
    return out;
  }

  Value logprobs(const Choice& c, size_t from) const {
    Value content = Value::array();
    for (size_t i = from; i < c.tokens.size(); ++i)
      content.push(token_logprob(tokenizer(), c.tokens[i]));
    Value out;
    out.set("content", std::move(content));
    out.set("refusal", Value());
    return out;
  }

  // One chunk; it carries the logprobs of all tokens since the last one.
  void send(size_t index, Value delta, Value finish, std::string* out) {
    if (!request_.stream) return;
    Stream& stream = streams_[index];
    const Choice& c = choice(index);
    Value one;
    one.set("index", static_cast<int64_t>(index));
    one.set("delta", std::move(delta));
    const bool has_new = c.tokens.size() > stream.logprobs;
    const bool is_due = has_new || (request_.logprobs && c.ended);
    one.set("logprobs", is_due ? logprobs(c, stream.logprobs) : Value());
    stream.logprobs = c.tokens.size();
    one.set("finish_reason", std::move(finish));
    *out += chunk(std::move(one));
  }

  std::vector<Stream> streams_;
};

}  // namespace

std::unique_ptr<Answer> make_chat_answer(const GenerationRequest& request, AnswerInfo info,
                                         const Tokenizer& tokenizer) {
  return std::make_unique<ChatAnswer>(request, std::move(info), tokenizer);
}

}  // namespace trine::server
