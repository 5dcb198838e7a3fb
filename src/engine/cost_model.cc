// Bytes and operations of a pass, by kind. A weight is read once per pass however many rows it
// serves; experts only if some row picked them.
#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "model/sequence_state.h"

namespace trine::engine {

using checkpoint::ModelConfig;
using model::KdaWeights;
using model::MlaWeights;
using model::MlpWeights;
using model::MoeWeights;
using model::PackedLinear;
using model::WeightSet;

namespace {

constexpr double kFloatBytes = 4;

/// Collects costs by kind and unit.
class Tally {
 public:
  Tally(const ModelConfig& config, const PassShape& shape, bool bf16_inputs)
      : config_(config),
        shape_(shape),
        bf16_inputs_(bf16_inputs),
        rows_(static_cast<double>(shape.sequences * shape.rows)) {}

  void add(const std::string& kind, Unit unit, double bytes, double operations) {
    for (Cost& cost : pass_.costs) {
      if (cost.kind != kind || cost.unit != unit) continue;
      cost.bytes += bytes;
      cost.operations += operations;
      return;
    }
    pass_.costs.push_back({kind, unit, bytes, operations});
  }

  /// A matrix read `times` (of a number of equal ones), multiplied with `rows` rows in all.
  void product(const std::string& kind, const PackedLinear& w, double rows, double times = 1,
               bool fp32 = false) {
    if (w.empty() || rows == 0) return;
    const bool bf16 = bf16_inputs_ && !fp32 && model::format_allows_bf16(w.view.format);
    const bool int8 = w.view.int8_inputs && !fp32;
    const double outputs = static_cast<double>(w.parts * w.part_rows);
    add(kind,
        int8   ? Unit::kInt8
        : bf16 ? Unit::kBf16
               : Unit::kF32,
        times * static_cast<double>(w.bytes()), 2 * rows * outputs * static_cast<double>(w.view.k));
  }

  void kda(const KdaWeights& w);
  void mla(const MlaWeights& w);
  void mlp(const MlpWeights& w, const std::string& kind, double rows, double times = 1);
  void moe(const MoeWeights& w);

