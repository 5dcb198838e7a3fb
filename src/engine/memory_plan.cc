// The memory plan: weights + (states + latents) of all sequences + one pass.
#include "engine/memory_plan.h"

#include <algorithm>

#include "model/sequence_state.h"
#include "model/workspace.h"
#include "platform/memory.h"

namespace trine::engine {

using checkpoint::ModelConfig;
using model::SequenceState;

namespace {

constexpr int64_t kContextMin = 4096;
constexpr int64_t kContextUnknown = int64_t{1} << 20;  // the config names no limit
constexpr int64_t kMemoryShare = 8;  // a default context takes 1/8 of what is left

kernels::LatentType latent_type(Precision precision) {
  return precision == Precision::kExact ? kernels::LatentType::kF32 : kernels::LatentType::kBf16;
}

int64_t default_context(const ModelConfig& config, const PlanRequest& request, int64_t bytes_left) {
  const int64_t limit =
      config.max_position_embeddings > 0 ? config.max_position_embeddings : kContextUnknown;
  const int64_t page = latent_bytes(config, request.precision, kernels::kMlaPageRows);
  if (page == 0) return limit;
  const int64_t pages = bytes_left / kMemoryShare / request.sequences / page;
  return std::min(limit, std::max(kContextMin, pages * kernels::kMlaPageRows));
}

}  // namespace

int64_t activation_bytes(const ModelConfig& config, const model::WeightSet& weights,
                         const PlanRequest& request, int64_t rows, int64_t context) {
  return model::Workspace::bytes({.config = config,
                                  .rows = rows,
                                  .context = context,
                                  .threads = request.threads,
                                  .bf16_inputs = request.bf16_inputs,
                                  .keep_f32 = !request.bf16_inputs || weights.needs_f32_rows,
                                  .int8 = weights.int8});
}

int64_t latent_bytes(const ModelConfig& config, Precision precision, int64_t context) {
  return SequenceState::latent_bytes(config, context, latent_type(precision));
}

LoadPlan plan_memory(const ModelConfig& config, const model::WeightSet& weights,
                     const PlanRequest& request) {
  LoadPlan plan;
  const auto rows_of = [&](int64_t chunk) { return std::max(chunk, request.sequences); };
  plan.prefill_chunk = request.prefill_chunk;
  while (plan.prefill_chunk > kernels::kMlaPageRows &&
         activation_bytes(config, weights, request, rows_of(plan.prefill_chunk), kContextMin) >
             kActivationBytesMax) {
    plan.prefill_chunk = std::max(kernels::kMlaPageRows, plan.prefill_chunk / 2 / 64 * 64);
  }
  plan.pass_rows = rows_of(plan.prefill_chunk);

  MemoryPlan& memory = plan.memory;
  memory.available_bytes = request.available_bytes;
  memory.weight_bytes = weights.bytes;
  memory.state_bytes = request.sequences * SequenceState::state_bytes(config);
  memory.activation_bytes = activation_bytes(config, weights, request, plan.pass_rows, kContextMin);
  const int64_t left =
      request.available_bytes - memory.weight_bytes - memory.state_bytes - memory.activation_bytes;
  plan.context = request.context > 0 ? request.context
                                     : default_context(config, request, std::max<int64_t>(0, left));
  memory.activation_bytes =
      activation_bytes(config, weights, request, plan.pass_rows, plan.context);
  memory.latent_bytes = request.sequences * latent_bytes(config, request.precision, plan.context);
  memory.total_bytes =
      memory.weight_bytes + memory.state_bytes + memory.latent_bytes + memory.activation_bytes;
  return plan;
}

Status check_memory(const MemoryPlan& plan, const std::string& folder, bool allow_paging) {
  if (allow_paging || plan.total_bytes <= plan.available_bytes) return {};
  return {Code::kOutOfMemory, folder + ": needs " + format_bytes(plan.total_bytes) + " (weights " +
                                  format_bytes(plan.weight_bytes) + ", states " +
                                  format_bytes(plan.state_bytes) + ", latent cache " +
                                  format_bytes(plan.latent_bytes) + ", activations " +
                                  format_bytes(plan.activation_bytes) + "), but only " +
                                  format_bytes(plan.available_bytes) +
                                  " of memory can be used; take a shorter context or fewer "
                                  "sequences, free memory, or insist with "
                                  "allow_paging"};
}

}  // namespace trine::engine
