// Sampling: top-k, then top-p, then min-p of what is left, then a draw from a counter-based
// generator.
#include <algorithm>
#include <cmath>

#include "base/splitmix.h"
#include "trine/sampling.h"

namespace trine {
namespace {

using Candidate = std::pair<float, int32_t>;

/// Higher logit first, lower id on ties.
bool better(const Candidate& a, const Candidate& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}
bool worse(const Candidate& a, const Candidate& b) { return better(b, a); }

int32_t greedy(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// SplitMix64: the n-th draw is a function of the seed and n.
double next_uniform(uint64_t* state) {
  *state += kSplitMixStep;
  return static_cast<double>(splitmix(*state) >> 11) * 0x1p-53;
}

}  // namespace

int32_t Sampler::sample(std::span<const float> logits) {
  if (!(options_.temperature > 0.0f)) return greedy(logits);
  scratch_.clear();
  for (size_t i = 0; i < logits.size(); ++i)
    scratch_.emplace_back(logits[i], static_cast<int32_t>(i));

  const auto size = static_cast<int64_t>(scratch_.size());
  if (options_.top_k > 0 && options_.top_k < size) {
    std::nth_element(scratch_.begin(), scratch_.begin() + options_.top_k - 1, scratch_.end(),
                     better);
    scratch_.resize(static_cast<size_t>(options_.top_k));
    std::sort(scratch_.begin(), scratch_.end(), better);
  }
  const double best =
      static_cast<double>(std::min_element(scratch_.begin(), scratch_.end(), better)->first);
  const double temperature = static_cast<double>(options_.temperature);
  const auto weight = [&](const Candidate& c) {
    return std::exp((static_cast<double>(c.first) - best) / temperature);
  };

  if (options_.top_p < 1.0f) {
    double total = 0;
    for (const Candidate& c : scratch_) total += weight(c);
    // A heap gives the best ones in order without sorting the whole vocabulary.
    std::make_heap(scratch_.begin(), scratch_.end(), worse);
    double kept = 0;
    auto end = scratch_.end();
    do {
      std::pop_heap(scratch_.begin(), end, worse);
      kept += weight(*--end);
    } while (end != scratch_.begin() && kept < static_cast<double>(options_.top_p) * total);
    scratch_.erase(scratch_.begin(), end);
    std::reverse(scratch_.begin(), scratch_.end());
  }
  if (options_.min_p > 0.0f) {
    const double least = std::min(1.0, static_cast<double>(options_.min_p));
    std::erase_if(scratch_, [&](const Candidate& c) { return weight(c) < least; });
  }
  double total = 0;
  for (const Candidate& c : scratch_) total += weight(c);
  double left = next_uniform(&state_) * total;
  for (const Candidate& c : scratch_) {
    left -= weight(c);
    if (left < 0) return c.second;
  }
  return scratch_.back().second;
}

}  // namespace trine
