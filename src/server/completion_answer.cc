// Answers of /v1/completions: text_completion, whole or in chunks. With logprobs, the tokens that
// are listed, put together, are the text (see token_text.h).
#include "server/openai_answer.h"

namespace trine::server {
namespace {

using json::Value;

class CompletionAnswer : public OpenAiAnswer {
 public:
  CompletionAnswer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer)
      : OpenAiAnswer(request, std::move(info), tokenizer, "text_completion", "text_completion"),
        parts_(choices().size()) {}

  std::string begin() override {
    std::string out;
    // With logprobs the prompt is sent once they are known.
    if (!request_.echo || request_.logprobs) return out;
    for (size_t i = 0; i < parts_.size(); ++i) send(i, prompt_text(i), Value(), &out);
    return out;
  }

  std::string prompt_read(size_t index, std::vector<AnswerToken> prompt) override {
    std::vector<int32_t> ids;
    ids.reserve(prompt.size());
    for (const AnswerToken& token : prompt) ids.push_back(token.id);
    std::vector<TokenPiece> pieces = token_pieces(tokenizer(), ids);
    Part& part = parts_[index];
    for (size_t i = 0; i < pieces.size(); ++i)
      part.listed.push_back({std::move(prompt[i]), std::move(pieces[i])});
    std::string out;
    send(index, prompt_text(index), Value(), &out);
    return out;
  }

  void pieces(size_t index, std::vector<TokenPiece>&& pieces) override {
    Part& part = parts_[index];
    for (TokenPiece& piece : pieces) {
      piece.offset += prompt_characters(index);
      part.listed.push_back({choice(index).tokens[part.generated++], std::move(piece)});
    }
  }

 protected:
  Value whole_choice(size_t index) const override {
    const Choice& c = choices()[index];
    const std::string text = c.joined(Block::Kind::kContent);
    return one(index, request_.echo ? prompt_text(index) + text : text, 0, finish_reason(c));
  }

  void on_event(size_t index, const OutputEvent& event, bool /*fresh*/, std::string* out) override {
    send(index, event.text, Value(), out);
  }

  void on_end(size_t index, std::string* out) override {
    send(index, "", finish_reason(choice(index)), out);
  }

 private:
  struct Listed {
    AnswerToken token;
    TokenPiece piece;
  };
  struct Part {
    std::vector<Listed> listed;
    size_t generated = 0;  // of the choice's tokens, how many are listed
    size_t sent = 0;       // of the listed
  };

  static const char* finish_reason(const Choice& c) {
    return c.reason == EndReason::kLength ? "length" : "stop";
  }

  const std::string& prompt_text(size_t index) const {
    return info_.prompt_texts[index / static_cast<size_t>(request_.n)];
  }

  int64_t prompt_characters(size_t index) const {
    if (!request_.echo) return 0;
    int64_t count = 0;
    for (const char c : prompt_text(index)) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
  }

  // {likely token: its log probability}; the token itself is always among them.
  Value top_logprobs(const Listed& listed) const {
    if (!listed.token.has_logprob) return Value();
    Value out = Value::object();
    for (const auto& [id, logprob] : listed.token.top) {
      const std::string text =
          id == listed.token.id ? listed.piece.text : token_text(tokenizer(), id);
      if (out.find(text) == nullptr) out.set(text, finite_logprob(logprob));
    }
    out.set(listed.piece.text, finite_logprob(listed.token.logprob));
    return out;
  }

  Value logprobs(size_t index, size_t from) const {
    Value tokens = Value::array();
    Value logprobs = Value::array();
    Value top = Value::array();
    Value offsets = Value::array();
    const std::vector<Listed>& all = parts_[index].listed;
    for (size_t i = from; i < all.size(); ++i) {
      const AnswerToken& token = all[i].token;
      tokens.push(all[i].piece.text);
      logprobs.push(token.has_logprob ? Value(finite_logprob(token.logprob)) : Value());
      top.push(top_logprobs(all[i]));
      offsets.push(all[i].piece.offset);
    }
    Value out;
    out.set("tokens", std::move(tokens));
    out.set("token_logprobs", std::move(logprobs));
    out.set("top_logprobs", request_.request.top_logprobs > 0 ? std::move(top) : Value());
    out.set("text_offset", std::move(offsets));
    return out;
  }

  Value one(size_t index, const std::string& text, size_t from, Value finish) const {
    Value out;
    out.set("index", static_cast<int64_t>(index));
    out.set("text", text);
    out.set("logprobs", request_.logprobs ? logprobs(index, from) : Value());
    out.set("finish_reason", std::move(finish));
    return out;
  }

  void send(size_t index, const std::string& text, Value finish, std::string* out) {
    if (!request_.stream) return;
    Part& part = parts_[index];
    Value choice = one(index, text, part.sent, std::move(finish));
    part.sent = part.listed.size();
    *out += chunk(std::move(choice));
  }

  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Answer> make_completion_answer(const GenerationRequest& request, AnswerInfo info,
                                               const Tokenizer& tokenizer) {
  return std::make_unique<CompletionAnswer>(request, std::move(info), tokenizer);
}

}  // namespace trine::server
