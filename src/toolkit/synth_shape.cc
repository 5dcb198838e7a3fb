// Presets of `synth` and their overrides, as config.json of either layout (spec section 1).
#include "toolkit/synth_shape.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/try.h"

namespace trine {
namespace {

// The smallest K3: every mechanism of the release at toy sizes.
constexpr std::string_view kTinyK3 = R"({
 "activation_situ_beta": 4.0, "activation_situ_linear_beta": 25.0,
 "architectures": ["KimiLinearForCausalLM"], "attn_res_block_size": 2, "dtype": "bfloat16",
 "first_k_dense_replace": 1, "hidden_act": "situ", "hidden_size": 64, "initializer_range": 0.02,
 "intermediate_size": 96, "kv_lora_rank": 32, "latent_moe_use_norm": true,
 "linear_attn_config": {"full_attn_layers": null, "gate_lower_bound": -5.0, "head_dim": 16,
  "kda_layers": null, "num_heads": 4, "short_conv_kernel_size": 4, "use_full_rank_gate": true},
 "max_position_embeddings": 1048576, "mla_use_nope": true, "mla_use_output_gate": true,
 "model_type": "kimi_linear", "moe_intermediate_size": 32, "moe_layer_freq": 1,
 "moe_renormalize": true, "moe_router_activation_func": "sigmoid", "num_attention_heads": 4,
 "num_expert_group": 1, "num_experts": 8, "num_experts_per_token": 2, "num_hidden_layers": 5,
 "num_key_value_heads": 4, "num_nextn_predict_layers": 0, "num_shared_experts": 2,
 "q_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "rms_norm_eps": 1e-05,
 "routed_expert_hidden_size": 32, "routed_scaling_factor": 1.0, "tie_word_embeddings": false,
 "topk_group": 1, "topk_method": "noaux_tc", "use_cache": true, "v_head_dim": 16,
 "vocab_size": 1024})";

// The smallest Kimi-Linear.
constexpr std::string_view kTinyLinear = R"({
 "architectures": ["KimiLinearForCausalLM"], "dtype": "bfloat16", "first_k_dense_replace": 1,
 "hidden_act": "silu", "hidden_size": 64, "initializer_range": 0.02, "intermediate_size": 96,
 "kv_lora_rank": 32,
 "linear_attn_config": {"full_attn_layers": null, "head_dim": 16, "kda_layers": null,
  "num_heads": 4, "short_conv_kernel_size": 4},
 "mla_use_nope": true, "model_max_length": 1048576, "model_type": "kimi_linear",
 "moe_intermediate_size": 32, "moe_layer_freq": 1, "moe_renormalize": true,
 "moe_router_activation_func": "sigmoid", "num_attention_heads": 4, "num_expert_group": 1,
 "num_experts": 8, "num_experts_per_token": 2, "num_hidden_layers": 5, "num_key_value_heads": 4,
 "num_nextn_predict_layers": 0, "num_shared_experts": 1, "q_lora_rank": null,
 "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "rms_norm_eps": 1e-05,
 "routed_scaling_factor": 2.446, "tie_word_embeddings": false, "topk_group": 1, "use_cache": true,
 "v_head_dim": 16, "vocab_size": 1024})";

constexpr std::string_view kBench4g = R"({
 "vocab_size": 32768, "hidden_size": 2048, "num_hidden_layers": 13, "num_attention_heads": 16,
 "kda_num_heads": 16, "kda_head_dim": 128, "intermediate_size": 6144, "num_experts": 128,
 "num_experts_per_token": 8, "moe_intermediate_size": 896, "routed_expert_hidden_size": 1024,
 "q_lora_rank": 512, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
 "v_head_dim": 128, "attn_res_block_size": 4})";

// bench4g, deeper: 6.8 B parameters, 1.07 B active per token, 4.7 GB.
constexpr std::string_view kMini = R"({
 "vocab_size": 32768, "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
 "kda_num_heads": 16, "kda_head_dim": 128, "intermediate_size": 8192, "num_experts": 128,
 "num_experts_per_token": 8, "moe_intermediate_size": 1024, "routed_expert_hidden_size": 1024,
 "q_lora_rank": 768, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
 "v_head_dim": 128, "attn_res_block_size": 4})";

// The released Kimi K3 (1.56 TB), vision tower included.
constexpr std::string_view kK3 = R"({
 "vocab_size": 163840, "hidden_size": 7168, "num_hidden_layers": 93, "num_attention_heads": 96,
 "kda_num_heads": 96, "kda_head_dim": 128, "intermediate_size": 33792, "num_experts": 896,
 "num_experts_per_token": 16, "moe_intermediate_size": 3072, "routed_expert_hidden_size": 3584,
 "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
 "v_head_dim": 128, "attn_res_block_size": 12, "vision": true})";