  const ModelConfig& config_;
  const PassShape& shape_;
  const bool bf16_inputs_;
  const double rows_;
  PassCost pass_;
};

void Tally::kda(const KdaWeights& w) {
  for (const PackedLinear* m : {&w.q_proj, &w.k_proj, &w.v_proj, &w.f_a_proj, &w.f_b_proj,
                                &w.b_proj, &w.g_proj, &w.g_a_proj, &w.g_b_proj, &w.o_proj}) {
    product("trunk linears", *m, rows_);
  }
  // A chunk of 16 tokens reads and writes the state once; in decode every token reads it, and the
  // open rows (8 of k and of u on average).
  const auto dim = static_cast<double>(config_.kda_head_dim);
  const double heads = static_cast<double>(config_.kda_num_heads * shape_.sequences);
  const double chunk = static_cast<double>(kernels::kKdaChunk);
  const double new_rows = static_cast<double>(shape_.rows);
  const double reads = std::ceil(new_rows / chunk);
  const double writes = new_rows / chunk;
  const double open = chunk / 2 * 2 * dim;
  const double bytes = heads * kFloatBytes * ((reads + writes) * dim * dim + reads * open);
  // k^T S, q^T S, and k u^T into the state per token; products with the open rows.
  const double operations = heads * new_rows * (3 * 2 * dim * dim + 4 * chunk / 2 * 2 * dim);
  add("kda state", Unit::kF32, bytes, operations);
}

void Tally::mla(const MlaWeights& w) {
  for (const PackedLinear* m :
       {&w.q_proj, &w.q_a_proj, &w.q_b_proj, &w.kv_a_proj_with_mqa, &w.g_proj, &w.o_proj}) {
    product("trunk linears", *m, rows_);
  }
  product("trunk linears", w.k_absorbed, rows_);
  product("trunk linears", w.v_up, rows_);
  const bool latents_bf16 = bf16_inputs_;
  const double row_bytes = static_cast<double>(model::SequenceState::latent_stride(config_)) *
                           (latents_bf16 ? 2 : kFloatBytes);
  const auto sequences = static_cast<double>(shape_.sequences);
  const auto new_rows = static_cast<double>(shape_.rows);
  const auto depth = static_cast<double>(shape_.depth);
  const double seen =
      new_rows * (depth + (new_rows + 1) / 2);  // (query, latent row) pairs of a sequence
  const double width = static_cast<double>(2 * config_.kv_lora_rank + config_.qk_rope_head_dim);
  const double bytes = sequences * (depth + new_rows) * row_bytes;
  add("mla latents", latents_bf16 ? Unit::kBf16 : Unit::kF32, bytes,
      2 * sequences * seen * static_cast<double>(config_.num_attention_heads) * width);
}

void Tally::mlp(const MlpWeights& w, const std::string& kind, double rows, double times) {
  for (const PackedLinear* m : {&w.gate_proj, &w.up_proj, &w.down_proj})
    product(kind, *m, rows, times);
}

void Tally::moe(const MoeWeights& w) {
  product("router", w.gate, rows_, 1, /*fp32=*/true);
  product("trunk linears", w.routed_expert_down_proj, rows_);
  product("trunk linears", w.routed_expert_up_proj, rows_);
  mlp(w.shared_experts, "trunk linears", rows_);
  const int64_t experts = config_.num_experts;
  const int64_t picked = config_.num_experts_per_token;
  const double distinct = expected_experts(experts, picked, shape_.sequences * shape_.rows);
  const double pairs = rows_ * static_cast<double>(picked);
  for (const MlpWeights& expert : w.experts) {
    mlp(expert, "experts", pairs / static_cast<double>(experts),
        distinct / static_cast<double>(experts));
  }
}

}  // namespace

double PassCost::bytes() const {
  double total = 0;
  for (const Cost& cost : costs) total += cost.bytes;
  return total;
}

double PassCost::operations() const {
  double total = 0;
  for (const Cost& cost : costs) total += cost.operations;
  return total;
}

double expected_experts(int64_t experts, int64_t picked, int64_t rows) {
  if (experts == 0) return 0;
  const double missed = 1.0 - static_cast<double>(picked) / static_cast<double>(experts);
  return static_cast<double>(experts) * (1.0 - std::pow(missed, static_cast<double>(rows)));
}

PassCost pass_cost(const ModelConfig& config, const WeightSet& weights, const PassShape& shape,
                   bool bf16_inputs) {
  Tally tally(config, shape, bf16_inputs);
  for (const model::LayerWeights& layer : weights.layers) {
    if (const auto* kda = std::get_if<KdaWeights>(&layer.attention)) tally.kda(*kda);
    if (const auto* mla = std::get_if<MlaWeights>(&layer.attention)) tally.mla(*mla);
    if (const auto* mlp = std::get_if<MlpWeights>(&layer.ffn))
      tally.mlp(*mlp, "trunk linears", tally.rows_);
    if (const auto* moe = std::get_if<MoeWeights>(&layer.ffn)) tally.moe(*moe);
  }
  tally.product("lm_head", weights.lm_head, static_cast<double>(shape.logit_rows));
  tally.add("embedding", Unit::kF32,
            tally.rows_ * static_cast<double>(weights.embed_tokens.row_bytes), 0);
  return std::move(tally.pass_);
}

PassCost prefill_cost(const ModelConfig& config, const WeightSet& weights, int64_t tokens,
                      int64_t depth, int64_t chunk, bool bf16_inputs) {
  PassCost total;
  for (int64_t done = 0; done < tokens; done += chunk) {
    const int64_t rows = std::min(chunk, tokens - done);
    const PassShape shape{
        .sequences = 1, .rows = rows, .depth = depth + done, .logit_rows = done + rows == tokens};
    const PassCost pass = pass_cost(config, weights, shape, bf16_inputs);
    for (const Cost& cost : pass.costs) {
      const auto same = [&](const Cost& c) { return c.kind == cost.kind && c.unit == cost.unit; };
      const auto it = std::find_if(total.costs.begin(), total.costs.end(), same);
      if (it == total.costs.end()) {
        total.costs.push_back(cost);
      } else {
        it->bytes += cost.bytes;
        it->operations += cost.operations;
      }
    }
  }
  return total;
}

}  // namespace trine::engine
