// Names and shapes of spec section 8 (text) and 11 (vision).
#include "checkpoint/expected.h"

namespace trine::checkpoint {
namespace {

constexpr int64_t kALogPadding = 128;

using Visit = std::function<void(const ExpectedTensor&)>;

/// Adds parameters below one prefix.
class Lister {
 public:
  Lister(const ModelConfig& config, const Visit& visit)
      : c_(config),
        visit_(visit),
        f32_in_k3_(config.layout == Layout::kK3 ? DType::kF32 : DType::kBf16) {}

  void run() {
    const std::string model = c_.tensor_prefix() + "model.";
    for (int64_t layer = 0; layer < c_.num_hidden_layers; ++layer)
      add_layer(layer, model + "layers." + std::to_string(layer) + ".");
    add(model + "embed_tokens.weight", {c_.vocab_size, c_.hidden_size}, Role::kEmbedding);
    if (!c_.tie_word_embeddings)
      add(c_.tensor_prefix() + "lm_head.weight", {c_.vocab_size, c_.hidden_size}, Role::kLmHead);
    norm(model + "norm", c_.hidden_size);
    if (c_.attn_res_block_size) residual(model + "output_attn_res");
    if (c_.vision) add_vision(*c_.vision);
  }

 private:
  void add(std::string name, std::vector<int64_t> shape, Role role, DType dtype = DType::kBf16) {
    visit_({std::move(name), std::move(shape), dtype, role});
  }
  void linear(const std::string& module, int64_t out, int64_t in) {
    add(module + ".weight", {out, in}, Role::kLinear);
  }
  void norm(const std::string& module, int64_t n, DType dtype = DType::kBf16) {
    add(module + ".weight", {n}, Role::kNorm, dtype);
  }
  void residual(const std::string& module) {
    norm(module + "_norm", c_.hidden_size);
    add(module + "_proj.weight", {1, c_.hidden_size}, Role::kResProj);
  }

  void add_layer(int64_t layer, const std::string& prefix) {
    norm(prefix + "input_layernorm", c_.hidden_size);
    norm(prefix + "post_attention_layernorm", c_.hidden_size);
    if (c_.attn_res_block_size) {
      residual(prefix + "self_attention_res");
      residual(prefix + "mlp_res");
    }
    if (c_.is_kda[static_cast<size_t>(layer)])
      add_kda(prefix + "self_attn.");
    else
      add_mla(prefix + "self_attn.");
    if (c_.is_moe(layer))
      add_moe(prefix + "block_sparse_moe.");
    else
      add_mlp(prefix + "mlp.", c_.intermediate_size);
  }

  void add_kda(const std::string& prefix) {
    const int64_t heads = c_.kda_num_heads;
    const int64_t dim = c_.kda_head_dim;
    const int64_t width = heads * dim;
    for (const char* x : {"q", "k", "v"}) linear(prefix + x + "_proj", width, c_.hidden_size);
    for (const char* x : {"q", "k", "v"})
      add(prefix + x + "_conv1d.weight", {width, 1, c_.short_conv_kernel_size}, Role::kConv,
          f32_in_k3_);
    const int64_t padded = (heads + kALogPadding - 1) / kALogPadding * kALogPadding;
    if (c_.layout == Layout::kK3)
      add(prefix + "A_log", {padded}, Role::kALog, DType::kF32);
    else
      add(prefix + "A_log", {1, 1, heads, 1}, Role::kALog, DType::kF32);
    add(prefix + "dt_bias", {width}, Role::kDtBias, DType::kF32);
    linear(prefix + "f_a_proj", dim, c_.hidden_size);
    linear(prefix + "f_b_proj", width, dim);
    linear(prefix + "b_proj", heads, c_.hidden_size);
    if (c_.use_full_rank_gate) {
      linear(prefix + "g_proj", width, c_.hidden_size);
    } else {
      linear(prefix + "g_a_proj", dim, c_.hidden_size);
      linear(prefix + "g_b_proj", width, dim);
    }
    norm(prefix + "o_norm", dim, f32_in_k3_);
    linear(prefix + "o_proj", c_.hidden_size, width);
  }

  void add_mla(const std::string& prefix) {
    const int64_t heads = c_.num_attention_heads;
    const int64_t q_width = heads * (c_.qk_nope_head_dim + c_.qk_rope_head_dim);
    if (c_.q_lora_rank) {
      linear(prefix + "q_a_proj", *c_.q_lora_rank, c_.hidden_size);
      norm(prefix + "q_a_layernorm", *c_.q_lora_rank);
      linear(prefix + "q_b_proj", q_width, *c_.q_lora_rank);
    } else {
      linear(prefix + "q_proj", q_width, c_.hidden_size);
    }
    linear(prefix + "kv_a_proj_with_mqa", c_.kv_lora_rank + c_.qk_rope_head_dim, c_.hidden_size);
    norm(prefix + "kv_a_layernorm", c_.kv_lora_rank);
    linear(prefix + "kv_b_proj", heads * (c_.qk_nope_head_dim + c_.v_head_dim), c_.kv_lora_rank);
    if (c_.mla_use_output_gate) linear(prefix + "g_proj", heads * c_.v_head_dim, c_.hidden_size);
    linear(prefix + "o_proj", c_.hidden_size, heads * c_.v_head_dim);
  }

