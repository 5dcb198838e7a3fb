// Memory that a model takes: the closed forms, and trine's plan at common context lengths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/config.h"
#include "engine/memory_plan.h"
#include "model/weights.h"
#include "trine/model.h"

namespace trine {

struct ContextMemory {
  int64_t tokens = 0;
  MemoryPlan plan;  ///< one sequence
};

/// Activation memory of a prefill chunk is base_bytes + bytes_per_row * rows.
struct ActivationForm {
  int64_t base_bytes = 0;
  int64_t bytes_per_row = 0;
  int64_t bytes(int64_t rows) const { return base_bytes + bytes_per_row * rows; }
};

struct MemoryReport {
  int64_t latent_bytes_per_token = 0;    ///< closed form, bf16: MLA layers * (r + dr) * 2
  int64_t state_bytes_per_sequence = 0;  ///< closed form, fp32: KDA states and windows
  int64_t weight_bytes = 0;              ///< packed
  int64_t prefill_chunk = 0;
  ActivationForm activation;
  std::vector<ContextMemory> contexts;  ///< 4K, 16K, 64K, 128K, 256K, 1M
  json::Value to_json() const;
};

MemoryReport report_memory(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                           const engine::PlanRequest& request);

}  // namespace trine