// The released Kimi-Linear-48B-A3B.
constexpr std::string_view kKimiLinear = R"({
 "vocab_size": 163840, "hidden_size": 2304, "num_hidden_layers": 27, "num_attention_heads": 32,
 "kda_num_heads": 32, "kda_head_dim": 128, "intermediate_size": 9216, "num_experts": 256,
 "num_experts_per_token": 8, "moe_intermediate_size": 1024, "kv_lora_rank": 512,
 "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})";

constexpr std::string_view kVisionRelease = R"({
 "_attn_implementation": "flash_attention_2", "activation_func": "gelu_pytorch_tanh",
 "attn_bias": false, "init_pos_emb_height": 64, "init_pos_emb_time": 4, "init_pos_emb_width": 64,
 "linear_bias": false, "merge_kernel_size": [2, 2], "merge_type": "sd2_tpool", "mlp_type": "mlp2",
 "mm_hidden_size": 1024, "mm_projector_type": "patchmergerv2", "norm_type": "rmsnorm",
 "patch_embed_proj_bias": false, "patch_size": 14, "pos_emb_interpolation_mode": "bilinear",
 "pos_emb_type": "divided_fixed", "projector_hidden_act": "gelu", "projector_ln_eps": 1e-05,
 "qkv_hidden_size": 1536, "vt_hidden_size": 1024, "vt_intermediate_size": 4096,
 "vt_num_attention_heads": 12, "vt_num_hidden_layers": 27})";

struct Preset {
  std::string_view name;
  bool k3;  ///< layout, and MXFP4 experts by default
  std::string_view overrides;
};
constexpr std::array<Preset, 6> kPresets{{
    {"tiny", true, "{}"},
    {"tiny-linear", false, "{}"},
    {"bench4g", true, kBench4g},
    {"mini", true, kMini},
    {"k3", true, kK3},
    {"kimi-linear", false, kKimiLinear},
}};

// Flat spellings of keys that live in linear_attn_config.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kLinearKeys{{
    {"kda_num_heads", "num_heads"},
    {"kda_head_dim", "head_dim"},
    {"short_conv_kernel_size", "short_conv_kernel_size"},
    {"use_full_rank_gate", "use_full_rank_gate"},
    {"gate_lower_bound", "gate_lower_bound"},
    {"full_attn_layers", "full_attn_layers"},
    {"kda_layers", "kda_layers"},
}};

// Config keys that a base lacks and an override may still bring.
constexpr std::array<std::string_view, 12> kOptionalKeys{"activation_situ_beta",
                                                         "activation_situ_linear_beta",
                                                         "attn_res_block_size",
                                                         "latent_moe_use_norm",
                                                         "max_position_embeddings",
                                                         "mla_use_output_gate",
                                                         "model_max_length",
                                                         "routed_expert_hidden_size",
                                                         "topk_method",
                                                         "use_grouped_topk",
                                                         "rope_theta",
                                                         "head_dim"};

Status bad_key(const std::string& key, const std::string& what) {
  return Status(Code::kInvalidArgument, "shape: '" + key + "' " + what);
}

Status set_vision(const json::Value& value, json::Value* vision) {
  if (value.is_null() || (value.is_bool() && !value.as_bool())) {
    *vision = json::Value();
    return Status();
  }
  TRINE_ASSIGN_OR_RETURN(*vision, json::parse(kVisionRelease, "vision preset"));
  if (value.is_bool()) return Status();
  if (!value.is_object()) return bad_key("vision", "must be true, false or an object");
  for (const auto& [key, member] : value.as_object()) {
    if (vision->find(key) == nullptr) return bad_key("vision." + key, "is no vision_config key");
    vision->set(key, member);
  }
  return Status();
}

Status set_expert_key(const std::string& key, const json::Value& value, LinearFormat* experts) {
  int64_t number = 0;
  if (key == "expert_format" || key == "expert_strategy") {
    if (!value.is_string()) return bad_key(key, "must be a string");
    (key == "expert_format" ? experts->format : experts->strategy) = value.as_string();
    return Status();
  }
  if (!value.to_int64(&number) || number < 0) return bad_key(key, "must be a whole number >= 0");
  (key == "expert_num_bits" ? experts->num_bits : experts->group_size) = number;
  return Status();
}

struct Draft {
  json::Value text;
  json::Value vision;
  LinearFormat experts;
};

