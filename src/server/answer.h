// One answer while it comes into being, and its form in one API: a stream of events, or whole. Both
// are written from the same record, so that the stream put together is the whole answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/generation.h"
#include "server/output.h"
#include "server/problem.h"
#include "server/token_text.h"
#include "trine/tokenizer.h"

namespace trine::server {

struct AnswerToken {
  int32_t id = 0;
  bool has_logprob = true;  ///< false for the first token of a prompt
  float logprob = 0.0f;
  std::vector<std::pair<int32_t, float>> top;
};

/// A run of one kind of output: reasoning, content or one tool call.
struct Block {
  enum class Kind { kReasoning, kContent, kCall };
  Kind kind = Kind::kContent;
  std::string text;  ///< of a call: its arguments
  std::string id;    ///< of a call
  std::string name;
  bool arguments_are_text = false;
};

enum class EndReason { kStop, kStopString, kLength };

struct Choice {
  std::vector<Block> blocks;
  std::vector<AnswerToken> prompt;  ///< with echo and logprobs
  std::vector<AnswerToken> tokens;  ///< with logprobs
  bool ended = false;
  EndReason reason = EndReason::kStop;
  std::string stop_string;  ///< kStopString: which

  /// Text of all blocks of a kind.
  std::string joined(Block::Kind kind) const;
  bool has_calls() const;
};

struct Usage {
  int64_t prompt = 0;
  int64_t cached = 0;  ///< of the prompt
  int64_t completion = 0;
  int64_t reasoning = 0;  ///< of the completion
};

struct AnswerInfo {
  std::string id;       ///< "" = made with new_id
  std::string model;    ///< as the answer names it
  int64_t created = 0;  ///< seconds since 1970
  int64_t prompt_tokens = 0;
  /// A new unique id with that prefix ("call_").
  std::function<std::string(const char* prefix)> new_id;
  /// kCompletions with echo: the text of each prompt.
  std::vector<std::string> prompt_texts;
};

class Answer {
 public:
  /// The form of request.api. The tokenizer must outlive it.
  static std::unique_ptr<Answer> make(const GenerationRequest& request, AnswerInfo info,
                                      const Tokenizer& tokenizer);
  virtual ~Answer() = default;

  // Each returns what to send at once in a stream, possibly nothing. Choices are numbered over all
  // prompts: prompt * n + i.
  virtual std::string begin() { return ""; }
  virtual std::string progress(int64_t done, int64_t total, int64_t cached);
  /// The prompt's tokens with logprobs are complete (echo).
  virtual std::string prompt_read(size_t choice, std::vector<AnswerToken> prompt);
  /// One token (null when logprobs were not asked for, or after the last) and what it made certain.
  /// `pieces`: what Output::take_pieces gave (plain text with logprobs).
  std::string add(size_t choice, const std::vector<OutputEvent>& events, const AnswerToken* token,
                  std::vector<TokenPiece> pieces, const Usage& so_far);
  std::string end_choice(size_t choice, EndReason reason, std::string stop_string);
  virtual std::string end(const Usage& usage) = 0;
  /// The stream cannot be finished.
  virtual std::string fail(const Problem& problem) = 0;

  virtual json::Value whole(const Usage& usage) = 0;

 protected:
  Answer(const GenerationRequest& request, AnswerInfo info, const Tokenizer& tokenizer);

  /// After the record was changed. `fresh`: the event began the choice's last block.
  virtual void on_event(size_t choice, const OutputEvent& event, bool fresh, std::string* out) = 0;
  /// Pieces of tokens that are in the record already.
  virtual void pieces(size_t /*choice*/, std::vector<TokenPiece>&& /*pieces*/) {}
  virtual void on_end(size_t choice, std::string* out) = 0;

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  Choice& choice(size_t index) { return choices_[index]; }
  const std::vector<Choice>& choices() const { return choices_; }
  const Usage& so_far() const { return so_far_; }

  const GenerationRequest request_;
  const AnswerInfo info_;

 private:
  const Tokenizer* tokenizer_;
  std::vector<Choice> choices_;
  Usage so_far_;
};

std::unique_ptr<Answer> make_chat_answer(const GenerationRequest& request, AnswerInfo info,
                                         const Tokenizer& tokenizer);
std::unique_ptr<Answer> make_completion_answer(const GenerationRequest& request, AnswerInfo info,
                                               const Tokenizer& tokenizer);
std::unique_ptr<Answer> make_responses_answer(const GenerationRequest& request, AnswerInfo info,
                                              const Tokenizer& tokenizer);
std::unique_ptr<Answer> make_messages_answer(const GenerationRequest& request, AnswerInfo info,
                                             const Tokenizer& tokenizer);

/// "data: JSON\n\n", and the same with an event's name before it.
std::string sse_data(const json::Value& value);
std::string sse_event(const std::string& name, const json::Value& value);

/// {"token", "logprob", "bytes", "top_logprobs"} as chat and Responses have it.
json::Value token_logprob(const Tokenizer& tokenizer, const AnswerToken& token);
/// JSON has no infinities.
double finite_logprob(float logprob);
/// {"prompt_tokens", "completion_tokens", "total_tokens", details}.
json::Value openai_usage(const Usage& usage);

}  // namespace trine::server
