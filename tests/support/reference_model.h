// The model in fp64, straight from the spec: recurrences step by step, MLA without absorption,
// experts one by one. Slow and plain; what random checkpoints are compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace trine::testing {

/// Row-major values of a module ("...q_proj") or of another tensor ("...A_log").
using WeightLookup = std::function<const std::vector<float>&(const std::string& name)>;

struct ReferenceOutput {
  std::vector<double> logits;       ///< [T][V]
  std::vector<double> layers;       ///< [L][T][d]
  std::vector<int32_t> router_ids;  ///< [moe layers][T][k], ascending
  std::vector<double> kda_state;    ///< [kda layers][H][D][D] after the last token
  std::vector<double> mla_rows;     ///< [mla layers][T][r + dr]
  double router_margin = 1e9;  ///< smallest gap between a picked expert and the best one left out
};

ReferenceOutput reference_forward(const checkpoint::ModelConfig& config,
                                  const WeightLookup& weights, const std::vector<int32_t>& ids);

}  // namespace trine::testing
