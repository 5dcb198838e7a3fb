// One answer: generated, parsed while it comes and shown: answer and tool calls on stdout, the
// reasoning (dimmed on a terminal) and statistics on stderr.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trine/chat.h"
#include "trine/generate.h"

namespace trine::cli {

struct AnswerOptions {
  int64_t max_tokens = 8192;
  SamplingOptions sampling;
  std::vector<std::string> stops;
  bool raw = false;      ///< no channels: everything is content, control tokens are spelled
  bool thinking = true;  ///< the prompt ended in an open reasoning channel
  bool stream = true;    ///< show it while it comes (not with --json)
  bool quiet = false;
};

struct Answer {
  ParsedMessage message;
  Generation generation;
  std::string finish_reason;  ///< "stop", "length", "tool_calls", "interrupted"
};

/// Ids that end an answer: those of the model and of the chat format.
std::vector<int32_t> stop_ids(const Model& model, const Tokenizer& tokenizer);

/// Runs under an InterruptGuard of the caller.
Result<Answer> answer(const Model& model, const Tokenizer& tokenizer, Sequence* sequence,
                      Sampler* sampler, std::span<const int32_t> prompt,
                      const AnswerOptions& options);

/// Lines about speed and memory; load_seconds < 0: loading is not mentioned.
std::string statistics_text(const Model& model, const Generation& generation, double load_seconds);
/// The whole answer as one JSON value: message, finish_reason, usage, timings, machine.
std::string answer_json(const Model& model, const Answer& answer, Precision precision,
                        double load_seconds);

}  // namespace trine::cli
