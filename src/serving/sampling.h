// Choosing the next token of one sequence (the order of the steps is SamplingParams').
//
// The choice is a function of the logits, the parameters and the tokens so far, nothing else: the
// same whatever runs beside it, and the same after a preemption. It is exactly what sorting the
// whole vocabulary would give, without sorting it: probabilities are whole numbers, so that sums do
// not depend on the order in which they are taken.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "serving/request.h"

namespace trine::serving {

/// 64 random bits: the n-th draw of a seed.
uint64_t random_bits(uint64_t seed, uint64_t n);

class TokenChooser {
 public:
  /// Ids of the prompt count for the repetition penalty.
  TokenChooser(SamplingParams params, std::span<const int32_t> prompt);

  /// The next token's id; -1 when mask and `forbidden` leave none. `mask`: one bit per id, set =
  /// allowed, empty = all. Logits that are not finite are never chosen. The logits are used as
  /// scratch and are what they were when this returns. Does not count the token: see accept().
  int32_t choose(std::span<float> logits, std::span<const uint64_t> mask,
                 std::span<const int32_t> forbidden) const;

  /// The answer goes on with this token (chosen or forced).
  void accept(int32_t id);

  /// How many tokens were accepted: the number of the next draw.
  uint64_t generated() const { return generated_; }

 private:
  struct Saved {
    size_t id;
    float logit;
  };
  void adjust(std::span<float> logits, std::span<const int32_t> forbidden,
              std::vector<Saved>* saved) const;
  int32_t draw(std::span<const float> logits, std::span<const uint64_t> mask, float best) const;
  bool repetition_matters() const { return params_.repetition_penalty != 1.0f; }
  bool counts_matter() const {
    return params_.presence_penalty != 0.0f || params_.frequency_penalty != 0.0f;
  }

  SamplingParams params_;
  uint64_t generated_ = 0;
  std::unordered_map<int32_t, int64_t> times_;  // generated; 0 = in the prompt. Only if it matters
};

}  // namespace trine::serving