Status apply_override(const std::string& key, const json::Value& value, Draft* draft) {
  if (key == "preset") return Status();
  if (key == "vision") return set_vision(value, &draft->vision);
  if (key == "expert_format" || key == "expert_num_bits" || key == "expert_group_size" ||
      key == "expert_strategy")
    return set_expert_key(key, value, &draft->experts);
  json::Value linear = *draft->text.find("linear_attn_config");
  if (key == "linear_attn_config") {
    if (!value.is_object()) return bad_key(key, "must be an object");
    for (const auto& [name, member] : value.as_object()) linear.set(name, member);
    draft->text.set(key, std::move(linear));
    return Status();
  }
  for (const auto& [flat, nested] : kLinearKeys) {
    if (key != flat) continue;
    linear.set(std::string(nested), value);
    draft->text.set("linear_attn_config", std::move(linear));
    return Status();
  }
  bool known = draft->text.find(key) != nullptr;
  for (const std::string_view optional : kOptionalKeys) known = known || key == optional;
  if (!known) return bad_key(key, "is no key of a shape file (a config key, preset or expert_*)");
  draft->text.set(key, value);
  return Status();
}

Status apply_overrides(const json::Value& overrides, Draft* draft) {
  for (const auto& [key, value] : overrides.as_object())
    TRINE_RETURN_IF_ERROR(apply_override(key, value, draft));
  return Status();
}

// Layer lists that were not given: every fourth layer and the last one attend, the others are KDA.
Status fill_layers(json::Value* text) {
  int64_t layers = 0;
  const json::Value* count = text->find("num_hidden_layers");
  if (count == nullptr || !count->to_int64(&layers) || layers < 1 || layers > 100000)
    return bad_key("num_hidden_layers", "must be 1 .. 100000");
  json::Value linear = *text->find("linear_attn_config");
  const json::Value* full = linear.find("full_attn_layers");
  if (full == nullptr || full->is_null()) {
    json::Value list = json::Value::array();
    for (int64_t i = 1; i <= layers; ++i)
      if (i % 4 == 0 || i == layers) list.push(i);
    linear.set("full_attn_layers", std::move(list));
  }
  std::vector<bool> attends(static_cast<size_t>(layers) + 1, false);
  if (!linear.find("full_attn_layers")->is_array())
    return bad_key("full_attn_layers", "must be a list of 1-based layer numbers");
  for (const json::Value& item : linear.find("full_attn_layers")->as_array()) {
    int64_t layer = 0;
    if (!item.to_int64(&layer) || layer < 1 || layer > layers)
      return bad_key("full_attn_layers", "names a layer outside 1 .. num_hidden_layers");
    attends[static_cast<size_t>(layer)] = true;
  }
  const json::Value* kda = linear.find("kda_layers");
  if (kda == nullptr || kda->is_null()) {
    json::Value list = json::Value::array();
    for (int64_t i = 1; i <= layers; ++i)
      if (!attends[static_cast<size_t>(i)]) list.push(i);
    linear.set("kda_layers", std::move(list));
  }
  text->set("linear_attn_config", std::move(linear));
  return Status();
}

struct FormatRow {
  std::string_view format;
  int64_t num_bits;
  std::string_view type;
  std::string_view strategy;
  int64_t group_size;
};
constexpr std::array<FormatRow, 6> kFormats{{
    {"mxfp4-pack-quantized", 4, "float", "group", 32},
    {"nvfp4-pack-quantized", 4, "float", "tensor_group", 16},
    {"pack-quantized", 4, "int", "group", 32},
    {"float-quantized", 8, "float", "channel", 0},
    {"int-quantized", 8, "int", "channel", 0},
    {"mxfp8-quantized", 8, "float", "group", 32},
}};

Result<json::Value> quantization_config(const LinearFormat& experts) {
  const FormatRow* row = nullptr;
  for (const FormatRow& candidate : kFormats)
    if (candidate.format == experts.format) row = &candidate;
  if (row == nullptr) return bad_key("expert_format", "'" + experts.format + "' is unknown");
  json::Value weights = json::Value::object();
  const bool packed = row->format == "pack-quantized";
  if (packed && experts.num_bits != 4 && experts.num_bits != 8)
    return bad_key("expert_num_bits", "must be 4 or 8");
  weights.set("num_bits", packed ? experts.num_bits : row->num_bits);
  weights.set("type", row->type);
  weights.set("symmetric", true);
  weights.set("dynamic", false);
  weights.set("observer", "minmax");
  const int64_t group = packed ? experts.group_size : row->group_size;
  std::string strategy(packed && group == 0 ? "channel" : row->strategy);
  if (row->format == "float-quantized") strategy = experts.strategy;
  weights.set("strategy", strategy);
  if (strategy == "block") weights.set("block_structure", json::Value::Array{128, 128});
  weights.set("group_size", group == 0 ? json::Value() : json::Value(group));
  if (row->format.substr(0, 2) == "mx") weights.set("scale_dtype", "torch.uint8");
  json::Value entry = json::Value::object();
  entry.set("format", row->format);
  entry.set("input_activations", nullptr);
  entry.set("output_activations", nullptr);
  entry.set("targets", json::Value::Array{"Linear"});
  entry.set("weights", std::move(weights));
  json::Value groups = json::Value::object();
  groups.set("group_0", std::move(entry));
  json::Value config = json::Value::object();
  config.set("config_groups", std::move(groups));
  config.set("format", row->format);
  json::Value ignore = json::Value::array();
  for (const char* pattern :
       {"re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
        "re:.*lm_head.*", "re:.*vision_tower.*", "re:.*mm_projector.*"})
    ignore.push(pattern);
  config.set("ignore", std::move(ignore));
  config.set("quant_method", "compressed-tensors");
  config.set("quantization_status", "compressed");
  return config;
}

