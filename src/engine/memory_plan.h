// How much memory a model will take, from closed forms, before a byte of weights is read.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/config.h"
#include "model/weights.h"
#include "trine/model.h"
#include "trine/status.h"

namespace trine::engine {

/// What the plan depends on besides the model.
struct PlanRequest {
  Precision precision = Precision::kFast;
  bool bf16_inputs = false;  ///< the level has a 16-bit unit and the precision uses it
  int threads = 1;
  int64_t context = 0;  ///< 0: from the memory left
  int64_t sequences = 1;
  int64_t prefill_chunk = 512;
  int64_t available_bytes = 0;  ///< of this machine, now
};

struct LoadPlan {
  MemoryPlan memory;
  int64_t context = 0;
  int64_t prefill_chunk = 0;  ///< the chunk asked for, halved until a pass fits kActivationBytesMax
  int64_t pass_rows = 0;      ///< rows of a pass: a chunk, or one row of every sequence
};

/// Scratch of a pass stays below this (peak memory is promised as weights + caches + 300 MB).
constexpr int64_t kActivationBytesMax = int64_t{224} << 20;

/// Bytes of one forward pass of `rows` rows.
int64_t activation_bytes(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                         const PlanRequest& request, int64_t rows, int64_t context);
/// Latent cache of one sequence of `context` tokens, in the type of the precision.
int64_t latent_bytes(const checkpoint::ModelConfig& config, Precision precision, int64_t context);

LoadPlan plan_memory(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                     const PlanRequest& request);

/// kOutOfMemory with the numbers when the plan exceeds what is available.
Status check_memory(const MemoryPlan& plan, const std::string& folder, bool allow_paging);

}  // namespace trine::engine
