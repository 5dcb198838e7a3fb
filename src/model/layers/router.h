// Which experts a token goes to, and with which weights (spec section 7).
#pragma once

#include <cstdint>

#include "checkpoint/config.h"
#include "kernels/table.h"

namespace trine::model {

/// Scratch of one row: scores and choices of all experts, choices of groups.
struct RouterScratch {
  float* scores;  ///< [E]
  float* choice;  ///< [E]
  float* groups;  ///< [num_expert_group]
};

/// From one row of router logits: the experts in ascending order with their weights. Ties go to the
/// lower index; a NaN choice counts as the worst, so that the ids are always valid and distinct.
void route(const kernels::KernelTable& table, const checkpoint::ModelConfig& config,
           const float* logits, const float* bias, const RouterScratch& scratch, int32_t* ids,
           float* weights);

}  // namespace trine::model