// The 256 control slots lie at the top of the vocabulary (spec section 9).
void set_special_ids(int64_t vocab_size, json::Value* object) {
  object->set("bos_token_id", vocab_size - 256);
  object->set("eos_token_id", vocab_size - 254);
  object->set("pad_token_id", vocab_size - 1);
}

Result<SynthShape> assemble(Draft draft, bool k3) {
  int64_t vocab_size = 0;
  if (!draft.text.find("vocab_size")->to_int64(&vocab_size) || vocab_size < 512)
    return bad_key("vocab_size", "must be at least 512 (256 bytes and 256 control tokens)");
  TRINE_RETURN_IF_ERROR(fill_layers(&draft.text));
  set_special_ids(vocab_size, &draft.text);
  draft.text.set("num_key_value_heads", *draft.text.find("num_attention_heads"));
  if (draft.experts.format != "bf16") {
    TRINE_ASSIGN_OR_RETURN(auto quantization, quantization_config(draft.experts));
    draft.text.set("quantization_config", std::move(quantization));
  }
  SynthShape shape;
  shape.experts = draft.experts;
  shape.generation_config = json::Value::object();
  set_special_ids(vocab_size, &shape.generation_config);
  if (!k3) {
    shape.config = std::move(draft.text);
    return shape;
  }
  shape.config = json::Value::object();
  shape.config.set("architectures", json::Value::Array{"KimiK3ForConditionalGeneration"});
  shape.config.set("model_type", "kimi_k3");
  set_special_ids(vocab_size, &shape.config);
  shape.config.set("dtype", "bfloat16");
  shape.config.set("ignore_index", -100);
  shape.config.set("image_placeholder", "<|kimi_image_placeholder|>");
  shape.config.set("media_placeholder_token_id", vocab_size - 256 + 21);
  shape.config.set("tie_word_embeddings", false);
  if (draft.vision.is_object())
    draft.vision.set("text_hidden_size", *draft.text.find("hidden_size"));
  shape.config.set("text_config", std::move(draft.text));
  if (draft.vision.is_object()) shape.config.set("vision_config", std::move(draft.vision));
  return shape;
}

}  // namespace

std::string preset_names() {
  std::string names;
  for (const Preset& preset : kPresets) names.append(names.empty() ? "" : ", ").append(preset.name);
  return names;
}

Result<SynthShape> resolve_shape(const std::string& shape_json) {
  TRINE_ASSIGN_OR_RETURN(const auto shape, json::parse(shape_json, "shape"));
  if (!shape.is_object())
    return Status(Code::kInvalidArgument,
                  "shape: expected a JSON object such as {\"preset\": \"tiny\"}");
  std::string name = "tiny";
  if (const json::Value* preset = shape.find("preset"); preset != nullptr) {
    if (!preset->is_string()) return bad_key("preset", "must be one of: " + preset_names());
    name = preset->as_string();
  }
  const Preset* preset = nullptr;
  for (const Preset& candidate : kPresets)
    if (candidate.name == name) preset = &candidate;
  if (preset == nullptr)
    return bad_key("preset", "'" + name + "' is unknown; there are: " + preset_names());
  Draft draft;
  TRINE_ASSIGN_OR_RETURN(draft.text, json::parse(preset->k3 ? kTinyK3 : kTinyLinear, "preset"));
  if (preset->k3) draft.experts.format = "mxfp4-pack-quantized";
  TRINE_ASSIGN_OR_RETURN(const auto overrides, json::parse(preset->overrides, "preset"));
  TRINE_RETURN_IF_ERROR(apply_overrides(overrides, &draft));
  TRINE_RETURN_IF_ERROR(apply_overrides(shape, &draft));
  return assemble(std::move(draft), preset->k3);
}

}  // namespace trine
