// Answers of /v1/responses: a response object of items, or its events.
#include "server/answer.h"

namespace trine::server {
namespace {

using json::Value;
using EventKind = OutputEvent::Kind;

class ResponsesAnswer : public Answer {
 public:
  ResponsesAnswer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer)
      : Answer(request, std::move(info), tokenizer) {}

  std::string begin() override {
    std::string out;
    for (const char* type : {"response.created", "response.in_progress"}) {
      Value event;
      event.set("response", response("in_progress", nullptr, Value()));
      send(type, std::move(event), &out);
    }
    return out;
  }

  std::string end(const Usage& usage) override {
    std::string out;
    Value event;
    event.set("response", whole(usage));
    send(is_cut() ? "response.incomplete" : "response.completed", std::move(event), &out);
    return out;
  }

  std::string fail(const Problem& problem) override {
    Value error;
    error.set("code", problem.code.empty() ? "server_error" : problem.code);
    error.set("message", problem.message);
    std::string out;
    Value event;
    event.set("response", response("failed", nullptr, std::move(error)));
    send("response.failed", std::move(event), &out);
    return out;
  }

  Value whole(const Usage& usage) override {
    return response(is_cut() ? "incomplete" : "completed", &usage, Value());
  }

 protected:
  void on_event(size_t /*choice*/, const OutputEvent& event, bool fresh,
                std::string* out) override {
    if (fresh) {
      if (!items_.empty()) close_item(out);
      open_item(out);
    }
    const size_t first = take_tokens(event.kind == EventKind::kContent, fresh);
    if (event.kind == EventKind::kToolBegin || event.text.empty()) return;
    Value delta = place();
    const char* type = "response.function_call_arguments.delta";
    if (event.kind == EventKind::kReasoning || event.kind == EventKind::kContent)
      delta.set("content_index", 0);
    if (event.kind == EventKind::kReasoning) type = "response.reasoning_text.delta";
    delta.set("delta", event.text);
    if (event.kind == EventKind::kContent) {
      type = "response.output_text.delta";
      delta.set("logprobs", logprobs(items_.back(), first));
    }
    send(type, std::move(delta), out);
  }

  void on_end(size_t /*choice*/, std::string* out) override {
    if (!items_.empty()) close_item(out);
  }

 private:
  // What belongs to the block of the same number.
  struct Item {
    std::string id;
    std::vector<size_t> tokens;  // of a text: those that made it
  };

  bool is_cut() const { return choices()[0].ended && choices()[0].reason == EndReason::kLength; }

  // Tokens since the last event belong to the text that they complete; control tokens that stand
  // before it do not. Returns how many the item had.
  size_t take_tokens(bool is_text, bool fresh) {
    const std::vector<AnswerToken>& tokens = choices()[0].tokens;
    Item& item = items_.back();
    const size_t had = item.tokens.size();
    size_t from = taken_;
    if (fresh)
      for (size_t i = from; i < tokens.size(); ++i)
        if (tokenizer().is_control(tokens[i].id)) from = i + 1;
    for (size_t i = from; i < tokens.size() && is_text; ++i) item.tokens.push_back(i);
    taken_ = tokens.size();
    return had;
  }

  Value logprobs(const Item& item, size_t from) const {
    Value out = Value::array();
    for (size_t i = from; i < item.tokens.size(); ++i)
      out.push(token_logprob(tokenizer(), choices()[0].tokens[item.tokens[i]]));
    return out;
  }

  Value part(size_t index, bool filled) const {
    const Block& block = choices()[0].blocks[index];
    Value out;
    const bool is_reasoning = block.kind == Block::Kind::kReasoning;
    out.set("type", is_reasoning ? "reasoning_text" : "output_text");
    out.set("text", filled ? block.text : "");
    if (is_reasoning) return out;
    out.set("annotations", Value::array());
    out.set("logprobs", logprobs(items_[index], filled ? 0 : items_[index].tokens.size()));
    return out;
  }

  Value item(size_t index, const char* status, bool filled) const {
    const Block& block = choices()[0].blocks[index];
    Value content = Value::array();
    if (filled && block.kind != Block::Kind::kCall) content.push(part(index, true));
    Value out;
    out.set("id", items_[index].id);
    switch (block.kind) {
      case Block::Kind::kReasoning:
        out.set("type", "reasoning");
        out.set("summary", Value::array());
        out.set("content", std::move(content));
        break;
      case Block::Kind::kContent:
        out.set("type", "message");
        out.set("role", "assistant");
        out.set("content", std::move(content));
        break;
      case Block::Kind::kCall:
        out.set("type", "function_call");
        out.set("call_id", block.id);
        out.set("name", block.name);
        out.set("arguments", filled ? block.text : "");
        break;
    }
    out.set("status", status);
    return out;
  }

