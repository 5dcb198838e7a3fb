// Log probabilities; see the header.
#include "serving/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/try.h"

namespace trine::serving {
namespace {

// Best first, ties by id: ids come in ascending order, so an equal logit never passes an earlier.
std::vector<std::pair<int32_t, float>> best_of(std::span<const float> logits, size_t count) {
  std::vector<std::pair<int32_t, float>> best;
  count = std::min(count, logits.size());
  if (count == 0) return best;
  best.reserve(count + 1);
  for (size_t id = 0; id < logits.size(); ++id) {
    const float logit = logits[id];
    if (best.size() == count && !(logit > best.back().second)) continue;
    const auto place = std::find_if(best.begin(), best.end(),
                                    [&](const auto& other) { return logit > other.second; });
    best.insert(place, {static_cast<int32_t>(id), logit});
    if (best.size() > count) best.pop_back();
  }
  return best;
}

}  // namespace

TokenLogprobs logprobs_of(std::span<const float> logits, int32_t id, int top) {
  TRINE_CHECK(id >= 0 && static_cast<size_t>(id) < logits.size());
  const auto best = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  const double log_sum = best + std::log(sum);
  const auto logprob = [&](float logit) {
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<float>::lowest());
    return static_cast<float>(std::max(static_cast<double>(logit) - log_sum, kLowest));
  };

  TokenLogprobs out;
  out.logprob = logprob(logits[static_cast<size_t>(id)]);
  out.top = best_of(logits, static_cast<size_t>(std::max(top, 0)));
  for (auto& [other, value] : out.top) value = logprob(value);
  return out;
}

}  // namespace trine::serving