  void add_mlp(const std::string& prefix, int64_t width) {
    linear(prefix + "gate_proj", width, c_.hidden_size);
    linear(prefix + "up_proj", width, c_.hidden_size);
    linear(prefix + "down_proj", c_.hidden_size, width);
  }

  void add_moe(const std::string& prefix) {
    add(prefix + "gate.weight", {c_.num_experts, c_.hidden_size}, Role::kRouter);
    add(prefix + "gate.e_score_correction_bias", {c_.num_experts}, Role::kRouterBias, DType::kF32);
    const int64_t latent = c_.expert_width();
    if (c_.routed_expert_hidden_size) {
      linear(prefix + "routed_expert_down_proj", latent, c_.hidden_size);
      linear(prefix + "routed_expert_up_proj", c_.hidden_size, latent);
      if (c_.latent_moe_use_norm) norm(prefix + "routed_expert_norm", latent);
    }
    const int64_t inner = c_.moe_intermediate_size;
    for (int64_t e = 0; e < c_.num_experts; ++e) {
      const std::string expert = prefix + "experts." + std::to_string(e) + ".";
      add(expert + "w1.weight", {inner, latent}, Role::kExpert);
      add(expert + "w2.weight", {latent, inner}, Role::kExpert);
      add(expert + "w3.weight", {inner, latent}, Role::kExpert);
    }
    if (c_.num_shared_experts > 0)
      add_mlp(prefix + "shared_experts.", inner * c_.num_shared_experts);
  }

  void vision(const std::string& name, std::vector<int64_t> shape) {
    add(name + ".weight", std::move(shape), Role::kVision);
  }

  void add_vision(const VisionConfig& v) {
    const int64_t merged = v.mm_hidden_size * v.merge_height * v.merge_width;
    vision("mm_projector.post_norm", {c_.hidden_size});
    vision("mm_projector.proj.0", {merged, merged});
    vision("mm_projector.proj.2", {c_.hidden_size, merged});
    const std::string tower = "vision_tower.";
    vision(tower + "patch_embed.proj", {v.hidden_size, 3, v.patch_size, v.patch_size});
    vision(tower + "patch_embed.pos_emb", {v.pos_emb_height, v.pos_emb_width, v.hidden_size});
    vision(tower + "encoder.final_layernorm", {v.hidden_size});
    for (int64_t b = 0; b < v.num_hidden_layers; ++b) {
      const std::string block = tower + "encoder.blocks." + std::to_string(b) + ".";
      vision(block + "norm0", {v.hidden_size});
      vision(block + "norm1", {v.hidden_size});
      vision(block + "wqkv", {3 * v.qkv_hidden_size, v.hidden_size});
      vision(block + "wo", {v.hidden_size, v.qkv_hidden_size});
      vision(block + "mlp.fc0", {v.intermediate_size, v.hidden_size});
      vision(block + "mlp.fc1", {v.hidden_size, v.intermediate_size});
    }
  }

  const ModelConfig& c_;
  const Visit& visit_;
  DType f32_in_k3_;
};

}  // namespace

bool ExpectedTensor::quantisable() const {
  return role == Role::kLinear || role == Role::kExpert || role == Role::kRouter ||
         role == Role::kEmbedding || role == Role::kLmHead;
}

int64_t ExpectedTensor::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

void for_each_expected(const ModelConfig& config, const Visit& visit) {
  Lister(config, visit).run();
}

std::vector<ExpectedTensor> expected_parameters(const ModelConfig& config) {
  std::vector<ExpectedTensor> all;
  for_each_expected(config, [&all](const ExpectedTensor& tensor) { all.push_back(tensor); });
  return all;
}

bool shape_accepted(const ModelConfig& config, const ExpectedTensor& expected,
                    const std::vector<int64_t>& shape) {
  if (shape == expected.shape) return true;
  using Shape = std::vector<int64_t>;
  switch (expected.role) {
    case Role::kRouter: return shape == Shape{config.num_experts, config.expert_width()};
    case Role::kConv: return shape == Shape{expected.shape[0], expected.shape[2]};
    case Role::kResProj: return shape == Shape{config.hidden_size};
    case Role::kALog: {
      const int64_t heads = config.kda_num_heads;
      const int64_t padded = (heads + kALogPadding - 1) / kALogPadding * kALogPadding;
      return shape == Shape{heads} || shape == Shape{padded} || shape == Shape{1, 1, heads, 1};
    }
    case Role::kEmbedding:
    case Role::kLmHead:
    case Role::kLinear:
    case Role::kExpert:
    case Role::kRouterBias:
    case Role::kNorm:
    case Role::kDtBias:
    case Role::kVision: return false;
  }
  return false;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace trine::checkpoint
