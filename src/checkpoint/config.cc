// config.json of both layouts: spec section 1. All values are bounded, all mistakes are listed.
#include "checkpoint/config.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "checkpoint/config_checks.h"
#include "checkpoint/config_reader.h"

namespace trine::checkpoint {
namespace {

constexpr Bounds kHeads{1, 1 << 16};
constexpr Bounds kHeadDim{1, 1 << 16};
constexpr int64_t kDefaultContext = int64_t{1} << 20;
constexpr Bounds kVisionDim{1, 1 << 20};

class Parser {
 public:
  Parser(const json::Value& root, const std::string& file, Findings* findings)
      : file_(file),
        findings_(findings),
        nested_(root.find("text_config") != nullptr && root.find("text_config")->is_object()),
        root_(&root, "", file, findings),
        text_(nested_ ? root.find("text_config") : &root, nested_ ? "text_config." : "", file,
              findings),
        linear_attn_(
            sub_object(nested_ ? *root.find("text_config") : root, "linear_attn_config"),
            (nested_ ? std::string("text_config.") : std::string()) + "linear_attn_config.", file,
            findings) {}

  ModelConfig run(const json::Value* generation) {
    const size_t before = findings_->size();
    c_.layout = nested_ ? Layout::kK3 : Layout::kKimiLinear;
    if (!check_architecture()) return c_;
    read_trunk();
    if (layers_known_) read_layer_kinds(&linear_attn_, &c_);
    if (c_.kda_layer_count() > 0 || linear_attn_.has("num_heads")) read_kda();
    if (c_.mla_layer_count() > 0) read_mla();
    read_ffn();
    read_moe();
    read_activation();
    read_tokens(generation);
    read_vision();
    declare_known();
    root_.report_misspelt();
    if (nested_) text_.report_misspelt();
    linear_attn_.report_misspelt();
    check_config(c_, &text_);
    double parameters = 0;
    if (!errors_since(before) && size_is_absurd(c_, &parameters))
      text_.add("config-absurd", "hidden_size", std::to_string(parameters) + " parameters",
                "at most 1e15");
    return c_;
  }

 private:
  static const json::Value* sub_object(const json::Value& object, const char* key) {
    const json::Value* value = object.find(key);
    return value != nullptr && value->is_object() ? value : nullptr;
  }
  bool errors_since(size_t before) const {
    return std::any_of(findings_->begin() + static_cast<std::ptrdiff_t>(before), findings_->end(),
                       [](const Finding& f) { return f.severity == Severity::kError; });
  }

  // Refuses other families at once: a hundred missing keys would hide the reason.
  bool check_architecture() {
    const std::string type = root_.text("model_type", "");
    bool named = type == "kimi_k3" || type == "kimi_linear";
    std::string names = type;
    if (const json::Value* list = root_.get("architectures"); list != nullptr && list->is_array())
      for (const json::Value& item : list->as_array()) {
        if (!item.is_string()) continue;
        named |= type.empty() && (item.as_string() == "KimiK3ForConditionalGeneration" ||
                                  item.as_string() == "KimiLinearForCausalLM");
        names += " " + item.as_string();
      }
    if (!named)
      root_.add("architecture-unsupported", "model_type",
                names.empty() ? "nothing" : names.substr(0, 200), "kimi_k3 or kimi_linear",
                "use a checkpoint of Kimi K3 or Kimi-Linear");
    if (named && type == "kimi_k3" && !nested_) {
      root_.add("config-missing", "text_config", root_.quoted("text_config"), "an object");
      return false;
    }
    return named;
  }

