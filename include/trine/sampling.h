// Choosing the next token from logits. Deterministic: same logits, options and seed, same token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trine {

struct SamplingOptions {
  float temperature = 0.0f;  ///< 0 = greedy (lowest id on ties)
  float top_p = 1.0f;
  int64_t top_k = 0;  ///< 0 = all
  float min_p = 0.0f;
  uint64_t seed = 0;
};

/// One stream of choices of one sequence.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options), state_(options.seed) {}
  /// Index of the chosen logit. Logits must be finite and not empty.
  int32_t sample(std::span<const float> logits);

 private:
  SamplingOptions options_;
  uint64_t state_;
  std::vector<std::pair<float, int32_t>> scratch_;
};

}  // namespace trine
