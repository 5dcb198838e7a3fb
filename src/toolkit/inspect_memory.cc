// Plans for a row of context lengths.
#include "toolkit/inspect_memory.h"

namespace trine {
namespace {

constexpr int64_t kContexts[] = {4096, 16384, 65536, 131072, 262144, 1048576};

// Buffers are rounded to cache lines, so the form is taken between two sizes that are multiples of
// 64 rows, where it is exact.
ActivationForm activation_form(const checkpoint::ModelConfig& config,
                               const model::WeightSet& weights, const engine::PlanRequest& request,
                               int64_t context) {
  constexpr int64_t kLow = 256;
  constexpr int64_t kHigh = 512;
  const int64_t low = engine::activation_bytes(config, weights, request, kLow, context);
  const int64_t high = engine::activation_bytes(config, weights, request, kHigh, context);
  ActivationForm form;
  form.bytes_per_row = (high - low) / (kHigh - kLow);
  form.base_bytes = low - form.bytes_per_row * kLow;
  return form;
}

}  // namespace

MemoryReport report_memory(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                           const engine::PlanRequest& request) {
  MemoryReport report;
  report.latent_bytes_per_token = config.latent_bytes_per_token(2);
  report.state_bytes_per_sequence = config.state_bytes_per_sequence();
  report.weight_bytes = weights.bytes;
  for (const int64_t tokens : kContexts) {
    engine::PlanRequest at = request;
    at.context = tokens;
    at.sequences = 1;
    const engine::LoadPlan plan = engine::plan_memory(config, weights, at);
    report.prefill_chunk = plan.prefill_chunk;
    report.contexts.push_back({tokens, plan.memory});
  }
  report.activation = activation_form(config, weights, request, kContexts[0]);
  return report;
}

json::Value MemoryReport::to_json() const {
  json::Value form = json::Value::object();
  form.set("base_bytes", activation.base_bytes);
  form.set("bytes_per_row", activation.bytes_per_row);
  form.set("prefill_chunk", prefill_chunk);
  form.set("bytes", activation.bytes(prefill_chunk));
  json::Value list = json::Value::array();
  for (const ContextMemory& context : contexts) {
    json::Value entry = json::Value::object();
    entry.set("tokens", context.tokens);
    entry.set("weight_bytes", context.plan.weight_bytes);
    entry.set("state_bytes", context.plan.state_bytes);
    entry.set("latent_bytes", context.plan.latent_bytes);
    entry.set("activation_bytes", context.plan.activation_bytes);
    entry.set("total_bytes", context.plan.total_bytes);
    entry.set("fits", context.plan.total_bytes <= context.plan.available_bytes);
    list.push(std::move(entry));
  }
  json::Value value = json::Value::object();
  value.set("latent_bytes_per_token", latent_bytes_per_token);
  value.set("state_bytes_per_sequence", state_bytes_per_sequence);
  value.set("packed_weight_bytes", weight_bytes);
  value.set("activation", std::move(form));
  value.set("contexts", std::move(list));
  return value;
}

}  // namespace trine
