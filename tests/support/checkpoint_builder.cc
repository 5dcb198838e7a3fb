// Random weights for the parameters that a config implies, written as a release would.
#include "support/checkpoint_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace trine::testing {

using checkpoint::ExpectedTensor;
using checkpoint::Role;
using checkpoint::WeightCoding;

namespace {

size_t size_of(int64_t n) { return static_cast<size_t>(n); }

json::Value parse_or_fail(const std::string& text) {
  Result<json::Value> value = json::parse(text, "test");
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *value : json::Value();
}

}  // namespace

json::Value small_k3_config() {
  return parse_or_fail(
      R"({"architectures":["KimiK3ForConditionalGeneration"],"model_type":"kimi_k3",
    "bos_token_id":384,"eos_token_id":386,"pad_token_id":639,"tie_word_embeddings":false,
    "text_config":{"model_type":"kimi_linear","hidden_size":96,"num_hidden_layers":4,
    "vocab_size":640,"rms_norm_eps":1e-05,"linear_attn_config":{"full_attn_layers":[3],
    "kda_layers":[1,2,4],"num_heads":3,"head_dim":16,"short_conv_kernel_size":4,
    "use_full_rank_gate":true,"gate_lower_bound":-5.0},
    "num_attention_heads":2,"num_key_value_heads":2,"q_lora_rank":24,"kv_lora_rank":32,
    "qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,"mla_use_nope":true,
    "mla_use_output_gate":true,"first_k_dense_replace":1,"moe_layer_freq":1,"intermediate_size":160,
    "num_experts":6,"num_experts_per_token":2,"num_shared_experts":2,"moe_intermediate_size":96,
    "routed_expert_hidden_size":64,"latent_moe_use_norm":true,
    "moe_router_activation_func":"sigmoid","moe_renormalize":true,"routed_scaling_factor":1.0,
    "num_expert_group":1,"topk_group":1,
    "hidden_act":"situ","activation_situ_beta":4.0,"activation_situ_linear_beta":25.0,
    "attn_res_block_size":2,"max_position_embeddings":1048576,"num_nextn_predict_layers":0}})");
}

json::Value small_linear_config() {
  return parse_or_fail(R"({"architectures":["KimiLinearForCausalLM"],"model_type":"kimi_linear",
    "bos_token_id":384,"eos_token_id":386,"pad_token_id":639,"tie_word_embeddings":false,
    "hidden_size":96,"num_hidden_layers":3,"vocab_size":640,"rms_norm_eps":1e-05,
    "linear_attn_config":{"full_attn_layers":[3],"kda_layers":[1,2],"num_heads":2,"head_dim":32,
    "short_conv_kernel_size":4},"num_attention_heads":3,"num_key_value_heads":3,"q_lora_rank":null,
    "kv_lora_rank":32,"qk_nope_head_dim":16,"qk_rope_head_dim":8,"v_head_dim":16,
    "mla_use_nope":true,"first_k_dense_replace":1,"moe_layer_freq":1,"intermediate_size":160,
    "num_experts":6,"num_experts_per_token":2,"num_shared_experts":1,"moe_intermediate_size":64,
    "moe_router_activation_func":"sigmoid","moe_renormalize":true,"routed_scaling_factor":2.446,
    "num_expert_group":1,"topk_group":1,"hidden_act":"silu","model_max_length":1048576})");
}

CheckpointBuilder::CheckpointBuilder(json::Value config, uint64_t seed)
    : config_(std::move(config)), random_(seed) {}

CheckpointBuilder& CheckpointBuilder::choose(Choice choice) {
  choice_ = std::move(choice);
  return *this;
}

json::Value& CheckpointBuilder::text_config() {
  for (auto& [key, value] : config_.as_object())
    if (key == "text_config") return value;
  return config_;
}

checkpoint::ModelConfig CheckpointBuilder::parsed_config() const {
  checkpoint::Findings findings;
  checkpoint::ModelConfig parsed =
      checkpoint::parse_config(config_, nullptr, "config.json", &findings);
  EXPECT_FALSE(has_errors(findings)) << summarise(findings, checkpoint::Severity::kError, 9);
  return parsed;
}