  // The last item of an answer that was cut is not complete.
  const char* status_of(size_t index) const {
    return is_cut() && index + 1 == items_.size() ? "incomplete" : "completed";
  }

  Value response(const char* status, const Usage* usage, Value error) const {
    Value items = Value::array();
    for (size_t i = 0; i < items_.size(); ++i) items.push(item(i, status_of(i), true));
    Value details;
    if (is_cut()) details.set("reason", "max_output_tokens");
    Value out;
    out.set("id", info_.id);
    out.set("object", "response");
    out.set("created_at", info_.created);
    out.set("status", status);
    out.set("background", false);
    out.set("error", std::move(error));
    out.set("incomplete_details", std::move(details));
    out.set("model", info_.model);
    out.set("output", std::move(items));
    for (const auto& [key, value] : request_.repeated.as_object()) out.set(key, value);
    out.set("usage", usage == nullptr ? Value() : usage_value(*usage));
    return out;
  }

  static Value usage_value(const Usage& usage) {
    Value input;
    input.set("cached_tokens", usage.cached);
    Value output;
    output.set("reasoning_tokens", usage.reasoning);
    Value out;
    out.set("input_tokens", usage.prompt);
    out.set("input_tokens_details", std::move(input));
    out.set("output_tokens", usage.completion);
    out.set("output_tokens_details", std::move(output));
    out.set("total_tokens", usage.prompt + usage.completion);
    return out;
  }

  // Where in the response the open item is.
  Value place() const {
    Value out;
    out.set("item_id", items_.back().id);
    out.set("output_index", static_cast<int64_t>(items_.size()) - 1);
    return out;
  }

  void send_part(const char* type, bool filled, std::string* out) {
    Value event = place();
    event.set("content_index", 0);
    event.set("part", part(items_.size() - 1, filled));
    send(type, std::move(event), out);
  }

  void open_item(std::string* out) {
    const Block& block = choices()[0].blocks.back();
    const char* prefix = "fc_";
    if (block.kind == Block::Kind::kReasoning) prefix = "rs_";
    if (block.kind == Block::Kind::kContent) prefix = "msg_";
    items_.push_back({info_.new_id(prefix), {}});
    Value event;
    event.set("output_index", static_cast<int64_t>(items_.size()) - 1);
    event.set("item", item(items_.size() - 1, "in_progress", false));
    send("response.output_item.added", std::move(event), out);
    if (block.kind != Block::Kind::kCall) send_part("response.content_part.added", false, out);
  }

  void close_item(std::string* out) {
    const size_t index = items_.size() - 1;
    const Block& block = choices()[0].blocks[index];
    Value done = place();
    if (block.kind != Block::Kind::kCall) done.set("content_index", 0);
    switch (block.kind) {
      case Block::Kind::kReasoning:
        done.set("text", block.text);
        send("response.reasoning_text.done", std::move(done), out);
        break;
      case Block::Kind::kContent:
        done.set("text", block.text);
        done.set("logprobs", logprobs(items_[index], 0));
        send("response.output_text.done", std::move(done), out);
        break;
      case Block::Kind::kCall:
        done.set("name", block.name);
        done.set("arguments", block.text);
        send("response.function_call_arguments.done", std::move(done), out);
        break;
    }
    if (block.kind != Block::Kind::kCall) send_part("response.content_part.done", true, out);
    Value event;
    event.set("output_index", static_cast<int64_t>(index));
    event.set("item", item(index, status_of(index), true));
    send("response.output_item.done", std::move(event), out);
  }

  void send(const char* type, Value fields, std::string* out) {
    if (!request_.stream) return;
    Value event;
    event.set("type", type);
    event.set("sequence_number", sequence_++);
    for (auto& [key, value] : fields.as_object()) event.set(key, std::move(value));
    *out += sse_event(type, event);
  }

  std::vector<Item> items_;
  size_t taken_ = 0;  // tokens that were looked at
  int64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Answer> make_responses_answer(const GenerationRequest& request, AnswerInfo info,
                                              const Tokenizer& tokenizer) {
  return std::make_unique<ResponsesAnswer>(request, std::move(info), tokenizer);
}

}  // namespace trine::server
