// A checkpoint damaged in one way: what the audit must say, and that it is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>

#include "checkpoint/checkpoint.h"
#include "support/checkpoint_builder.h"
#include "support/finding_checks.h"
#include "support/temp_dir.h"

namespace trine::testing {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ExpectedTensor;
using checkpoint::Role;

constexpr const char* kExpert = "language_model.model.layers.1.block_sparse_moe.experts.3.w1";
constexpr const char* kLinear = "language_model.model.layers.0.self_attn.q_proj";
constexpr const char* kNorm = "language_model.model.layers.2.input_layernorm.weight";

struct Case {
  std::string name;
  ModuleCoding experts;
  std::function<void(CheckpointBuilder*)> damage;
  std::string kind;
  std::string names;  ///< text that the finding must contain
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Damage : public ::testing::TestWithParam<Case> {};

CheckpointBuilder build(const ModuleCoding& experts) {
  CheckpointBuilder builder(small_k3_config(), 3);
  builder.choose(
      [&experts](const ExpectedTensor& t) { return t.role == Role::kExpert ? experts : bf16(); });
  builder.build();
  return builder;
}

TEST_P(Damage, IsRefusedNamingTensorFoundAndExpected) {
  TempDir folder;
  CheckpointBuilder builder = build(GetParam().experts);
  GetParam().damage(&builder);
  builder.write(folder.path(), 2);
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
  const checkpoint::Findings& findings = checkpoint->findings();
  EXPECT_GE(count_findings(findings, GetParam().kind, GetParam().names), 1)
      << all_findings(findings);
  expect_explained(findings);
  const Status refused = checkpoint->require_whole();
  EXPECT_EQ(refused.code(), Code::kCorrupt);
  EXPECT_NE(refused.message().find(GetParam().names), std::string::npos) << refused.message();
}

std::string expert(const std::string& suffix) { return std::string(kExpert) + suffix; }
void drop(CheckpointBuilder* b, const std::string& name) {
  ASSERT_EQ(b->tensors().erase(name), 1u) << name;
}
void reshape(CheckpointBuilder* b, const std::string& name, std::vector<int64_t> shape) {
  b->tensors().at(name).shape = std::move(shape);
}
void set_byte(CheckpointBuilder* b, const std::string& name, size_t at, int value) {
  b->tensors().at(name).bytes.at(at) = static_cast<char>(value);
}
void set_float(CheckpointBuilder* b, const std::string& name, size_t at, float value) {
  std::string bytes;
  append_bytes(&bytes, value);
  b->tensors().at(name).bytes.replace(at * 4, 4, bytes);
}
/// A half of the tensor's bytes under a shape that fits them.
void halve(CheckpointBuilder* b, const std::string& name) {
  RawTensor& tensor = b->tensors().at(name);
  tensor.bytes.resize(tensor.bytes.size() / 2);
  tensor.shape[0] /= 2;
}

std::vector<Case> missing_cases() {
  return {
      {"NormMissing", mxfp4(), [](auto* b) { drop(b, kNorm); }, "missing-tensor", kNorm},
      {"LinearMissing", mxfp4(), [](auto* b) { drop(b, std::string(kLinear) + ".weight"); },
       "missing-tensor", kLinear},
      {"HeadMissing", mxfp4(), [](auto* b) { drop(b, "language_model.lm_head.weight"); },
       "missing-tensor", "lm_head"},
      {"PackedMissing", mxfp4(), [](auto* b) { drop(b, expert(".weight_packed")); },
       "missing-tensor", kExpert},
      {"ScaleMissing", mxfp4(), [](auto* b) { drop(b, expert(".weight_scale")); }, "missing-tensor",
       "experts.3.w1.weight_scale"},
      {"GlobalScaleMissing", nvfp4(), [](auto* b) { drop(b, expert(".weight_global_scale")); },
       "missing-tensor", "weight_global_scale"},
      {"Fp8ScaleMissing", fp8(), [](auto* b) { drop(b, expert(".weight_scale")); },
       "missing-tensor", "experts.3.w1.weight_scale"},
      {"Int8ScaleMissing", int8(), [](auto* b) { drop(b, expert(".weight_scale")); },
       "missing-tensor", "experts.3.w1.weight_scale"},
  };
}

std::vector<Case> shape_cases() {
  return {
      {"NormTooShort", mxfp4(), [](auto* b) { halve(b, kNorm); }, "shape", kNorm},
      {"LinearTransposed", mxfp4(),
       [](auto* b) {
         reshape(b, std::string(kLinear) + ".weight", {96, 48});
       },
       "shape", kLinear},
      {"PackedHalved", mxfp4(), [](auto* b) { halve(b, expert(".weight_packed")); }, "shape",
       "weight_packed"},
      {"ScaleHalved", mxfp4(), [](auto* b) { halve(b, expert(".weight_scale")); }, "shape",
       "weight_scale"},
      {"ZeroPointHalved",
       [] {
         auto c = int4(32);
         c.zero_point = true;
         return c;
       }(),
       [](auto* b) { halve(b, expert(".weight_zero_point")); }, "shape", "weight_zero_point"},
      {"GroupIndexHalved",
       [] {
         auto c = int4(32);
         c.g_idx = true;
         return c;
       }(),
       [](auto* b) { halve(b, expert(".weight_g_idx")); }, "shape", "weight_g_idx"},
      {"GroupIndexOutOfRange",
       [] {
         auto c = int4(32);
         c.g_idx = true;
         return c;
       }(),
       [](auto* b) { set_byte(b, expert(".weight_g_idx"), 8, 77); }, "group-index",
       "77 at element 2"},
      {"WeightShapeOfOtherWeights", int4(32),
       [](auto* b) { set_byte(b, expert(".weight_shape"), 8, 63); }, "shape", "[96, 63]"},
      {"WeightShapeOfZero", int4(32), [](auto* b) { set_byte(b, expert(".weight_shape"), 0, 0); },
       "shape", "weight_shape"},
  };
}

std::vector<Case> type_cases() {
  return {
      {"IntegerNorm", mxfp4(), [](auto* b) { b->tensors().at(kNorm).dtype = "I16"; }, "dtype",
       "I16"},
      {"IntegerLinear", mxfp4(),
       [](auto* b) { b->tensors().at(std::string(kLinear) + ".weight").dtype = "U16"; }, "dtype",
       "U16"},
      {"DoubleLinear", mxfp4(),
       [](auto* b) {
         RawTensor& t = b->tensors().at(std::string(kLinear) + ".weight");
         t.dtype = "F64";
         t.bytes.resize(t.bytes.size() * 4);
       },
       "dtype", "F64"},
      {"ScalesOfAnotherType", mxfp4(),
       [](auto* b) { b->tensors().at(expert(".weight_scale")).dtype = "I8"; }, "dtype", "I8"},
      {"WeightBesidePacked", mxfp4(),
       [](auto* b) { b->tensors()[expert(".weight")] = float_tensor(DType::kBf16, {1}, {0}); },
       "duplicate-weight", kExpert},
      {"ScaleBesidePlain", mxfp4(),
       [](auto* b) {
         b->tensors()[std::string(kLinear) + ".weight_scale"] = float_tensor(DType::kF32, {1}, {1});
       },
       "unexpected-scale", kLinear},
  };
}

std::vector<Case> extra_cases() {
  return {
      {"ExtraTensor", mxfp4(),
       [](auto* b) {
         b->tensors()["language_model.model.layers.0.bias"] = float_tensor(DType::kF32, {1}, {1});
       },
       "extra-tensor", "layers.0.bias"},
      {"ExtraLayer", mxfp4(),
       [](auto* b) {
         b->tensors()["language_model.model.layers.4.input_layernorm.weight"] =
             float_tensor(DType::kF32, {96}, std::vector<float>(96));
       },
       "extra-tensor", "layers.4"},
      {"ExtraExpert", mxfp4(),
       [](auto* b) {
         std::string name = expert(".weight_packed");
         RawTensor copy = b->tensors().at(name);
         b->tensors()[name.replace(name.find("experts.3"), 9, "experts.6")] = copy;
       },
       "extra-tensor", "experts.6"},
      {"BlockSizeAbsent", mxfp4(),
       [](auto* b) { b->text_config().set("attn_res_block_size", json::Value()); },
       "feature-undeclared", "attn_res_block_size"},
      {"BlockSizeMisspelt", mxfp4(),
       [](auto* b) {
         for (auto& [key, value] : b->text_config().as_object())
           if (key == "attn_res_block_size") key = "attention_residual_block";
       },
       "feature-undeclared", "mlp_res_norm"},
      {"ResidualTensorsAbsent", mxfp4(),
       [](auto* b) {
         std::erase_if(b->tensors(),
                       [](const auto& t) { return t.first.find("_res_") != std::string::npos; });
       },
       "feature-without-tensors", "attn_res_block_size"},
      {"OneResidualTensorAbsent", mxfp4(),
       [](auto* b) { drop(b, "language_model.model.output_attn_res_proj.weight"); },
       "missing-tensor", "output_attn_res_proj"},
  };
}

std::vector<Case> feature_cases() {
  return {
      {"OutputGateUndeclared", mxfp4(),
       [](auto* b) { b->text_config().set("mla_use_output_gate", false); }, "extra-tensor",
       "g_proj"},
      {"LatentUndeclared", mxfp4(),
       [](auto* b) { b->text_config().set("routed_expert_hidden_size", json::Value()); },
       "extra-tensor", "routed_expert_down_proj"},
      {"SharedExpertsUndeclared", mxfp4(),
       [](auto* b) { b->text_config().set("num_shared_experts", 0); }, "extra-tensor",
       "shared_experts"},
      {"SharedExpertsOfAnotherWidth", mxfp4(),
       [](auto* b) { b->text_config().set("num_shared_experts", 1); }, "shape", "shared_experts"},
      {"LowRankQueryUndeclared", mxfp4(),
       [](auto* b) { b->text_config().set("q_lora_rank", json::Value()); }, "missing-tensor",
       "layers.2.self_attn.q_proj"},
      {"VisionUndeclared", mxfp4(),
       [](auto* b) { b->tensors()["vision_tower.x.weight"] = float_tensor(DType::kF32, {1}, {1}); },
       "feature-undeclared", "vision_config"},
  };
}

std::vector<Case> value_cases() {
  return {
      {"NanScaleE8m0", mxfp4(), [](auto* b) { set_byte(b, expert(".weight_scale"), 5, 255); },
       "scale-value", "NaN at element 5"},
      {"NanScaleF32", int4(32),
       [](auto* b) {
         set_float(b, expert(".weight_scale"), 3, std::numeric_limits<float>::quiet_NaN());
       },
       "scale-value", "NaN at element 3"},
      {"InfiniteScale", fp8(),
       [](auto* b) {
         set_float(b, expert(".weight_scale"), 3, std::numeric_limits<float>::infinity());
       },
       "scale-value", "inf at element 3"},
      {"NanScaleE4m3", nvfp4(), [](auto* b) { set_byte(b, expert(".weight_scale"), 9, 0x7F); },
       "scale-value", "NaN at element 9"},
      {"GlobalScaleOfZero", nvfp4(),
       [](auto* b) { set_float(b, expert(".weight_global_scale"), 0, 0); }, "scale-value", "not 0"},
      {"NanNorm", mxfp4(),
       [](auto* b) { set_byte(b, kNorm, 1, 0x7F), set_byte(b, kNorm, 0, 0xC0); },
       "value-not-finite", kNorm},
      {"NanALog", mxfp4(),
       [](auto* b) {
         set_float(b, "language_model.model.layers.0.self_attn.A_log", 2,
                   std::numeric_limits<float>::quiet_NaN());
       },
       "value-not-finite", "A_log"},
  };
}

std::vector<Case> config_cases() {
  return {
      {"OtherPrefix", mxfp4(),
       [](auto* b) {
         RawTensors renamed;
         for (auto& [name, tensor] : b->tensors()) renamed[name.substr(15)] = tensor;
         b->tensors() = renamed;
       },
       "layout-mismatch", "language_model."},
      {"GroupSizeOfConfigDiffers", int4(32),
       [](auto* b) {
         json::Value quantization = *b->text_config().find("quantization_config");
         json::Value text = *json::parse(
             [&] {
               std::string t = json::dump(quantization);
               t.replace(t.find("\"group_size\":32"), 15, "\"group_size\":16");
               return t;
             }(),
             "t");
         b->text_config().set("quantization_config", text);
       },
       "config-contradiction", "group_size 16"},
      {"RotatedWeights", mxfp4(),
       [](auto* b) {
         json::Value quantization = *b->text_config().find("quantization_config");
         quantization.set("transform_config", *json::parse(R"({"config_groups":{"u":{}}})", "t"));
         b->text_config().set("quantization_config", quantization);
       },
       "feature-unsupported", "transform_config"},
      {"UnknownFormat", mxfp4(),
       [](auto* b) {
         b->text_config().set("quantization_config", *json::parse(
                                                         R"({"quant_method":"compressed-tensors",
                 "config_groups":{"g":{"format":"marlin-24","targets":["Linear"]}}})",
                                                         "t"));
       },
       "format-unsupported", "marlin-24"},
      {"OtherQuantisation", mxfp4(),
       [](auto* b) {
         b->text_config().set("quantization_config",
                              *json::parse(R"({"quant_method":"gptq"})", "t"));
       },
       "quantization-config", "gptq"},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& part : {missing_cases(), shape_cases(), type_cases(), extra_cases(),
                           feature_cases(), value_cases(), config_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& c) { return c.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Damage, ::testing::ValuesIn(cases()), case_name);

TEST(Audit, FindsEachTensorWhoseLossWouldMatter) {
  TempDir folder;
  const CheckpointBuilder whole = build(nvfp4());
  CheckpointBuilder names = whole;
  for (const auto& [name, unused] : names.tensors()) {
    CheckpointBuilder builder = whole;
    builder.tensors().erase(name);
    builder.write(folder.path());
    Result<Checkpoint> checkpoint = Checkpoint::open(folder.path(), {.scan_scales = false});
    ASSERT_TRUE(checkpoint.ok());
    const std::string module = name.substr(0, name.rfind(".weight"));
    EXPECT_EQ(checkpoint->require_whole().code(), Code::kCorrupt) << name;
    EXPECT_GE(count_findings(checkpoint->findings(), "missing-tensor", module), 1) << name;
  }
}

TEST(Audit, ListsEveryFindingOfSeveral) {
  TempDir folder;
  CheckpointBuilder builder = build(mxfp4());
  drop(&builder, kNorm);
  halve(&builder, std::string(kLinear) + ".weight");
  set_byte(&builder, expert(".weight_scale"), 5, 255);
  builder.tensors()["stray"] = float_tensor(DType::kF32, {1}, {1});
  builder.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  for (const auto& [kind, part] :
       {std::pair("missing-tensor", kNorm), std::pair("shape", kLinear),
        std::pair("scale-value", kExpert), std::pair("extra-tensor", "stray")})
    EXPECT_EQ(count_findings(checkpoint->findings(), kind, part), 1)
        << all_findings(checkpoint->findings());
}

TEST(Audit, CutsLongListsInTextAndNotInTheFindings) {
  TempDir folder;
  CheckpointBuilder builder = build(mxfp4());
  for (int i = 0; i < 100; ++i)
    builder.tensors()["extra." + std::to_string(i)] = float_tensor(DType::kF32, {1}, {1});
  builder.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(count_findings(checkpoint->findings(), "extra-tensor"), 100);
  const std::string message = checkpoint->require_whole().message();
  EXPECT_NE(message.find("... and 80 more of this kind"), std::string::npos) << message;
  EXPECT_NE(message.find("80 more errors are left out here: `trine inspect " + folder.path() +
                         "` lists them all"),
            std::string::npos)
      << message;
}

TEST(Audit, PointsAtInspectOnlyWhenSomethingIsLeftOut) {
  const TempDir parent;
  CheckpointBuilder builder = build(mxfp4());
  drop(&builder, kNorm);
  const std::string folder = parent / "my model's";
  builder.write(folder);
  EXPECT_EQ(Checkpoint::open(folder)->require_whole().message().find("trine inspect"),
            std::string::npos);
  for (int i = 0; i < 21; ++i)
    builder.tensors()["extra." + std::to_string(i)] = float_tensor(DType::kF32, {1}, {1});
  builder.write(folder);
  const std::string message = Checkpoint::open(folder)->require_whole().message();
  EXPECT_NE(message.find("1 more error is left out here"), std::string::npos) << message;
  EXPECT_NE(message.find("my model'\\''s'` lists them all"), std::string::npos) << message;
}

TEST(Audit, LeavesOutTheScanWhenAsked) {
  TempDir folder;
  CheckpointBuilder builder = build(mxfp4());
  set_byte(&builder, expert(".weight_scale"), 5, 255);
  builder.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path(), {.scan_scales = false});
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_TRUE(checkpoint->require_whole().ok());
  EXPECT_FALSE(checkpoint->scales_scanned());
}

TEST(Audit, AcceptsWhatOtherWritersAdd) {
  TempDir folder;
  CheckpointBuilder builder = build(nvfp4());
  builder.tensors()[expert(".input_global_scale")] = float_tensor(DType::kF32, {1}, {1});
  builder.tensors()["language_model.model.layers.2.self_attn.rotary_emb.inv_freq"] =
      float_tensor(DType::kF32, {4}, {1, 2, 3, 4});
  builder.text_config().set("num_nextn_predict_layers", 1);
  builder.tensors()["language_model.model.layers.4.eh_proj.weight"] =
      float_tensor(DType::kF32, {1}, {1});
  set_byte(&builder, expert(".weight_scale"), 0, 0);     // a group of zeros
  set_byte(&builder, expert(".weight_scale"), 1, 0xB8);  // a negative scale
  builder.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_TRUE(checkpoint->require_whole().ok()) << all_findings(checkpoint->findings());
  EXPECT_EQ(count_findings(checkpoint->findings(), "ignored-tensor"), 2);
  EXPECT_EQ(count_findings(checkpoint->findings(), "mtp-ignored"), 1);
}

TEST(Audit, AcceptsTheShapesThatWritersDifferIn) {
  TempDir folder;
  CheckpointBuilder builder = build(mxfp4());
  for (auto& [name, tensor] : builder.tensors()) {
    if (name.ends_with("conv1d.weight")) tensor.shape = {48, 4};
    if (name.ends_with("_res_proj.weight")) tensor.shape = {96};
    if (name.ends_with("A_log")) {
      tensor.shape = {3};
      tensor.bytes.resize(12);
    }
    if (name.ends_with("block_sparse_moe.gate.weight")) {  // a router over the latent
      tensor.shape = {6, 64};
      tensor.bytes.resize(6 * 64 * 2);
    }
  }
  builder.write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_TRUE(checkpoint->require_whole().ok()) << all_findings(checkpoint->findings());
  EXPECT_EQ(checkpoint->linear("language_model.model.layers.1.block_sparse_moe.gate")->in, 64);
}

TEST(Audit, ReadsTheHeadFromTiedEmbeddings) {
  TempDir folder;
  CheckpointBuilder builder(small_linear_config());
  builder.config().set("tie_word_embeddings", true);
  builder.build().write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(checkpoint->require_whole().ok()) << all_findings(checkpoint->findings());
  EXPECT_EQ(checkpoint->linear("lm_head")->codes, checkpoint->find("model.embed_tokens.weight"));
}

TEST(Audit, RefusesReadsOutsideATensor) {
  TempDir folder;
  build(mxfp4()).write(folder.path());
  Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  const checkpoint::TensorInfo* norm = checkpoint->find(kNorm);
  ASSERT_NE(norm, nullptr);
  char bytes[512];
  EXPECT_TRUE(checkpoint->read(*norm, 0, bytes, norm->bytes).ok());
  EXPECT_TRUE(checkpoint->read(*norm, norm->bytes, bytes, 0).ok());
  EXPECT_EQ(checkpoint->read(*norm, 1, bytes, norm->bytes).code(), Code::kInvalidArgument);
  EXPECT_EQ(checkpoint->read(*norm, -1, bytes, 1).code(), Code::kInvalidArgument);
  float floats[96];
  EXPECT_TRUE(checkpoint->read_floats(kNorm, floats, 96).ok());
  EXPECT_EQ(checkpoint->read_floats(kNorm, floats, 95).code(), Code::kCorrupt);
  EXPECT_EQ(checkpoint->read_floats("no.such", floats, 1).code(), Code::kNotFound);
  EXPECT_EQ(checkpoint->linear("no.such").status().code(), Code::kNotFound);
  const auto linear = checkpoint->linear(kLinear);
  EXPECT_EQ(checkpoint->dequantise_rows(*linear, 0, linear->out + 1, floats).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(checkpoint->dequantise_rows(*linear, 2, 1, floats).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace trine::testing
