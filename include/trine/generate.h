// Generation: a prompt into a sequence, tokens out, until something says stop.
//
//   trine::Sampler sampler({.temperature = 0.7f, .seed = 1});
//   trine::GenerateOptions options;
//   options.stop_ids = {tokenizer.control_id("<|end_of_msg|>")};
//   auto answer = trine::generate(model, &sequence, &sampler, prompt_ids, options);
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trine/model.h"
#include "trine/sampling.h"
#include "trine/status.h"

namespace trine {

struct GenerateOptions {
  int64_t max_tokens = 0;         ///< 0 = until the context is full
  std::vector<int32_t> stop_ids;  ///< generation ends after any of these; the id itself is returned
  std::function<bool(int64_t done, int64_t total)> on_prefill;  ///< false cancels
  std::function<bool(int32_t id)> on_token;                     ///< false ends after this id
};

enum class FinishReason {
  kStop,      ///< a stop id
  kLength,    ///< max_tokens, or the context is full
  kByCaller,  ///< on_token or on_prefill returned false
};
/// "stop", "length", "cancelled".
const char* finish_reason_name(FinishReason reason);

struct Generation {
  std::vector<int32_t> ids;  ///< generated ids, without the prompt
  FinishReason finish = FinishReason::kStop;
  int64_t prompt_tokens = 0;       ///< ids of this call's prompt
  double prefill_seconds = 0;      ///< the prompt's forward pass
  double first_token_seconds = 0;  ///< from the call to the first generated id
  double decode_seconds = 0;       ///< from the first generated id to the last
  /// Rates in tokens per second; 0 when nothing was measured.
  double prefill_rate() const;
  double decode_rate() const;
};

/// Appends `prompt` to the sequence and generates. The last generated id is not appended: the
/// sequence then ends before it (position = before + prompt + ids - 1). Cancelled in the prompt, a
/// sequence must be reset. Errors: those of Sequence::prefill and decode.
Result<Generation> generate(const Model& model, Sequence* sequence, Sampler* sampler,
                            std::span<const int32_t> prompt, const GenerateOptions& options);

/// Finds stop strings in streamed text: what may be the beginning of one is held back until it is
/// certain, and the stop string itself is never returned, wherever the text is cut.
class StopMatcher {
 public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);
  /// Takes the next piece; returns the text that is certain. Nothing more once stopped.
  std::string push(std::string_view piece);
  /// The stream ended: returns what was held back.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace trine
