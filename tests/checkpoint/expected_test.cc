// The list of parameters against the counts of the releases (spec section 8).
#include "checkpoint/expected.h"

#include <gtest/gtest.h>

#include <set>

#include "support/checkpoint_builder.h"

namespace trine::checkpoint {
namespace {

ModelConfig parse(const json::Value& root) {
  Findings findings;
  ModelConfig config = parse_config(root, nullptr, "config.json", &findings);
  EXPECT_FALSE(has_errors(findings)) << summarise(findings, Severity::kError, 10);
  return config;
}

/// The released K3: the generator's "k3" preset has these numbers.
json::Value released_k3() {
  json::Value root = testing::small_k3_config();
  json::Value& text = root.as_object().back().second;
  const std::pair<const char*, int> values[] = {{"vocab_size", 163840},
                                                {"hidden_size", 7168},
                                                {"num_hidden_layers", 93},
                                                {"num_attention_heads", 96},
                                                {"num_key_value_heads", 96},
                                                {"intermediate_size", 33792},
                                                {"num_experts", 896},
                                                {"num_experts_per_token", 16},
                                                {"moe_intermediate_size", 3072},
                                                {"routed_expert_hidden_size", 3584},
                                                {"q_lora_rank", 1536},
                                                {"kv_lora_rank", 512},
                                                {"qk_nope_head_dim", 128},
                                                {"qk_rope_head_dim", 64},
                                                {"v_head_dim", 128},
                                                {"attn_res_block_size", 12},
                                                {"first_k_dense_replace", 1}};
  for (const auto& [key, value] : values) text.set(key, value);
  json::Value linear = *text.find("linear_attn_config");
  linear.set("num_heads", 96).set("head_dim", 128);
  json::Value kda = json::Value::array();
  json::Value full = json::Value::array();
  for (int layer = 1; layer <= 93; ++layer)
    (layer % 4 == 0 || layer == 93 ? full : kda).push(layer);
  linear.set("kda_layers", kda).set("full_attn_layers", full);
  text.set("linear_attn_config", linear);
  Result<json::Value> vision = json::parse(R"({"vt_hidden_size":1024,"vt_intermediate_size":4096,
    "vt_num_hidden_layers":27,"vt_num_attention_heads":12,"qkv_hidden_size":1536,
    "mm_hidden_size":1024,
    "patch_size":14,"init_pos_emb_height":64,"init_pos_emb_width":64,"merge_kernel_size":[2,2],
    "text_hidden_size":7168})",
                                           "vision");
  root.set("vision_config", *vision);
  root.set("eos_token_id", 163586);
  return root;
}

TEST(Expected, HasTheTensorsAndBytesOfTheReleasedK3) {
  int64_t tensors = 0;
  int64_t bytes = 0;
  std::set<std::string> names;
  for_each_expected(parse(released_k3()), [&](const ExpectedTensor& t) {
    names.insert(t.name);
    if (t.role == Role::kExpert) {  // weight_packed and weight_scale
      tensors += 2;
      bytes += t.elements() / 2 + t.elements() / 32;
    } else {
      ++tensors;
      bytes += t.elements() * dtype_bytes(t.default_dtype);
    }
  });
  EXPECT_EQ(tensors, 497'220);
  EXPECT_EQ(bytes, 1'560'860'324'864);
  EXPECT_EQ(static_cast<int64_t>(names.size()), 497'220 - 92 * 896 * 3);
}

TEST(Expected, MemoryFormulasGiveTheNumbersOfTheReleases) {
  const ModelConfig k3 = parse(released_k3());
  EXPECT_EQ(k3.latent_bytes_per_token(2), 27'648);
  EXPECT_EQ(k3.state_bytes_per_sequence(), 69 * (96 * 128 * 128 + 3 * 3 * 96 * 128) * 4);
  EXPECT_EQ(k3.state_bytes_per_sequence() >> 20, 443);
  EXPECT_EQ(k3.kda_layer_count(), 69);
  EXPECT_EQ(k3.moe_layer_count(), 92);

  json::Value root = testing::small_linear_config();
  root.set("num_hidden_layers", 27).set("kv_lora_rank", 512).set("qk_rope_head_dim", 64);
  json::Value linear = *root.find("linear_attn_config");
  json::Value kda = json::Value::array();
  json::Value full = json::Value::array();
  for (int layer = 1; layer <= 27; ++layer)
    (layer % 4 == 0 || layer == 27 ? full : kda).push(layer);
  linear.set("kda_layers", kda).set("full_attn_layers", full);
  root.set("linear_attn_config", linear);
  EXPECT_EQ(parse(root).latent_bytes_per_token(2), 8'064);
}

TEST(Expected, AcceptsTheShapesThatWritersDifferIn) {
  const ModelConfig config = parse(testing::small_k3_config());  // 3 heads of 16, 4 taps, hidden 96
  const auto accepted = [&](const std::string& suffix, const std::vector<int64_t>& shape) {
    bool yes = false;
    for_each_expected(config, [&](const ExpectedTensor& t) {
      if (t.name.ends_with(suffix)) yes = shape_accepted(config, t, shape);
    });
    return yes;
  };
  EXPECT_TRUE(accepted("A_log", {128}));
  EXPECT_TRUE(accepted("A_log", {3}));
  EXPECT_TRUE(accepted("A_log", {1, 1, 3, 1}));
  EXPECT_FALSE(accepted("A_log", {4}));
  EXPECT_FALSE(accepted("A_log", {16}));
  EXPECT_TRUE(accepted("q_conv1d.weight", {48, 1, 4}));
  EXPECT_TRUE(accepted("q_conv1d.weight", {48, 4}));
  EXPECT_FALSE(accepted("q_conv1d.weight", {4, 48}));
  EXPECT_TRUE(accepted("block_sparse_moe.gate.weight", {6, 96}));
  EXPECT_TRUE(accepted("block_sparse_moe.gate.weight", {6, 64}));
  EXPECT_FALSE(accepted("block_sparse_moe.gate.weight", {6, 48}));
  EXPECT_TRUE(accepted("output_attn_res_proj.weight", {96}));
  EXPECT_FALSE(accepted("model.norm.weight", {1, 96}));
}

}  // namespace
}  // namespace trine::checkpoint
