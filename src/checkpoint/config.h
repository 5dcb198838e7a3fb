// config.json of both layouts (spec section 1): nested K3 and flat Kimi-Linear.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/finding.h"

namespace trine::checkpoint {

enum class Layout { kK3, kKimiLinear };
enum class Activation { kSitu, kSilu };
enum class RouterActivation { kSigmoid, kSoftmax };

/// The vision tower and projector (spec section 11), as far as their tensors need it.
struct VisionConfig {
  int64_t hidden_size = 0;        ///< vt_hidden_size
  int64_t intermediate_size = 0;  ///< vt_intermediate_size
  int64_t num_hidden_layers = 0;  ///< vt_num_hidden_layers
  int64_t num_attention_heads = 0;
  int64_t qkv_hidden_size = 0;
  int64_t mm_hidden_size = 0;
  int64_t patch_size = 0;
  int64_t pos_emb_height = 0;  ///< init_pos_emb_height
  int64_t pos_emb_width = 0;
  int64_t merge_height = 2;  ///< merge_kernel_size
  int64_t merge_width = 2;
};

/// Spellings of the checkpoint; absent or null values keep the defaults here.
struct ModelConfig {
  Layout layout = Layout::kK3;
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t vocab_size = 0;
  float rms_norm_eps = 1e-5f;
  int64_t max_position_embeddings = 0;  ///< or model_max_length
  std::vector<int64_t> eos_token_ids;   ///< config and generation_config, first = config's
  int64_t bos_token_id = -1;
  int64_t pad_token_id = -1;

  // KDA
  std::vector<bool> is_kda;  ///< per layer, 0-based
  int64_t kda_num_heads = 0;
  int64_t kda_head_dim = 0;
  int64_t short_conv_kernel_size = 0;
  bool use_full_rank_gate = false;
  std::optional<float> gate_lower_bound;  ///< none = softplus gate

  // MLA
  int64_t num_attention_heads = 0;
  std::optional<int64_t> q_lora_rank;
  int64_t kv_lora_rank = 0;
  int64_t qk_nope_head_dim = 0;
  int64_t qk_rope_head_dim = 0;
  int64_t v_head_dim = 0;
  bool mla_use_output_gate = false;

  // FFN
  int64_t first_k_dense_replace = 0;
  int64_t moe_layer_freq = 1;
  int64_t intermediate_size = 0;
  int64_t num_experts = 0;
  int64_t num_experts_per_token = 0;
  int64_t num_shared_experts = 0;
  int64_t moe_intermediate_size = 0;
  std::optional<int64_t> routed_expert_hidden_size;  ///< none = experts on hidden_size
  bool latent_moe_use_norm = false;
  RouterActivation router_activation = RouterActivation::kSigmoid;
  bool moe_renormalize = true;
  float routed_scaling_factor = 1.0f;
  int64_t num_expert_group = 1;
  int64_t topk_group = 1;
  Activation hidden_act = Activation::kSilu;
  float activation_situ_beta = 1.0f;
  std::optional<float> activation_situ_linear_beta;

  std::optional<int64_t> attn_res_block_size;
  bool has_vision = false;  ///< vision_config is there (its tensors may be absent)
  std::optional<VisionConfig> vision;
  bool tie_word_embeddings = false;      ///< lm_head is embed_tokens
  int64_t num_nextn_predict_layers = 0;  ///< MTP layers: their tensors are ignored

  std::string tensor_prefix() const { return layout == Layout::kK3 ? "language_model." : ""; }
  bool is_moe(int64_t layer) const {
    return num_experts > 0 && layer >= first_k_dense_replace && layer % moe_layer_freq == 0;
  }
  /// Width the experts work in.
  int64_t expert_width() const { return routed_expert_hidden_size.value_or(hidden_size); }
  int64_t kda_layer_count() const;
  int64_t mla_layer_count() const;
  int64_t moe_layer_count() const;
  /// Closed form (users.md row 70): bytes of latent cache per token at `element_bytes` per value.
  int64_t latent_bytes_per_token(int64_t element_bytes) const;
  /// fp32 KDA state and short-convolution windows of one sequence.
  int64_t state_bytes_per_sequence() const;
};

/// All contradictions are appended to findings, not the first one only; the config is usable only
/// if none of them is an error. `generation` may be null.
ModelConfig parse_config(const json::Value& root, const json::Value* generation,
                         const std::string& file, Findings* findings);

}  // namespace trine::checkpoint
