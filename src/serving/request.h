// What is asked of the model and what comes back, in tokens. Text, chat formats and JSON live
// above.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trine/status.h"

namespace trine::serving {

using Clock = std::chrono::steady_clock;

/// How the next token is chosen. Order: penalties and bias on the logits, mask, temperature, top-k,
/// top-p, min-p, draw. The n-th draw depends on seed and n alone.
struct SamplingParams {
  float temperature = 1.0f;         ///< 0 = greedy (lowest id on ties)
  float top_p = 1.0f;               ///< (0, 1]
  int64_t top_k = 0;                ///< 0 = all
  float min_p = 0.0f;               ///< [0, 1)
  float presence_penalty = 0.0f;    ///< [-2, 2]: subtracted once from tokens generated before
  float frequency_penalty = 0.0f;   ///< [-2, 2]: subtracted per occurrence among generated tokens
  float repetition_penalty = 1.0f;  ///< > 0: divides positive, multiplies negative logits of tokens
                                    ///< of the prompt and of the answer
  std::vector<std::pair<int32_t, float>> logit_bias;  ///< id, added
  uint64_t seed = 0;
};

struct Request {
  std::vector<int32_t> prompt;          ///< ids, at least one
  int64_t max_tokens = 0;               ///< generated tokens at most; 0 = prefill alone
  int64_t min_tokens = 0;               ///< end tokens are not chosen before that many
  bool ignore_eos = false;              ///< end tokens neither stop nor are avoided
  std::vector<int32_t> stop_token_ids;  ///< beside the model's end tokens
  SamplingParams sampling;
  int top_logprobs = -1;         ///< -1 = no logprobs; else that many alternatives (0 to 20)
  bool prompt_logprobs = false;  ///< also for the prompt's tokens (echo); reads no cached prefix
  std::string client;            ///< who asks (fair order); "" = everybody without a key
  Clock::time_point deadline = Clock::time_point::max();
};

/// Log probabilities come from the logits as the model gave them (before penalties, bias, mask and
/// temperature): log-softmax in double.
struct TokenLogprobs {
  float logprob = 0.0f;
  std::vector<std::pair<int32_t, float>> top;  ///< best first, ties by id
};

struct Token {
  int32_t id = 0;
  const TokenLogprobs* logprobs = nullptr;  ///< null when none were asked for
};

enum class Finish {
  kStop,       ///< an end or stop token was chosen, or the sink said stop
  kLength,     ///< max_tokens, or the context is full
  kCancelled,  ///< Service::cancel
  kDeadline,   ///< the request's deadline passed
  kError,      ///< Outcome::status says why
};

struct Outcome {
  Finish finish = Finish::kStop;
  Status status;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;      ///< of the prompt: came from a snapshot
  int64_t completion_tokens = 0;  ///< the end token included
  int32_t stop_token = -1;        ///< the end or stop token that was chosen, or -1
  double queue_ms = 0;            ///< submit to first admission
  double ttft_ms = 0;             ///< submit to first token
  double total_ms = 0;
};

/// Where the tokens of one request go. Called from the step thread, never at the same time from two
/// threads; must not block and must not call back into the service except for cancel.
class Sink {
 public:
  enum class Verdict { kGoOn, kStop };

  virtual ~Sink() = default;
  /// A slot was given; that many tokens of the prompt came from a snapshot. Again after preemption.
  virtual void admitted(int64_t /*cached_tokens*/) {}
  /// After each pass that took tokens of the prompt.
  virtual void prefilled(int64_t /*done*/, int64_t /*total*/) {}
  /// Logprobs of prompt[i], i >= 1, in order (prompt_logprobs only).
  virtual void prompt_token(int64_t /*index*/, const Token& /*token*/) {}
  /// Tokens that may come next, one bit per id, set = allowed; false = all. Control tokens
  /// included.
  virtual bool mask(std::span<uint64_t> /*allowed*/) { return false; }
  /// What the next token is chosen from, as the model gave it (selfcheck compares the bits).
  virtual void logits(std::span<const float> /*row*/) {}
  /// A generated token; stop tokens included. kStop ends the answer with this token.
  virtual Verdict token(const Token& token) = 0;
  /// Exactly once, last. What the request held is given back at the latest after the next step.
  virtual void finished(const Outcome& outcome) = 0;
};

}  // namespace trine::serving
