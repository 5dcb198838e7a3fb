// Random small checkpoints of every option of the family and every weight coding, against the fp64
// reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "platform/cpu.h"
#include "support/checkpoint_builder.h"
#include "support/reference_model.h"
#include "support/temp_dir.h"
#include "trine/model.h"

namespace trine {
namespace {

using checkpoint::ExpectedTensor;
using checkpoint::Role;
using testing::CheckpointBuilder;
using testing::ModuleCoding;
using testing::TestRandom;

int64_t one_of(TestRandom& random, std::initializer_list<int64_t> values) {
  return *(values.begin() + random.below(static_cast<int>(values.size())));
}

json::Value number_or_null(bool present, int64_t value) {
  return present ? json::Value(value) : json::Value();
}

/// Any option of the family; dimensions that are no multiples of anything included.
json::Value random_config(TestRandom& random) {
  json::Value config = testing::small_k3_config();
  json::Value text = *config.find("text_config");
  const int64_t layers = one_of(random, {1, 2, 3, 4, 5});
  json::Value full = json::Value::array();
  json::Value kda = json::Value::array();
  const int kind = random.below(6);  // 0: all KDA, 1: all MLA, else a mixture
  for (int64_t l = 1; l <= layers; ++l) {
    const bool is_full = kind == 1 || (kind > 1 && random.below(2) == 0);
    (is_full ? full : kda).push(l);
  }
  json::Value linear = json::Value::object();
  linear.set("full_attn_layers", full);
  linear.set("kda_layers", kda);
  linear.set("num_heads", one_of(random, {1, 2, 3, 5}));
  linear.set("head_dim", one_of(random, {8, 16, 24, 40, 64}));
  linear.set("short_conv_kernel_size", one_of(random, {1, 2, 3, 4, 6}));
  linear.set("use_full_rank_gate", random.below(2) == 0);
  linear.set("gate_lower_bound", number_or_null(random.below(2) == 0, -5));
  text.set("linear_attn_config", linear);
  text.set("num_hidden_layers", layers);
  text.set("hidden_size", one_of(random, {32, 72, 96}));
  const int64_t heads = one_of(random, {1, 2, 3});
  text.set("num_attention_heads", heads);
  text.set("num_key_value_heads", heads);
  text.set("q_lora_rank", number_or_null(random.below(2) == 0, one_of(random, {16, 24})));
  text.set("kv_lora_rank", one_of(random, {16, 32, 40}));
  text.set("qk_nope_head_dim", one_of(random, {8, 16, 24}));
  text.set("qk_rope_head_dim", one_of(random, {4, 8, 16}));
  text.set("v_head_dim", one_of(random, {8, 16, 20}));
  text.set("mla_use_output_gate", random.below(2) == 0);
  text.set("first_k_dense_replace", one_of(random, {0, 1, 2}));
  text.set("moe_layer_freq", one_of(random, {1, 1, 2}));
  text.set("intermediate_size", one_of(random, {40, 160}));
  const int64_t groups = one_of(random, {1, 1, 2, 4});
  const int64_t kept = groups == 1 ? 1 : one_of(random, {1, groups});
  const int64_t experts = groups * one_of(random, {3, 4});
  text.set("num_experts", experts);
  text.set("num_expert_group", groups);
  text.set("topk_group", kept);
  text.set("num_experts_per_token", std::min(one_of(random, {1, 2, 3}), experts / groups * kept));
  text.set("num_shared_experts", one_of(random, {0, 1, 2}));
  text.set("moe_intermediate_size", one_of(random, {24, 32, 96}));
  text.set("routed_expert_hidden_size",
           number_or_null(random.below(2) == 0, one_of(random, {32, 64})));
  text.set("latent_moe_use_norm", random.below(2) == 0);
  text.set("moe_router_activation_func", random.below(2) == 0 ? "sigmoid" : "softmax");
  text.set("moe_renormalize", random.below(2) == 0);
  text.set("routed_scaling_factor", 2.446);
  const bool situ = random.below(2) == 0;
  text.set("hidden_act", situ ? "situ" : "silu");
  text.set("activation_situ_linear_beta", number_or_null(random.below(2) == 0, 2));
  text.set("attn_res_block_size",
           number_or_null(random.below(2) == 0, one_of(random, {1, 2, 3, 7})));
  config.set("text_config", text);
  return config;
}

/// A coding that fits the module's inputs; the embedding and the router stay plain.
ModuleCoding random_coding(TestRandom& random, const ExpectedTensor& tensor) {
  const int64_t in = tensor.shape[1];
  const bool plain =
      tensor.role != Role::kLinear && tensor.role != Role::kExpert && tensor.role != Role::kLmHead;
  if (plain || random.below(3) == 0) {
    constexpr DType kPlain[] = {DType::kBf16, DType::kF16, DType::kF32};
    return testing::plain(kPlain[random.below(3)]);
  }
  ModuleCoding asymmetric = testing::int4(32);
  asymmetric.zero_point = true;
  ModuleCoding reordered = testing::int4(32);
  reordered.g_idx = true;
  ModuleCoding one_scale = testing::fp8();
  one_scale.per_tensor = true;
  const ModuleCoding any[] = {testing::fp8(),  testing::fp8_blocks(), one_scale,
                              testing::int8(), testing::int4(0),      testing::int8_packed(0)};
  const ModuleCoding by32[] = {testing::mxfp4(),         testing::mxfp8(), testing::int4(32),
                               testing::int8_packed(32), asymmetric,       reordered,
                               testing::nvfp4()};
  if (in % 32 == 0 && random.below(3) != 0) return by32[random.below(7)];
  if (in % 16 == 0 && random.below(3) == 0) return testing::nvfp4();
  if (in % 8 != 0) return any[random.below(4)];
  return any[random.below(6)];
}

double relative_difference(const std::vector<float>& found, const std::vector<double>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double error = 0;
  double size = 1e-12;
  for (size_t i = 0; i < found.size(); ++i) {
    error += std::pow(static_cast<double>(found[i]) - expected[i], 2);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

std::vector<int32_t> random_ids(TestRandom& random, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(random.below(640));
  return ids;
}

/// Runs the checkpoint on one level, prompt in two pieces, and compares everything with the
/// reference.
void expect_agreement(const std::string& folder, Isa isa, const std::vector<int32_t>& ids,
                      const testing::ReferenceOutput& reference) {
  LoadOptions options;
  options.precision = Precision::kExact;
  options.isa = isa_name(isa);
  options.threads = 2;
  options.context = 256;
  Result<Model> model = Model::load(folder, options);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  Result<Sequence> sequence = model->new_sequence();
  ASSERT_TRUE(sequence.ok()) << sequence.status().to_string();
  Trace trace;
  const auto logits = sequence->prefill(ids, {.all_logits = true, .trace = &trace});
  ASSERT_TRUE(logits.ok()) << logits.status().to_string();
  constexpr double kTolerance = 5e-5;
  EXPECT_LE(relative_difference(trace.layers, reference.layers), kTolerance);
  EXPECT_LE(relative_difference(*logits, reference.logits), kTolerance);
  EXPECT_LE(relative_difference(sequence->kda_state(), reference.kda_state), kTolerance);
  EXPECT_LE(relative_difference(sequence->mla_rows(), reference.mla_rows), kTolerance);
  EXPECT_EQ(trace.router_ids, reference.router_ids);
}

TEST(RandomModel, EveryOptionAndCodingAgreesWithTheReference) {
  const std::vector<Isa> levels = supported_isas();
  int compared = 0;
  for (uint64_t seed = 1; seed <= 48; ++seed) {
    TestRandom random(seed);
    const json::Value config = random_config(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + json::dump(config));
    CheckpointBuilder builder(config, seed);
    builder.choose([&](const ExpectedTensor& t) { return random_coding(random, t); }).build();
    const testing::TempDir folder;
    builder.write(folder.path(), 1 + random.below(3));
    const std::vector<int32_t> ids = random_ids(random, 1 + random.below(80));
    const auto reference = testing::reference_forward(
        builder.parsed_config(),
        [&](const std::string& name) -> const std::vector<float>& { return builder.values(name); },
        ids);
    if (reference.router_margin < 1e-6) continue;  // rounding may pick either
    ++compared;
    expect_agreement(folder.path(), levels[seed % levels.size()], ids, reference);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(compared, 40);
}

TEST(RandomModel, ARouterWhoseWeightIsAsWideAsTheLatentReadsTheLatent) {
  CheckpointBuilder builder(testing::small_k3_config(), 5);
  builder.build();
  const checkpoint::ModelConfig config = builder.parsed_config();
  std::map<std::string, std::vector<float>> routers;
  TestRandom random(77);
  for (auto& [name, tensor] : builder.tensors()) {
    constexpr const char* kSuffix = "block_sparse_moe.gate.weight";
    if (name.size() < 28 || name.substr(name.size() - 28) != kSuffix) continue;
    std::vector<float> values(static_cast<size_t>(config.num_experts * config.expert_width()));
    for (float& v : values) v = 0.25f * static_cast<float>(random.below(17) - 8);
    tensor =
        testing::float_tensor(DType::kBf16, {config.num_experts, config.expert_width()}, values);
    routers[name.substr(0, name.size() - 7)] = values;
  }
  ASSERT_EQ(routers.size(), 3u);
  const testing::TempDir folder;
  builder.write(folder.path());
  const std::vector<int32_t> ids = random_ids(random, 40);
  const auto reference = testing::reference_forward(
      config,
      [&](const std::string& name) -> const std::vector<float>& {
        const auto it = routers.find(name);
        return it != routers.end() ? it->second : builder.values(name);
      },
      ids);
  ASSERT_GT(reference.router_margin, 1e-6);
  for (const Isa isa : supported_isas()) expect_agreement(folder.path(), isa, ids, reference);
}

TEST(RandomModel, AFlatKimiLinearConfigAgreesWithTheReference) {
  CheckpointBuilder builder(testing::small_linear_config(), 9);
  builder.build();
  const testing::TempDir folder;
  builder.write(folder.path());
  TestRandom random(3);
  const std::vector<int32_t> ids = random_ids(random, 130);
  const auto reference = testing::reference_forward(
      builder.parsed_config(),
      [&](const std::string& name) -> const std::vector<float>& { return builder.values(name); },
      ids);
  for (const Isa isa : supported_isas()) expect_agreement(folder.path(), isa, ids, reference);
}

}  // namespace
}  // namespace trine
