// Configs that contradict themselves, ask for what nothing here can run, or are absurd.
#include "checkpoint/config.h"

#include <gtest/gtest.h>

#include <ostream>

#include "support/checkpoint_builder.h"
#include "support/finding_checks.h"

namespace trine::testing {
namespace {

using checkpoint::Findings;
using checkpoint::ModelConfig;

struct Case {
  std::string name;
  std::string key;    ///< in text_config, or "linear.KEY", or "top.KEY"
  std::string value;  ///< JSON; empty = the key is removed
  std::string kind;   ///< expected finding
  std::string names;  ///< text the finding must contain
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

json::Value* member(json::Value* object, const std::string& key) {
  for (auto& [name, value] : object->as_object())
    if (name == key) return &value;
  return nullptr;
}

void change(json::Value* root, const std::string& path, const std::string& value) {
  json::Value* object = path.starts_with("top.") ? root : member(root, "text_config");
  std::string key = path.starts_with("top.") ? path.substr(4) : path;
  if (path.starts_with("linear.")) {
    object = member(object, "linear_attn_config");
    key = path.substr(7);
  }
  if (value.empty()) {
    auto& members = object->as_object();
    std::erase_if(members, [&key](const auto& m) { return m.first == key; });
  } else {
    object->set(key, *json::parse(value, "test"));
  }
}

Findings parse(const json::Value& root, ModelConfig* config = nullptr) {
  Findings findings;
  const ModelConfig parsed = parse_config(root, nullptr, "config.json", &findings);
  if (config != nullptr) *config = parsed;
  return findings;
}

TEST(Config, BlamesGenerationConfigForItsOwnEosTokens) {
  const json::Value generation = *json::parse(R"({"eos_token_id":[1,"x"]})", "test");
  Findings findings;
  parse_config(small_k3_config(), &generation, "config.json", &findings);
  EXPECT_EQ(count_findings(findings, "config-value", "generation_config.json: eos_token_id"), 1)
      << all_findings(findings);
  EXPECT_EQ(count_findings(findings, "config-value"), 1) << all_findings(findings);
}

class Config : public ::testing::TestWithParam<Case> {};

TEST_P(Config, IsRefusedNamingKeyAndValues) {
  json::Value root = small_k3_config();
  change(&root, GetParam().key, GetParam().value);
  const Findings findings = parse(root);
  EXPECT_TRUE(has_errors(findings));
  EXPECT_GE(count_findings(findings, GetParam().kind, GetParam().names), 1)
      << all_findings(findings);
  expect_explained(findings);
}

const Case kCases[] = {
    {"NoHiddenSize", "hidden_size", "", "config-missing", "hidden_size"},
    {"NoLayers", "num_hidden_layers", "", "config-missing", "num_hidden_layers"},
    {"NoVocabulary", "vocab_size", "null", "config-missing", "vocab_size"},
    {"NoEpsilon", "rms_norm_eps", "", "config-missing", "rms_norm_eps"},
    {"NoLinearAttention", "linear_attn_config", "", "config-missing", "linear_attn_config"},
    {"LinearAttentionIsNoObject", "linear_attn_config", "[]", "config-value", "linear_attn_config"},
    {"NoExpertsPerToken", "num_experts_per_token", "", "config-missing", "num_experts_per_token"},
    {"TextForANumber", "hidden_size", "\"96\"", "config-value", "\"96\""},
    {"FractionForANumber", "hidden_size", "96.5", "config-value", "96.5"},
    {"Zero", "hidden_size", "0", "config-value", "hidden_size"},
    {"Negative", "vocab_size", "-1", "config-value", "-1"},
    {"Absurd", "hidden_size", "1099511627776", "config-value", "1099511627776"},
    {"Beyond64Bits", "hidden_size", "99999999999999999999999", "config-value", "hidden_size"},
    {"AMillionLayers", "num_hidden_layers", "1000000", "config-value", "1000000"},
    {"AbsurdExperts", "num_experts", "1000000", "config-value", "num_experts"},
    {"AbsurdWidth", "linear.head_dim", "65536000", "config-value", "head_dim"},
    {"NumberForAFlag", "moe_renormalize", "1", "config-value", "moe_renormalize"},
    {"KeyValueHeads", "num_key_value_heads", "1", "config-contradiction",
     "num_attention_heads = 2"},
    {"TopKOverExperts", "num_experts_per_token", "7", "config-contradiction", "num_experts = 6"},
    {"TopGroupOverGroups", "topk_group", "2", "config-contradiction", "num_expert_group"},
    {"ExpertsNotDivisible", "num_expert_group", "4", "config-contradiction", "divisor"},
    {"GroupsOfOne", "num_expert_group", "6", "config-contradiction", "groups of 1 expert"},
    {"LayerInBothLists", "linear.kda_layers", "[1,2,3,4]", "config-contradiction", "layer 3 twice"},
    {"LayerTwiceInOneList", "linear.kda_layers", "[1,2,2,4]", "config-contradiction",
     "layer 2 twice"},
    {"LayerInNoList", "linear.kda_layers", "[1,2]", "config-contradiction", "layer 4 in no list"},
    {"LayersFromZero", "linear.kda_layers", "[0,1,3]", "config-contradiction", "1-based"},
    {"LayerBeyondTheLast", "linear.full_attn_layers", "[3,5]", "config-contradiction", "layer 5"},
    {"LayersAreNoNumbers", "linear.kda_layers", "[1,\"2\",4]", "config-value", "\"2\""},
    {"GateBoundAboveZero", "linear.gate_lower_bound", "5.0", "config-contradiction",
     "gate_lower_bound"},
    {"EpsilonOfZero", "rms_norm_eps", "0", "config-contradiction", "rms_norm_eps"},
    {"EpsilonIsText", "rms_norm_eps", "\"small\"", "config-value", "small"},
    {"NegativeBeta", "activation_situ_beta", "-4", "config-contradiction", "activation_situ_beta"},
    {"LinearBetaOfZero", "activation_situ_linear_beta", "0", "config-contradiction", "linear_beta"},
    {"ScalingOfZero", "routed_scaling_factor", "0", "config-contradiction",
     "routed_scaling_factor"},
    {"EndBeyondVocabulary", "top.eos_token_id", "640", "config-contradiction", "vocab_size = 640"},
    {"RotaryEmbedding", "mla_use_nope", "false", "feature-unsupported", "rotary"},
    {"UnknownActivation", "hidden_act", "\"gelu\"", "feature-unsupported", "gelu"},
    {"UnknownRouter", "moe_router_activation_func", "\"tanh\"", "feature-unsupported", "tanh"},
    {"UnknownTopK", "topk_method", "\"greedy\"", "feature-unsupported", "greedy"},
    {"OtherFamily", "top.model_type", "\"llama\"", "architecture-unsupported", "llama"},
    {"TiedInOnePlaceOnly", "tie_word_embeddings", "true", "config-contradiction",
     "tie_word_embeddings"},
    {"VisionOfAnotherWidth", "top.vision_config",
     R"({"vt_hidden_size":32,"vt_intermediate_size":64,"vt_num_hidden_layers":2,
        "vt_num_attention_heads":4,
        "qkv_hidden_size":48,"mm_hidden_size":32,"patch_size":14,"init_pos_emb_height":8,
        "init_pos_emb_width":8,"text_hidden_size":95})",
     "config-contradiction", "hidden_size = 96"},
    {"VisionIsNoObject", "top.vision_config", "3", "config-missing", "vt_hidden_size"},
};

std::string case_name(const ::testing::TestParamInfo<Case>& c) { return c.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Config, ::testing::ValuesIn(kCases), case_name);

TEST(Config, TopKMustFitTheGroupsThatAreChosen) {
  json::Value root = small_k3_config();
  change(&root, "num_expert_group", "3");
  change(&root, "num_experts_per_token", "3");
  EXPECT_EQ(count_findings(parse(root), "config-contradiction", "experts of topk_group groups"), 1);
  change(&root, "num_experts_per_token", "2");
  EXPECT_FALSE(has_errors(parse(root)));
}

TEST(Config, IsAbsurdWhenItsSizesMultiplyToMoreThanAnyModel) {
  json::Value root = small_k3_config();
  change(&root, "hidden_size", "200000000");
  change(&root, "vocab_size", "200000000");
  EXPECT_EQ(count_findings(parse(root), "config-absurd", "parameters"), 1);
  root = small_k3_config();
  change(&root, "num_experts", "65536");
  change(&root, "num_hidden_layers", "4096");
  EXPECT_EQ(count_findings(parse(root), "config-absurd", "experts in all layers"), 1);
  root = small_k3_config();
  change(&root, "num_attention_heads", "65536");
  change(&root, "num_key_value_heads", "65536");
  change(&root, "v_head_dim", "65536");
  EXPECT_EQ(count_findings(parse(root), "config-absurd", "width"), 1);
}

TEST(Config, NamesBothSpellingsOfAMisspeltKey) {
  for (const auto& [wrong, right] : std::vector<std::pair<std::string, std::string>>{
           {"attn_res_blocksize", "attn_res_block_size"},
           {"attn_res_block_sizes", "attn_res_block_size"},
           {"attn_res_blcok_size", "attn_res_block_size"},
           {"num_shared_expert", "num_shared_experts"},
           {"routed_expert_hidden_siz", "routed_expert_hidden_size"},
           {"q_lora_ranks", "q_lora_rank"}}) {
    json::Value root = small_k3_config();
    change(&root, right, "");
    change(&root, wrong, "2");
    const Findings findings = parse(root);
    EXPECT_EQ(count_findings(findings, "key-misspelt", wrong), 1) << all_findings(findings);
    EXPECT_EQ(count_findings(findings, "key-misspelt", right), 1) << wrong;
  }
  json::Value root = small_k3_config();
  change(&root, "linear.gate_lower_bound", "");
  change(&root, "linear.gate_lowerbound", "-5.0");
  EXPECT_EQ(count_findings(parse(root), "key-misspelt", "gate_lowerbound"), 1);
}

TEST(Config, IgnoresUnknownKeysThatResembleNothingMissing) {
  json::Value root = small_k3_config();
  change(&root, "num_experts_per_tok", "2");  // beside the right one
  change(&root, "some_future_option", "true");
  change(&root, "top.transformers_version", "\"5.0\"");
  EXPECT_TRUE(parse(root).empty()) << all_findings(parse(root));
}

TEST(Config, ListsAllContradictionsAtOnce) {
  json::Value root = small_k3_config();
  change(&root, "num_key_value_heads", "1");
  change(&root, "num_experts_per_token", "7");
  change(&root, "hidden_act", "\"gelu\"");
  change(&root, "linear.kda_layers", "[1,2]");
  const Findings findings = parse(root);
  EXPECT_GE(findings.size(), 4u);
}

TEST(Config, ReadsBothLayouts) {
  ModelConfig k3;
  EXPECT_TRUE(parse(small_k3_config(), &k3).empty());
  EXPECT_EQ(k3.layout, checkpoint::Layout::kK3);
  EXPECT_EQ(k3.tensor_prefix(), "language_model.");
  EXPECT_EQ(k3.is_kda, (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(k3.q_lora_rank, 24);
  EXPECT_EQ(k3.gate_lower_bound, -5.0f);
  EXPECT_EQ(k3.expert_width(), 64);
  EXPECT_EQ(k3.eos_token_ids, (std::vector<int64_t>{386}));
  EXPECT_EQ(k3.attn_res_block_size, 2);
  ModelConfig flat;
  EXPECT_TRUE(parse(small_linear_config(), &flat).empty());
  EXPECT_EQ(flat.layout, checkpoint::Layout::kKimiLinear);
  EXPECT_EQ(flat.tensor_prefix(), "");
  EXPECT_FALSE(flat.q_lora_rank.has_value());
  EXPECT_FALSE(flat.gate_lower_bound.has_value());
  EXPECT_FALSE(flat.attn_res_block_size.has_value());
  EXPECT_EQ(flat.expert_width(), 96);
  EXPECT_EQ(flat.max_position_embeddings, 1'048'576);
  EXPECT_EQ(flat.hidden_act, checkpoint::Activation::kSilu);
}

TEST(Config, AbsentAndNullMeanTheDefaultsOfTheRelease) {
  json::Value root = small_k3_config();
  for (const char* key :
       {"moe_renormalize", "routed_scaling_factor", "topk_group", "num_expert_group",
        "moe_layer_freq", "num_shared_experts", "activation_situ_linear_beta"})
    change(&root, key, "null");
  change(&root, "activation_situ_beta", "0");
  ModelConfig config;
  EXPECT_TRUE(parse(root, &config).empty());
  EXPECT_TRUE(config.moe_renormalize);
  EXPECT_EQ(config.routed_scaling_factor, 1.0f);
  EXPECT_EQ(config.num_shared_experts, 0);
  EXPECT_EQ(config.activation_situ_beta, 1.0f);
  EXPECT_FALSE(config.activation_situ_linear_beta.has_value());
}

TEST(Config, CollectsEndTokensOfConfigAndGeneration) {
  json::Value root = small_k3_config();
  change(&root, "top.eos_token_id", "[386, 385]");
  const json::Value generation = *json::parse(R"({"eos_token_id": [393, 386]})", "generation");
  Findings findings;
  const ModelConfig config = parse_config(root, &generation, "config.json", &findings);
  EXPECT_EQ(config.eos_token_ids, (std::vector<int64_t>{386, 385, 393}));
}

TEST(Config, RefusesWhatIsNoObject) {
  for (const char* text :
       {"[]", "3", "null", "\"x\"", "{}", R"({"text_config":{}})", R"({"model_type":"kimi_k3"})",
        R"({"model_type":"kimi_k3","text_config":7})"}) {
    const Findings findings = parse(*json::parse(text, "test"));
    EXPECT_TRUE(has_errors(findings)) << text;
    expect_explained(findings);
  }
}

}  // namespace
}  // namespace trine::testing
