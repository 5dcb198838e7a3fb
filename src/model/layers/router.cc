// Grouped top-k over biased scores (spec section 7), fp32.
#include "model/layers/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trine::model {
namespace {

constexpr float kWorst = -std::numeric_limits<float>::infinity();

/// Sum of the two best choices of each group; experts outside the best groups become kWorst.
void keep_best_groups(const checkpoint::ModelConfig& config, const RouterScratch& scratch) {
  const int64_t groups = config.num_expert_group;
  const int64_t size = config.num_experts / groups;
  for (int64_t g = 0; g < groups; ++g) {
    float best = kWorst;
    float second = kWorst;
    for (int64_t e = g * size; e < (g + 1) * size; ++e) {
      const float c = scratch.choice[e];
      second = std::max(second, std::min(best, c));
      best = std::max(best, c);
    }
    scratch.groups[g] = size > 1 ? best + second : best;
  }
  for (int64_t g = 0; g < groups; ++g) {
    int64_t better = 0;
    for (int64_t other = 0; other < groups; ++other) {
      const bool before = scratch.groups[other] > scratch.groups[g] ||
                          (scratch.groups[other] == scratch.groups[g] && other < g);
      better += before ? 1 : 0;
    }
    if (better >= config.topk_group) std::fill_n(scratch.choice + g * size, size, kWorst);
  }
}

/// The k best, found in one walk that keeps them sorted.
void top_k(const float* choice, int64_t experts, int64_t k, int32_t* ids) {
  int64_t count = 0;
  for (int64_t e = 0; e < experts; ++e) {
    if (count == k && !(choice[e] > choice[ids[count - 1]])) continue;
    int64_t place = count < k ? count++ : k - 1;
    for (; place > 0 && choice[e] > choice[ids[place - 1]]; --place) ids[place] = ids[place - 1];
    ids[place] = static_cast<int32_t>(e);
  }
}

}  // namespace

void route(const kernels::KernelTable& table, const checkpoint::ModelConfig& config,
           const float* logits, const float* bias, const RouterScratch& scratch, int32_t* ids,
           float* weights) {
  const int64_t experts = config.num_experts;
  const int64_t k = config.num_experts_per_token;
  std::copy_n(logits, experts, scratch.scores);
  if (config.router_activation == checkpoint::RouterActivation::kSigmoid) {
    table.sigmoid({scratch.scores, experts});
  } else {
    table.softmax({scratch.scores, experts});
  }
  for (int64_t e = 0; e < experts; ++e) {
    const float c = scratch.scores[e] + bias[e];
    scratch.choice[e] = std::isnan(c) ? kWorst : c;
  }
  if (config.num_expert_group > 1 && config.num_expert_group > config.topk_group) {
    keep_best_groups(config, scratch);
  }
  top_k(scratch.choice, experts, k, ids);
  std::sort(ids, ids + k);
  float total = 0;
  for (int64_t i = 0; i < k; ++i) {
    weights[i] = scratch.scores[ids[i]];
    total += weights[i];
  }
  for (int64_t i = 0; i < k; ++i) {
    if (config.moe_renormalize && k > 1) weights[i] /= total + 1e-20f;
    weights[i] *= config.routed_scaling_factor;
  }
}

}  // namespace trine::model