  void read_trunk() {
    c_.hidden_size = text_.required_count("hidden_size", {});
    const Bounds layers{1, kLayersMax};
    layers_known_ = text_.optional_count("num_hidden_layers", layers).has_value();
    c_.num_hidden_layers = 1;
    c_.is_kda.assign(1, false);
    if (layers_known_) c_.num_hidden_layers = text_.count("num_hidden_layers", layers, 1);
    if (!text_.has("num_hidden_layers"))
      text_.add("config-missing", "num_hidden_layers", "nothing", "a whole number");
    c_.vocab_size = text_.required_count("vocab_size", {});
    if (!text_.has("rms_norm_eps"))
      text_.add("config-missing", "rms_norm_eps", "nothing", "a number");
    c_.rms_norm_eps = text_.optional_float("rms_norm_eps").value_or(c_.rms_norm_eps);
    const Bounds context{1, int64_t{1} << 40};
    const auto positions = text_.optional_count("max_position_embeddings", context);
    c_.max_position_embeddings =
        positions ? *positions : text_.count("model_max_length", context, kDefaultContext);
    c_.attn_res_block_size = text_.optional_count("attn_res_block_size", {});
    c_.num_nextn_predict_layers = text_.count("num_nextn_predict_layers", {0, kLayersMax}, 0);
    const bool tied = text_.flag("tie_word_embeddings", false);
    c_.tie_word_embeddings = nested_ ? root_.flag("tie_word_embeddings", tied) : tied;
    if (nested_ && text_.has("tie_word_embeddings") && tied != c_.tie_word_embeddings)
      text_.add("config-contradiction", "tie_word_embeddings", text_.quoted("tie_word_embeddings"),
                "what the top level says: " + root_.quoted("tie_word_embeddings"));
    if (!text_.has("linear_attn_config"))
      text_.add("config-missing", "linear_attn_config", "nothing", "an object");
    else if (!text_.get("linear_attn_config")->is_object())
      text_.add("config-value", "linear_attn_config", text_.quoted("linear_attn_config"),
                "an object");
  }

  void read_kda() {
    c_.kda_num_heads = linear_attn_.required_count("num_heads", kHeads);
    c_.kda_head_dim = linear_attn_.required_count("head_dim", kHeadDim);
    c_.short_conv_kernel_size = linear_attn_.required_count("short_conv_kernel_size", {1, 1024});
    c_.use_full_rank_gate = linear_attn_.flag("use_full_rank_gate", false);
    c_.gate_lower_bound = linear_attn_.optional_float("gate_lower_bound");
  }

  void read_mla() {
    c_.num_attention_heads = text_.required_count("num_attention_heads", kHeads);
    c_.q_lora_rank = text_.optional_count("q_lora_rank", {});
    c_.kv_lora_rank = text_.required_count("kv_lora_rank", {});
    c_.qk_nope_head_dim = text_.required_count("qk_nope_head_dim", kHeadDim);
    c_.qk_rope_head_dim = text_.count("qk_rope_head_dim", {0, kHeadDim.most}, 0);
    c_.v_head_dim = text_.required_count("v_head_dim", kHeadDim);
    c_.mla_use_output_gate = text_.flag("mla_use_output_gate", false);
    const int64_t kv_heads = text_.count("num_key_value_heads", kHeads, c_.num_attention_heads);
    if (kv_heads != c_.num_attention_heads)
      text_.add("config-contradiction", "num_key_value_heads", std::to_string(kv_heads),
                "num_attention_heads = " + std::to_string(c_.num_attention_heads) +
                    " (latent attention has a key for each head)");
    if (!text_.flag("mla_use_nope", true))
      text_.add("feature-unsupported", "mla_use_nope", "false (rotary embeddings)",
                "true: this family has no positional encoding", "use a checkpoint without RoPE");
  }

  void read_ffn() {
    c_.num_experts = text_.count("num_experts", {0, kExpertsMax}, 0);
    c_.first_k_dense_replace = text_.count("first_k_dense_replace", {0, kLayersMax}, 0);
    c_.moe_layer_freq = text_.count("moe_layer_freq", {1, kLayersMax}, 1);
    if (c_.moe_layer_count() < c_.num_hidden_layers)
      c_.intermediate_size = text_.required_count("intermediate_size", {});
  }

