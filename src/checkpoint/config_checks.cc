#include "checkpoint/config_checks.h"

#include <algorithm>

#include "checkpoint/expected.h"

namespace trine::checkpoint {
namespace {

constexpr int64_t kWidthMax = int64_t{1} << 31;
constexpr int64_t kExpertsInAllMax = int64_t{1} << 20;  ///< K3 has 82,432
constexpr double kParametersMax = 1e15;                 ///< K3 has 2.8e12

std::string number(int64_t n) { return std::to_string(n); }

void check_moe(const ModelConfig& c, ConfigReader* r) {
  if (c.num_experts == 0) return;
  if (c.num_experts_per_token > c.num_experts)
    r->add("config-contradiction", "num_experts_per_token", number(c.num_experts_per_token),
           "at most num_experts = " + number(c.num_experts));
  if (c.topk_group > c.num_expert_group)
    r->add("config-contradiction", "topk_group", number(c.topk_group),
           "at most num_expert_group = " + number(c.num_expert_group));
  if (c.num_experts % c.num_expert_group != 0) {
    r->add("config-contradiction", "num_expert_group", number(c.num_expert_group),
           "a divisor of num_experts = " + number(c.num_experts));
    return;
  }
  const int64_t group = c.num_experts / c.num_expert_group;
  if (c.num_expert_group > c.topk_group && group < 2)
    r->add("config-contradiction", "num_expert_group", "groups of " + number(group) + " expert",
           "at least 2 experts in a group (a group's score is the sum of its best two)");
  if (c.topk_group <= c.num_expert_group && c.num_experts_per_token > group * c.topk_group)
    r->add("config-contradiction", "num_experts_per_token", number(c.num_experts_per_token),
           "at most the " + number(group * c.topk_group) + " experts of topk_group groups");
  if (c.num_experts * c.num_hidden_layers > kExpertsInAllMax)
    r->add("config-absurd", "num_experts",
           number(c.num_experts) + " in " + number(c.num_hidden_layers) + " layers",
           "at most " + number(kExpertsInAllMax) + " experts in all layers");
}

void check_width(const ModelConfig& c, ConfigReader* r) {
  const auto width = [r](const char* key, int64_t value) {
    if (value > kWidthMax)
      r->add("config-absurd", key, "a layer of width " + number(value),
             "at most " + number(kWidthMax));
  };
  width("linear_attn_config.num_heads", c.kda_num_heads * c.kda_head_dim);
  width("num_attention_heads", c.num_attention_heads * (c.qk_nope_head_dim + c.qk_rope_head_dim));
  width("num_attention_heads", c.num_attention_heads * (c.qk_nope_head_dim + c.v_head_dim));
  width("num_shared_experts", c.num_shared_experts * c.moe_intermediate_size);
}

}  // namespace

void read_layer_kinds(ConfigReader* reader, ModelConfig* config) {
  const int64_t layers = config->num_hidden_layers;
  config->is_kda.assign(static_cast<size_t>(layers), false);
  std::vector<int64_t> times(static_cast<size_t>(layers), 0);
  for (const char* key : {"kda_layers", "full_attn_layers"}) {
    const bool kda = std::string_view(key) == "kda_layers";
    for (const int64_t layer : reader->counts(key, /*required=*/true)) {
      if (layer < 1 || layer > layers) {
        reader->add("config-contradiction", key, "layer " + number(layer),
                    "1 to num_hidden_layers = " + number(layers) + " (the lists are 1-based)");
        continue;
      }
      const auto index = static_cast<size_t>(layer - 1);
      if (++times[index] == 2)
        reader->add("config-contradiction", key, "layer " + number(layer) + " twice",
                    "each layer once, in kda_layers or in full_attn_layers");
      config->is_kda[index] = kda;
    }
  }
  for (int64_t layer = 1; layer <= layers; ++layer)
    if (times[static_cast<size_t>(layer - 1)] == 0)
      reader->add("config-contradiction", "kda_layers", "layer " + number(layer) + " in no list",
                  "each layer once, in kda_layers or in full_attn_layers");
}

void check_config(const ModelConfig& c, ConfigReader* r) {
  check_moe(c, r);
  check_width(c, r);
  for (const int64_t id : c.eos_token_ids)
    if (id < 0 || id >= c.vocab_size)
      r->add("config-contradiction", "eos_token_id", number(id),
             "an id below vocab_size = " + number(c.vocab_size));
  if (c.gate_lower_bound && *c.gate_lower_bound >= 0)
    r->add("config-contradiction", "linear_attn_config.gate_lower_bound",
           std::to_string(*c.gate_lower_bound), "a negative bound of the log decay");
  if (c.activation_situ_beta <= 0)
    r->add("config-contradiction", "activation_situ_beta", std::to_string(c.activation_situ_beta),
           "a positive number");
  if (c.activation_situ_linear_beta && *c.activation_situ_linear_beta <= 0)
    r->add("config-contradiction", "activation_situ_linear_beta",
           std::to_string(*c.activation_situ_linear_beta), "a positive number or null");
  if (!(c.rms_norm_eps > 0 && c.rms_norm_eps < 1))
    r->add("config-contradiction", "rms_norm_eps", std::to_string(c.rms_norm_eps),
           "between 0 and 1");
  if (!(c.routed_scaling_factor > 0))
    r->add("config-contradiction", "routed_scaling_factor", std::to_string(c.routed_scaling_factor),
           "a positive number");
}

bool size_is_absurd(const ModelConfig& config, double* parameters) {
  *parameters = 0;
  for_each_expected(config, [parameters](const ExpectedTensor& tensor) {
    double n = 1;
    for (const int64_t dim : tensor.shape) n *= static_cast<double>(dim);
    *parameters += n;
  });
  return *parameters > kParametersMax;
}

}  // namespace trine::checkpoint
