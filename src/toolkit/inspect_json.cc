// An inspection as one JSON object (docs/guide/inspect.md).
#include <utility>

#include "checkpoint/obstacle.h"
#include "toolkit/inspect_report.h"

namespace trine {
namespace {

using checkpoint::ModelConfig;

json::Value optional_count(const std::optional<int64_t>& value) {
  return value ? json::Value(*value) : json::Value();
}

json::Value attention_json(const ModelConfig& c) {
  json::Value value = json::Value::object();
  value.set("description", describe_attention(c));
  value.set("kda_layers", c.kda_layer_count());
  value.set("kda_num_heads", c.kda_num_heads);
  value.set("kda_head_dim", c.kda_head_dim);
  value.set("short_conv_kernel_size", c.short_conv_kernel_size);
  value.set("gate_lower_bound", c.gate_lower_bound
                                    ? json::Value(static_cast<double>(*c.gate_lower_bound))
                                    : json::Value());
  value.set("use_full_rank_gate", c.use_full_rank_gate);
  value.set("mla_layers", c.mla_layer_count());
  value.set("num_attention_heads", c.num_attention_heads);
  value.set("q_lora_rank", optional_count(c.q_lora_rank));
  value.set("kv_lora_rank", c.kv_lora_rank);
  value.set("qk_nope_head_dim", c.qk_nope_head_dim);
  value.set("qk_rope_head_dim", c.qk_rope_head_dim);
  value.set("v_head_dim", c.v_head_dim);
  value.set("mla_use_output_gate", c.mla_use_output_gate);
  return value;
}

json::Value ffn_json(const ModelConfig& c) {
  json::Value value = json::Value::object();
  value.set("description", describe_ffn(c));
  value.set("dense_layers", c.num_hidden_layers - c.moe_layer_count());
  value.set("intermediate_size", c.intermediate_size);
  value.set("moe_layers", c.moe_layer_count());
  value.set("num_experts", c.num_experts);
  value.set("num_experts_per_token", c.num_experts_per_token);
  value.set("num_shared_experts", c.num_shared_experts);
  value.set("moe_intermediate_size", c.moe_intermediate_size);
  value.set("routed_expert_hidden_size", optional_count(c.routed_expert_hidden_size));
  value.set("latent_moe_use_norm", c.latent_moe_use_norm);
  const bool softmax = c.router_activation == checkpoint::RouterActivation::kSoftmax;
  value.set("moe_router_activation_func", softmax ? "softmax" : "sigmoid");
  value.set("hidden_act", c.hidden_act == checkpoint::Activation::kSitu ? "situ" : "silu");
  return value;
}

json::Value model_json(const ModelConfig& c) {
  json::Value residual = json::Value::object();
  residual.set("description", describe_residual(c));
  residual.set("attn_res_block_size", optional_count(c.attn_res_block_size));
  json::Value value = json::Value::object();
  value.set("layout", c.layout == checkpoint::Layout::kK3 ? "k3" : "kimi-linear");
  value.set("hidden_size", c.hidden_size);
  value.set("num_hidden_layers", c.num_hidden_layers);
  value.set("vocab_size", c.vocab_size);
  value.set("max_position_embeddings", c.max_position_embeddings);
  value.set("attention", attention_json(c));
  value.set("residual", std::move(residual));
  value.set("ffn", ffn_json(c));
  value.set("vision", c.has_vision);
  return value;
}

json::Value checksums_json(const std::vector<FileChecksum>& files) {
  json::Value list = json::Value::array();
  for (const FileChecksum& file : files) {
    json::Value entry = json::Value::object();
    entry.set("file", file.name);
    entry.set("bytes", file.bytes);
    entry.set("sha256", file.sha256);
    entry.set("cache_name", file.expected.empty() ? json::Value() : json::Value(file.expected));
    entry.set("matches", file.expected.empty() ? json::Value() : json::Value(file.matches()));
    list.push(std::move(entry));
  }
  return list;
}

}  // namespace

bool Inspection::has_errors() const {
  return checkpoint::has_errors(findings) || (support && support->any_failed());
}

bool Inspection::only_environment() const {
  return checkpoint::only_environment(findings) && !(support && support->any_failed());
}

json::Value inspection_json(const Inspection& inspection) {
  json::Value files = json::Value::object();
  files.set("shards", inspection.file_count);
  files.set("tensors", inspection.tensor_count);
  files.set("bytes", inspection.file_bytes);
  json::Value findings = json::Value::array();
  for (const checkpoint::Finding& finding : inspection.findings) findings.push(finding.to_json());
  json::Value not_checked = json::Value::array();
  for (const std::string& line : inspection.not_checked) not_checked.push(line);
  const bool usable = inspection.usable_config;
  json::Value root = json::Value::object();
  root.set("folder", inspection.folder);
  root.set("whole", inspection.has_weights && !checkpoint::has_errors(inspection.findings));
  root.set("downloaded", inspection.has_weights);
  root.set("scales_scanned", inspection.scales_scanned);
  root.set("model", usable ? model_json(inspection.config) : json::Value());
  root.set("files", std::move(files));
  root.set("parameters", usable ? inspection.parameters.to_json() : json::Value());
  root.set("int8_inputs", inspection.int8_inputs);
  root.set("memory", inspection.memory ? inspection.memory->to_json() : json::Value());
  root.set("support", inspection.support ? inspection.support->to_json() : json::Value());
  root.set("machine", to_json(inspection.machine));
  root.set("findings", std::move(findings));
  root.set("not_checked", std::move(not_checked));
  root.set("checksums",
           inspection.checksums ? checksums_json(*inspection.checksums) : json::Value());
  return root;
}

}  // namespace trine