  void read_moe() {
    if (c_.num_experts == 0) return;
    c_.num_experts_per_token = text_.required_count("num_experts_per_token", {1, kExpertsMax});
    c_.num_shared_experts = text_.count("num_shared_experts", {0, 1024}, 0);
    c_.moe_intermediate_size = text_.required_count("moe_intermediate_size", {});
    c_.routed_expert_hidden_size = text_.optional_count("routed_expert_hidden_size", {});
    c_.latent_moe_use_norm = text_.flag("latent_moe_use_norm", false);
    if (c_.latent_moe_use_norm && !c_.routed_expert_hidden_size)
      text_.note("config-unused", "latent_moe_use_norm", "true without routed_expert_hidden_size",
                 "it has no effect: there is no latent to normalise");
    const std::string router = text_.text("moe_router_activation_func", "sigmoid");
    c_.router_activation =
        router == "softmax" ? RouterActivation::kSoftmax : RouterActivation::kSigmoid;
    if (router != "sigmoid" && router != "softmax")
      text_.add("feature-unsupported", "moe_router_activation_func", json::quote(router),
                "\"sigmoid\" or \"softmax\"");
    const std::string method = text_.text("topk_method", "noaux_tc");
    if (method != "noaux_tc")
      text_.add("feature-unsupported", "topk_method", json::quote(method), "\"noaux_tc\"");
    c_.moe_renormalize = text_.flag("moe_renormalize", true);
    c_.routed_scaling_factor = text_.optional_float("routed_scaling_factor").value_or(1.0f);
    c_.num_expert_group = text_.count("num_expert_group", {1, kExpertsMax}, 1);
    c_.topk_group = text_.count("topk_group", {1, kExpertsMax}, 1);
    if (!text_.flag("use_grouped_topk", true)) c_.num_expert_group = c_.topk_group = 1;
  }

  void read_activation() {
    const std::string act = text_.text("hidden_act", "silu");
    c_.hidden_act = act == "situ" ? Activation::kSitu : Activation::kSilu;
    if (act != "situ" && act != "silu" && act != "swish")
      text_.add("feature-unsupported", "hidden_act", json::quote(act), "\"situ\" or \"silu\"");
    c_.activation_situ_beta = text_.optional_float("activation_situ_beta").value_or(1.0f);
    if (c_.activation_situ_beta == 0) c_.activation_situ_beta = 1.0f;  // as the release reads 0
    c_.activation_situ_linear_beta = text_.optional_float("activation_situ_linear_beta");
  }

  void read_tokens(const json::Value* generation) {
    add_eos(root_.get("eos_token_id"));
    add_eos(text_.get("eos_token_id"));
    if (generation != nullptr) add_eos(generation->find("eos_token_id"), true);
    c_.bos_token_id = token("bos_token_id");
    c_.pad_token_id = token("pad_token_id");
  }

  void add_eos(const json::Value* value, bool of_generation = false) {
    if (value == nullptr || value->is_null()) return;
    int64_t id = 0;
    if (value->is_array()) {
      for (size_t i = 0; i < std::min<size_t>(value->as_array().size(), 64); ++i)
        add_eos(&value->as_array()[i], of_generation);
    } else if (!value->to_int64(&id) && of_generation) {
      add_finding(findings_, {.kind = "config-value",
                              .file = "generation_config.json",
                              .tensor = "eos_token_id",
                              .found = json::dump(*value).substr(0, 80),
                              .expected = "a token id or a list",
                              .action = "take generation_config.json from the same release"});
    } else if (!value->to_int64(&id)) {
      root_.add("config-value", "eos_token_id", json::dump(*value).substr(0, 80),
                "a token id or a list");
    } else if (std::find(c_.eos_token_ids.begin(), c_.eos_token_ids.end(), id) ==
               c_.eos_token_ids.end()) {
      c_.eos_token_ids.push_back(id);
    }
  }

  int64_t token(const char* key) {
    const Bounds ids{-1, int64_t{1} << 31};
    return root_.optional_count(key, ids).value_or(nested_ ? text_.count(key, ids, -1) : -1);
  }