namespace {

/// Mean and deviation of tensors that are no linear weights.
std::pair<float, float> distribution(const ExpectedTensor& t) {
  switch (t.role) {
    case Role::kNorm: return {1.0f, 0.1f};
    case Role::kConv: return {0.0f, 0.6f};
    case Role::kALog: return {0.3f, 0.4f};
    case Role::kDtBias: return {-1.5f, 1.0f};
    case Role::kRouterBias: return {0.0f, 0.12f};
    case Role::kResProj: return {0.0f, 1.2f / std::sqrt(static_cast<float>(t.elements()))};
    default: return {0.0f, 0.05f};
  }
}

}  // namespace

void CheckpointBuilder::add_module(const std::string& module, int64_t out, int64_t in,
                                   const ModuleCoding& coding) {
  values_[module] = write_module(module, out, in, coding, &random_, &tensors_);
  if (coding.coding != WeightCoding::kPlain)
    modules_of_format_[json::dump(scheme_of(coding))].push_back(module);
}

CheckpointBuilder& CheckpointBuilder::build() {
  const checkpoint::ModelConfig parsed = parsed_config();
  checkpoint::for_each_expected(parsed, [&](const ExpectedTensor& t) {
    constexpr size_t kWeightLength = 7;
    if (t.quantisable()) {
      const std::string module = t.name.substr(0, t.name.size() - kWeightLength);
      return add_module(module, t.shape[0], t.shape[1], choice_ ? choice_(t) : bf16());
    }
    const auto [mean, deviation] = distribution(t);
    std::vector<float> values(size_of(t.elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      const bool padding = t.role == Role::kALog && static_cast<int64_t>(i) >= parsed.kda_num_heads;
      values[i] = padding ? 0.0f : stored(t.default_dtype, mean + deviation * random_.normal());
    }
    tensors_[t.name] = float_tensor(t.default_dtype, t.shape, values);
    values_[t.name] = std::move(values);
  });
  describe_codings();
  return *this;
}

// One config group per scheme, with the exact names of its modules as targets.
void CheckpointBuilder::describe_codings() {
  if (modules_of_format_.empty()) return;
  json::Value groups = json::Value::object();
  for (const auto& [scheme, modules] : modules_of_format_) {
    json::Value group = parse_or_fail(scheme);
    json::Value targets = json::Value::array();
    for (const std::string& module : modules) targets.push(module);
    group.set("targets", std::move(targets));
    groups.set("group_" + std::to_string(groups.as_object().size()), std::move(group));
  }
  json::Value quantization = json::Value::object();
  quantization.set("quant_method", "compressed-tensors");
  quantization.set("format", modules_of_format_.size() > 1
                                 ? json::Value("mixed-precision")
                                 : *groups.as_object()[0].second.find("format"));
  quantization.set("config_groups", std::move(groups));
  quantization.set("ignore", json::Value::array());
  text_config().set("quantization_config", std::move(quantization));
}

void CheckpointBuilder::write(const std::string& folder, int shards) const {
  std::filesystem::create_directories(folder);
  const auto save = [&folder](const std::string& name, const std::string& content) {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  };
  save("config.json", json::dump_pretty(config_));
  save("generation_config.json", R"({"eos_token_id": 386})");
  if (shards == 1) return save("model.safetensors", safetensors_file(tensors_));
  json::Value map = json::Value::object();
  int64_t total = 0;
  const size_t per_shard =
      (tensors_.size() + static_cast<size_t>(shards) - 1) / static_cast<size_t>(shards);
  auto at = tensors_.begin();
  for (int shard = 1; shard <= shards; ++shard) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05d-of-%06d.safetensors", shard, shards);
    RawTensors part;
    for (; at != tensors_.end() && part.size() < per_shard; ++at) {
      part.insert(*at);
      map.as_object().emplace_back(at->first, json::Value(name));
      total += static_cast<int64_t>(at->second.bytes.size());
    }
    save(name, safetensors_file(part));
  }
  json::Value metadata = json::Value::object();
  metadata.set("total_size", total);
  json::Value index = json::Value::object();
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(map));
  save("model.safetensors.index.json", json::dump(index));
}

}  // namespace trine::testing
