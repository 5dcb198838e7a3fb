// Laying out all weights of a model in one arena (names of spec section 8, shapes of the config).
#include "model/weight_plan.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace trine::model {

using checkpoint::Checkpoint;
using checkpoint::Linear;
using checkpoint::ModelConfig;
using checkpoint::WeightCoding;

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kTapsMax = 64;  // a window must fit before one block of 64 rows (layers/kda.cc)

/// Hands out places in the arena and notes what belongs there.
class Planner {
 public:
  Planner(const ModelConfig& config, const Checkpoint* checkpoint, WeightSet* weights)
      : config_(config), checkpoint_(checkpoint), weights_(*weights), plan_(*weights->plan) {}

  Status run();

 private:
  int64_t place(int64_t bytes) {
    const int64_t offset = weights_.bytes;
    weights_.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  /// The module of the files, or, without files, what the release would store.
  Result<Linear> module(const std::string& name, int64_t out, int64_t in, bool expert) const;
  /// Which inputs a matrix takes where the int8 path was asked for.
  enum class Inputs { kInt8, kWide };
  Status matrix(const std::string& name, int64_t out, int64_t in, PackedLinear* target,
                Inputs inputs = Inputs::kInt8);
  Status sliced(const Linear& linear, const RowSlices& slices, bool transposed,
                PackedLinear* target, Inputs inputs);
  void vector(const std::string& name, int64_t count, const float** target,
              FloatItem::Kind kind = FloatItem::Kind::kPlain, int64_t taps = 1);
  void residual_mix(const std::string& name, const float** target);
  Status embedding();
  Status kda(const std::string& prefix, KdaWeights* w);
  Status mla(const std::string& prefix, MlaWeights* w);
  Status mlp(const std::string& prefix, int64_t in, int64_t width, MlpWeights* w);
  Status expert(const std::string& prefix, MlpWeights* w);
  Status moe(const std::string& prefix, MoeWeights* w);
  Status layer(int64_t index, LayerWeights* w);

  const ModelConfig& config_;
  const Checkpoint* checkpoint_;
  WeightSet& weights_;
  WeightSet::Plan& plan_;
};

Result<Linear> Planner::module(const std::string& name, int64_t out, int64_t in,
                               bool expert) const {
  if (checkpoint_ != nullptr && checkpoint_->has_weights()) return checkpoint_->linear(name);
  static const checkpoint::TensorInfo any_bf16{
      .name = {}, .dtype = DType::kBf16, .shape = {}, .file = 0, .offset = 0, .bytes = 0};
  Linear linear;
  linear.name = name;
  linear.out = out;
  linear.in = in;
  linear.codes = &any_bf16;
  const bool mxfp4 = expert && config_.layout == checkpoint::Layout::kK3;
  linear.coding = mxfp4 ? WeightCoding::kMxfp4 : WeightCoding::kPlain;
  linear.group_in = mxfp4 ? 32 : in;
  return linear;
}

Status Planner::sliced(const Linear& linear, const RowSlices& slices, bool transposed,
                       PackedLinear* target, Inputs inputs) {
  PackItem item;
  item.int8_group = inputs == Inputs::kInt8 ? weights_.int8.group : 0;
  item.linear = linear;
  item.slices = slices;
  item.transposed = transposed;
  item.target = target;
  plan_packing(&item);
  item.code_offset = place(target->code_bytes());
  item.scale_offset = place(target->scale_bytes() + target->offset_bytes());
  weights_.needs_f32_rows = weights_.needs_f32_rows || !format_allows_bf16(target->view.format);
  const Matrix& view = target->view;
  if (item.int8_group > 0 && !view.int8_inputs) weights_.int8.whole = false;
  if (view.int8_inputs && view.format == kernels::WeightFormat::kE2m1)
    weights_.int8.fp4_k = std::max(weights_.int8.fp4_k, view.k_padded);
  plan_.matrices.push_back(std::move(item));
  return {};
}

Status Planner::matrix(const std::string& name, int64_t out, int64_t in, PackedLinear* target,
                       Inputs inputs) {
  TRINE_ASSIGN_OR_RETURN(const Linear linear, module(name, out, in, false));
  return sliced(linear, {.parts = 1, .rows = out, .begin = 0, .stride = out}, false, target,
                inputs);
}

void Planner::vector(const std::string& name, int64_t count, const float** target,
                     FloatItem::Kind kind, int64_t taps) {
  FloatItem item;
  item.kind = kind;
  item.name = name;
  item.count = count;
  item.taps = taps;
  item.offset = place(count * 4);
  item.target = target;
  plan_.vectors.push_back(std::move(item));
}

/// AttnRes scores use norm weight * proj weight only (spec section 4).
void Planner::residual_mix(const std::string& name, const float** target) {
  vector(name + "_norm.weight", config_.hidden_size, target, FloatItem::Kind::kProduct);
  plan_.vectors.back().second = name + "_proj.weight";
}

Status Planner::embedding() {
  const std::string name = config_.tensor_prefix() + "model.embed_tokens";
  TRINE_ASSIGN_OR_RETURN(plan_.embedding,
                         module(name, config_.vocab_size, config_.hidden_size, false));
  EmbeddingTable& table = weights_.embed_tokens;
  const DType dtype = plan_.embedding.codes->dtype;
  const bool known = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16 ||
                     dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
  plan_.embedding_by_value = plan_.embedding.coding != WeightCoding::kPlain || !known;
  table.dtype = plan_.embedding_by_value ? DType::kF32 : dtype;
  table.row_bytes = config_.hidden_size * dtype_bytes(table.dtype);
  plan_.embedding_offset = place(config_.vocab_size * table.row_bytes);
  return {};
}

Status Planner::kda(const std::string& prefix, KdaWeights* w) {
  const int64_t d = config_.hidden_size;
  const int64_t heads = config_.kda_num_heads;
  const int64_t head_dim = config_.kda_head_dim;
  const int64_t width = heads * head_dim;
  const int64_t taps = config_.short_conv_kernel_size;
  if (taps > kTapsMax) {
    return {Code::kUnsupported, "short_conv_kernel_size is " + std::to_string(taps) + ", at most " +
                                    std::to_string(kTapsMax) + " taps are supported"};
  }
  const RowSlices per_head{.parts = heads, .rows = head_dim, .begin = 0, .stride = head_dim};
  const auto head_matrix = [&](const std::string& name, PackedLinear* target) -> Status {
    TRINE_ASSIGN_OR_RETURN(const Linear linear, module(prefix + name, width, head_dim, false));
    return sliced(linear, per_head, false, target, Inputs::kWide);
  };
  TRINE_RETURN_IF_ERROR(matrix(prefix + "q_proj", width, d, &w->q_proj));
  TRINE_RETURN_IF_ERROR(matrix(prefix + "k_proj", width, d, &w->k_proj));
  TRINE_RETURN_IF_ERROR(matrix(prefix + "v_proj", width, d, &w->v_proj));
  TRINE_RETURN_IF_ERROR(matrix(prefix + "f_a_proj", head_dim, d, &w->f_a_proj, Inputs::kWide));
  TRINE_RETURN_IF_ERROR(head_matrix("f_b_proj", &w->f_b_proj));
  TRINE_RETURN_IF_ERROR(matrix(prefix + "b_proj", heads, d, &w->b_proj, Inputs::kWide));
  if (config_.use_full_rank_gate) {
    TRINE_RETURN_IF_ERROR(matrix(prefix + "g_proj", width, d, &w->g_proj));
  } else {
    TRINE_RETURN_IF_ERROR(matrix(prefix + "g_a_proj", head_dim, d, &w->g_a_proj, Inputs::kWide));
    TRINE_RETURN_IF_ERROR(head_matrix("g_b_proj", &w->g_b_proj));
  }
  TRINE_RETURN_IF_ERROR(matrix(prefix + "o_proj", d, width, &w->o_proj));
  vector(prefix + "q_conv1d.weight", width * taps, &w->q_conv1d, FloatItem::Kind::kTaps, taps);
  vector(prefix + "k_conv1d.weight", width * taps, &w->k_conv1d, FloatItem::Kind::kTaps, taps);
  vector(prefix + "v_conv1d.weight", width * taps, &w->v_conv1d, FloatItem::Kind::kTaps, taps);
  vector(prefix + "A_log", heads, &w->a, FloatItem::Kind::kExp);
  vector(prefix + "dt_bias", width, &w->dt_bias);
  vector(prefix + "o_norm.weight", head_dim, &w->o_norm);
  return {};
}

Status Planner::mla(const std::string& prefix, MlaWeights* w) {
  const int64_t d = config_.hidden_size;
  const int64_t heads = config_.num_attention_heads;
  const int64_t nope = config_.qk_nope_head_dim;
  const int64_t value = config_.v_head_dim;
  const int64_t query = nope + config_.qk_rope_head_dim;
  const int64_t rank = config_.kv_lora_rank;
  if (config_.q_lora_rank) {
    TRINE_RETURN_IF_ERROR(matrix(prefix + "q_a_proj", *config_.q_lora_rank, d, &w->q_a_proj));
    vector(prefix + "q_a_layernorm.weight", *config_.q_lora_rank, &w->q_a_layernorm);
    TRINE_ASSIGN_OR_RETURN(const Linear q_b,
                           module(prefix + "q_b_proj", heads * query, *config_.q_lora_rank, false));
    const RowSlices per_head{.parts = heads, .rows = query, .begin = 0, .stride = query};
    TRINE_RETURN_IF_ERROR(sliced(q_b, per_head, false, &w->q_b_proj, Inputs::kInt8));
  } else {
    TRINE_RETURN_IF_ERROR(matrix(prefix + "q_proj", heads * query, d, &w->q_proj));
  }
  TRINE_RETURN_IF_ERROR(matrix(prefix + "kv_a_proj_with_mqa", rank + config_.qk_rope_head_dim, d,
                               &w->kv_a_proj_with_mqa));
  vector(prefix + "kv_a_layernorm.weight", rank, &w->kv_a_layernorm);
  TRINE_ASSIGN_OR_RETURN(const Linear kv_b,
                         module(prefix + "kv_b_proj", heads * (nope + value), rank, false));
  const RowSlices keys{.parts = heads, .rows = nope, .begin = 0, .stride = nope + value};
  const RowSlices values{.parts = heads, .rows = value, .begin = nope, .stride = nope + value};
  TRINE_RETURN_IF_ERROR(sliced(kv_b, keys, true, &w->k_absorbed, Inputs::kWide));
  TRINE_RETURN_IF_ERROR(sliced(kv_b, values, false, &w->v_up, Inputs::kWide));
  if (config_.mla_use_output_gate) {
    TRINE_RETURN_IF_ERROR(matrix(prefix + "g_proj", heads * value, d, &w->g_proj));
  }
  return matrix(prefix + "o_proj", d, heads * value, &w->o_proj);
}

Status Planner::mlp(const std::string& prefix, int64_t in, int64_t width, MlpWeights* w) {
  TRINE_RETURN_IF_ERROR(matrix(prefix + "gate_proj", width, in, &w->gate_proj));
  TRINE_RETURN_IF_ERROR(matrix(prefix + "up_proj", width, in, &w->up_proj));
  return matrix(prefix + "down_proj", in, width, &w->down_proj);
}

Status Planner::expert(const std::string& prefix, MlpWeights* w) {
  const int64_t in = config_.expert_width();
  const int64_t width = config_.moe_intermediate_size;
  const auto add = [&](const char* name, int64_t out, int64_t inputs,
                       PackedLinear* target) -> Status {
    TRINE_ASSIGN_OR_RETURN(const Linear linear, module(prefix + name, out, inputs, true));
    return sliced(linear, {.parts = 1, .rows = out, .begin = 0, .stride = out}, false, target,
                  Inputs::kInt8);
  };
  TRINE_RETURN_IF_ERROR(add("w1", width, in, &w->gate_proj));
  TRINE_RETURN_IF_ERROR(add("w3", width, in, &w->up_proj));
  return add("w2", in, width, &w->down_proj);
}

Status Planner::moe(const std::string& prefix, MoeWeights* w) {
  const int64_t d = config_.hidden_size;
  const int64_t latent = config_.expert_width();
  const bool wide_rows = weights_.needs_f32_rows;
  TRINE_ASSIGN_OR_RETURN(const Linear gate, module(prefix + "gate", config_.num_experts, d, false));
  const RowSlices rows{
      .parts = 1, .rows = config_.num_experts, .begin = 0, .stride = config_.num_experts};
  TRINE_RETURN_IF_ERROR(sliced(gate, rows, false, &w->gate, Inputs::kWide));
  weights_.needs_f32_rows =
      wide_rows;  // the router takes fp32 rows whatever its type, and they exist
  w->router_reads_latent = gate.in != d;
  vector(prefix + "gate.e_score_correction_bias", config_.num_experts, &w->e_score_correction_bias);
  if (config_.routed_expert_hidden_size) {
    TRINE_RETURN_IF_ERROR(
        matrix(prefix + "routed_expert_down_proj", latent, d, &w->routed_expert_down_proj));
    if (config_.latent_moe_use_norm)
      vector(prefix + "routed_expert_norm.weight", latent, &w->routed_expert_norm);
    TRINE_RETURN_IF_ERROR(
        matrix(prefix + "routed_expert_up_proj", d, latent, &w->routed_expert_up_proj));
  }
  if (config_.num_shared_experts > 0) {
    const int64_t width = config_.num_shared_experts * config_.moe_intermediate_size;
    TRINE_RETURN_IF_ERROR(mlp(prefix + "shared_experts.", d, width, &w->shared_experts));
  }
  w->experts.resize(static_cast<size_t>(config_.num_experts));
  for (size_t e = 0; e < w->experts.size(); ++e) {
    TRINE_RETURN_IF_ERROR(expert(prefix + "experts." + std::to_string(e) + ".", &w->experts[e]));
  }
  return {};
}

Status Planner::layer(int64_t index, LayerWeights* w) {
  const std::string prefix =
      config_.tensor_prefix() + "model.layers." + std::to_string(index) + ".";
  vector(prefix + "input_layernorm.weight", config_.hidden_size, &w->input_layernorm);
  vector(prefix + "post_attention_layernorm.weight", config_.hidden_size,
         &w->post_attention_layernorm);
  if (config_.attn_res_block_size) {
    residual_mix(prefix + "self_attention_res", &w->self_attention_res);
    residual_mix(prefix + "mlp_res", &w->mlp_res);
  }
  if (config_.is_kda[static_cast<size_t>(index)]) {
    TRINE_RETURN_IF_ERROR(kda(prefix + "self_attn.", &w->attention.emplace<KdaWeights>()));
  } else {
    TRINE_RETURN_IF_ERROR(mla(prefix + "self_attn.", &w->attention.emplace<MlaWeights>()));
  }
  if (config_.is_moe(index))
    return moe(prefix + "block_sparse_moe.", &w->ffn.emplace<MoeWeights>());
  return mlp(prefix + "mlp.", config_.hidden_size, config_.intermediate_size,
             &w->ffn.emplace<MlpWeights>());
}

Status Planner::run() {
  const std::string& prefix = config_.tensor_prefix();
  TRINE_RETURN_IF_ERROR(embedding());
  weights_.layers.resize(static_cast<size_t>(config_.num_hidden_layers));
  for (size_t l = 0; l < weights_.layers.size(); ++l) {
    TRINE_RETURN_IF_ERROR(layer(static_cast<int64_t>(l), &weights_.layers[l]));
  }
  if (config_.attn_res_block_size)
    residual_mix(prefix + "model.output_attn_res", &weights_.output_attn_res);
  vector(prefix + "model.norm.weight", config_.hidden_size, &weights_.norm);
  return matrix(prefix + "lm_head", config_.vocab_size, config_.hidden_size, &weights_.lm_head);
}

}  // namespace

Result<std::unique_ptr<WeightSet>> plan_weights(const ModelConfig& config,
                                                const Checkpoint* checkpoint, bool int8) {
  auto weights = std::make_unique<WeightSet>();
  weights->int8.group = int8 ? kInt8Group : 0;
  weights->plan = std::make_shared<WeightSet::Plan>();
  TRINE_RETURN_IF_ERROR(Planner(config, checkpoint, weights.get()).run());
  return weights;
}

}  // namespace trine::model