  void read_vision() {
    const json::Value* value = root_.get("vision_config");
    if (!nested_ || value == nullptr) return;
    c_.has_vision = true;
    ConfigReader reader(value->is_object() ? value : nullptr, "vision_config.", file_, findings_);
    VisionConfig v;
    const auto dim = [&reader](const char* key) { return reader.required_count(key, kVisionDim); };
    v.hidden_size = dim("vt_hidden_size");
    v.intermediate_size = dim("vt_intermediate_size");
    v.num_hidden_layers = reader.required_count("vt_num_hidden_layers", {1, kLayersMax});
    v.num_attention_heads = dim("vt_num_attention_heads");
    v.qkv_hidden_size = dim("qkv_hidden_size");
    v.mm_hidden_size = dim("mm_hidden_size");
    v.patch_size = reader.required_count("patch_size", {1, 1024});
    v.pos_emb_height = reader.required_count("init_pos_emb_height", {1, 8192});
    v.pos_emb_width = reader.required_count("init_pos_emb_width", {1, 8192});
    if (const std::vector<int64_t> merge = reader.counts("merge_kernel_size", false);
        !merge.empty()) {
      if (merge.size() != 2 || std::min(merge[0], merge[1]) < 1 ||
          std::max(merge[0], merge[1]) > 16)
        reader.add("config-value", "merge_kernel_size", reader.quoted("merge_kernel_size"),
                   "two numbers of 1 to 16");
      else
        std::tie(v.merge_height, v.merge_width) = std::pair(merge[0], merge[1]);
    }
    if (reader.count("text_hidden_size", {}, c_.hidden_size) != c_.hidden_size)
      reader.add("config-contradiction", "text_hidden_size", reader.quoted("text_hidden_size"),
                 "hidden_size = " + std::to_string(c_.hidden_size));
    c_.vision = v;
  }

  // Known keys that this configuration did not need to read, or that mean nothing to inference.
  void declare_known() {
    for (ConfigReader* reader : {&root_, &text_})
      reader->known({"auto_map", "dtype", "torch_dtype", "initializer_range", "use_cache",
                     "head_dim", "rope_theta", "rope_scaling", "model_type", "architectures",
                     "transformers_version", "quantization_config", "num_key_value_heads",
                     "model_max_length"});
    text_.known({"num_attention_heads",
                 "q_lora_rank",
                 "kv_lora_rank",
                 "qk_nope_head_dim",
                 "qk_rope_head_dim",
                 "v_head_dim",
                 "mla_use_output_gate",
                 "mla_use_nope",
                 "intermediate_size",
                 "num_experts_per_token",
                 "num_shared_experts",
                 "moe_intermediate_size",
                 "routed_expert_hidden_size",
                 "latent_moe_use_norm",
                 "moe_router_activation_func",
                 "topk_method",
                 "moe_renormalize",
                 "routed_scaling_factor",
                 "num_expert_group",
                 "topk_group",
                 "use_grouped_topk",
                 "max_position_embeddings"});
    root_.known({"ignore_index", "image_placeholder", "media_placeholder_token_id", "text_config",
                 "vision_config", "tie_word_embeddings"});
    linear_attn_.known({"num_heads", "head_dim", "short_conv_kernel_size", "use_full_rank_gate",
                        "gate_lower_bound"});
    if (!nested_) root_.adopt(text_);
  }

  std::string file_;
  Findings* findings_;
  bool nested_;
  ConfigReader root_;
  ConfigReader text_;
  ConfigReader linear_attn_;
  ModelConfig c_;
  bool layers_known_ = false;
};

}  // namespace

int64_t ModelConfig::kda_layer_count() const {
  return std::count(is_kda.begin(), is_kda.end(), true);
}

int64_t ModelConfig::mla_layer_count() const {
  return std::count(is_kda.begin(), is_kda.end(), false);
}

int64_t ModelConfig::moe_layer_count() const {
  int64_t count = 0;
  for (int64_t layer = 0; layer < num_hidden_layers; ++layer) count += is_moe(layer) ? 1 : 0;
  return count;
}

int64_t ModelConfig::latent_bytes_per_token(int64_t element_bytes) const {
  return mla_layer_count() * (kv_lora_rank + qk_rope_head_dim) * element_bytes;
}

int64_t ModelConfig::state_bytes_per_sequence() const {
  constexpr int64_t kFloatBytes = 4;
  const int64_t width = kda_num_heads * kda_head_dim;
  const int64_t window = 3 * (short_conv_kernel_size - 1) * width;  // of q, k and v
  return kda_layer_count() * (width * kda_head_dim + window) * kFloatBytes;
}

ModelConfig parse_config(const json::Value& root, const json::Value* generation,
                         const std::string& file, Findings* findings) {
  if (!root.is_object()) {
    add_finding(findings, {.kind = "config-value",
                           .file = file,
                           .found = "JSON that is no object",
                           .expected = "an object",
                           .action = "take config.json from the release of these weights"});
    return {};
  }
  return Parser(root, file, findings).run(generation);
}

}  // namespace trine::checkpoint
