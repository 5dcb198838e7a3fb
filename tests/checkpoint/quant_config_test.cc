// quantization_config against itself and against the tensors: what contradicts is refused by name,
// what tensors decide is a note.
#include <gtest/gtest.h>
#include <unistd.h>

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "support/checkpoint_builder.h"
#include "support/finding_checks.h"
#include "support/temp_dir.h"

namespace trine::testing {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ExpectedTensor;
using checkpoint::Findings;
using checkpoint::Role;

constexpr const char* kExpert = "language_model.model.layers.1.block_sparse_moe.experts.3.w1";

CheckpointBuilder build(const ModuleCoding& experts) {
  CheckpointBuilder builder(small_k3_config(), 3);
  builder.choose(
      [&experts](const ExpectedTensor& t) { return t.role == Role::kExpert ? experts : bf16(); });
  builder.build();
  return builder;
}

json::Value parsed(const std::string& text) {
  const Result<json::Value> value = json::parse(text, "test");
  EXPECT_TRUE(value.ok()) << value.status().to_string();
  return value.ok() ? *value : json::Value();
}

/// Sets a field of the only config group; of its weights, unless it is "format".
void set_field(CheckpointBuilder* builder, const std::string& field, const json::Value& value) {
  json::Value quantization = *builder->text_config().find("quantization_config");
  json::Value groups = *quantization.find("config_groups");
  ASSERT_EQ(groups.as_object().size(), 1u);
  json::Value group = groups.as_object()[0].second;
  json::Value weights = *group.find("weights");
  (field == "format" ? group : weights).set(field, value);
  group.set("weights", weights);
  groups.set(groups.as_object()[0].first, group);
  quantization.set("config_groups", groups);
  builder->text_config().set("quantization_config", quantization);
}

struct Opened {
  Findings findings;
  Status whole;
  bool config_usable = false;
  int64_t count(const std::string& kind, const std::string& part) const {
    return count_findings(findings, kind, part);
  }
  std::string all() const { return all_findings(findings); }
};

Opened open(const CheckpointBuilder& builder) {
  const TempDir folder;
  builder.write(folder.path(), 2);
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
  if (!checkpoint.ok()) return {};
  expect_explained(checkpoint->findings());
  return {checkpoint->findings(), checkpoint->require_whole(), checkpoint->config_usable()};
}

struct Contradiction {
  std::string name;
  ModuleCoding experts;
  std::string field;
  std::string value;
  std::string says;  ///< text of the finding
};
void PrintTo(const Contradiction& c, std::ostream* out) { *out << c.name; }

class GroupField : public ::testing::TestWithParam<Contradiction> {};

TEST_P(GroupField, ThatContradictsTheFormatIsRefusedOnceAndTheAuditGoesOn) {
  CheckpointBuilder builder = build(GetParam().experts);
  ASSERT_TRUE(open(builder).whole.ok()) << open(builder).all();
  set_field(&builder, GetParam().field, parsed(GetParam().value));
  builder.tensors()["stray"] = float_tensor(DType::kF32, {1}, {1});
  const Opened opened = open(builder);
  EXPECT_EQ(opened.whole.code(), Code::kCorrupt) << opened.all();
  EXPECT_EQ(
      opened.count("config-contradiction", ".weights." + GetParam().field + ": found " +
                                               GetParam().value + ", expected " + GetParam().says),
      1)
      << opened.all();
  EXPECT_EQ(opened.count("config-contradiction", ""), 1) << opened.all();
  EXPECT_TRUE(opened.config_usable);
  EXPECT_EQ(opened.count("extra-tensor", "stray"), 1) << opened.all();
}

std::string field_name(const ::testing::TestParamInfo<Contradiction>& c) { return c.param.name; }
INSTANTIATE_TEST_SUITE_P(
    All, GroupField,
    ::testing::Values(
        Contradiction{"Mxfp4NumBits", mxfp4(), "num_bits", "8", "4"},
        Contradiction{"Mxfp4GroupSize", mxfp4(), "group_size", "16", "32"},
        Contradiction{"Mxfp4Type", mxfp4(), "type", "\"int\"", "\"float\""},
        Contradiction{"Mxfp4Strategy", mxfp4(), "strategy", "\"tensor_group\"", "one of group "},
        Contradiction{"Mxfp4Symmetric", mxfp4(), "symmetric", "false", "true"},
        Contradiction{"Nvfp4NumBits", nvfp4(), "num_bits", "8", "4"},
        Contradiction{"Nvfp4GroupSize", nvfp4(), "group_size", "32", "16"},
        Contradiction{"Mxfp8NumBits", mxfp8(), "num_bits", "4", "8"},
        Contradiction{"PackedNumBits", int4(32), "num_bits", "3", "4 or 8"},
        Contradiction{"PackedType", int4(32), "type", "\"float\"", "\"int\""},
        Contradiction{"PackedBlocks", int4(32), "block_structure", "[128,128]", "none"},
        Contradiction{"Int8NumBits", int8(), "num_bits", "4", "8"},
        Contradiction{"Fp8Type", fp8(), "type", "\"int\"", "\"float\""},
        Contradiction{"ChannelsInGroups", fp8(), "group_size", "32", "none"},
        Contradiction{"NumBitsOfText", mxfp4(), "num_bits", "\"four\"", "a whole number"}),
    field_name);

TEST(GroupFields, ThatContradictTheTensorsAreRefusedNamingAModule) {
  ModuleCoding tensor = fp8();
  tensor.per_tensor = true;
  for (const auto& [coding, field, value] :
       std::vector<std::tuple<ModuleCoding, std::string, std::string>>{
           {int4(32), "num_bits", "8"},
           {int8_packed(32), "num_bits", "4"},
           {int4(32), "group_size", "16"},
           {int4(32), "strategy", "\"tensor\""},
           {fp8(), "strategy", "\"tensor\""},
           {tensor, "strategy", "\"channel\""},
           {int8(), "strategy", "\"tensor\""}}) {
    SCOPED_TRACE(field + " " + value);
    CheckpointBuilder builder = build(coding);
    set_field(&builder, field, parsed(value));
    if (field == "strategy") set_field(&builder, "group_size", json::Value());
    const Opened opened = open(builder);
    EXPECT_EQ(opened.whole.code(), Code::kCorrupt);
    EXPECT_GE(opened.count("config-contradiction", kExpert), 1) << opened.all();
  }
}

TEST(GroupFields, ThatPromiseZeroPointsMissThem) {
  CheckpointBuilder builder = build(int4(32));
  set_field(&builder, "symmetric", json::Value(false));
  const Opened opened = open(builder);
  EXPECT_EQ(opened.whole.code(), Code::kCorrupt);
  EXPECT_EQ(opened.count("missing-tensor", std::string(kExpert) + ".weight_zero_point"), 1)
      << opened.all();
}

TEST(Quantisation, ThatNoConfigDeclaresIsOneNoteAndRuns) {
  for (const ModuleCoding& coding : {mxfp4(), nvfp4(), int4(32), int8(), fp8(), mxfp8()}) {
    CheckpointBuilder builder = build(coding);
    builder.text_config().set("quantization_config", json::Value());
    const Opened opened = open(builder);
    EXPECT_TRUE(opened.whole.ok()) << opened.all();
    EXPECT_EQ(opened.count("quantization-differs", "found no such object"), 1) << opened.all();
    EXPECT_EQ(opened.count("quantization-differs", "54 modules"), 1) << opened.all();
    EXPECT_EQ(opened.count("quantization-differs", "the tensors decide"), 1) << opened.all();
  }
}

TEST(Quantisation, ThatNoGroupDeclaresIsOneNoteAndRuns) {
  CheckpointBuilder builder = build(mxfp4());
  set_field(&builder, "format", json::Value("nvfp4-pack-quantized"));
  set_field(&builder, "group_size", json::Value(16));
  const Opened opened = open(builder);
  EXPECT_TRUE(opened.whole.ok()) << opened.all();
  EXPECT_EQ(opened.count("quantization-differs", "mxfp4-pack-quantized weights in 54 modules"), 1)
      << opened.all();
}

TEST(Quantisation, AssignedToTheGroupOfAnotherFormatIsANote) {
  CheckpointBuilder builder(small_k3_config(), 3);
  builder.choose([](const ExpectedTensor& t) {
    if (t.role != Role::kExpert) return bf16();
    return t.name.find(".w1.") != std::string::npos ? int4(32) : mxfp4();
  });
  builder.build();
  ASSERT_EQ(open(builder).count("quantization-differs", ""), 0) << open(builder).all();
  json::Value quantization = *builder.text_config().find("quantization_config");
  json::Value groups = *quantization.find("config_groups");
  json::Value first = groups.as_object()[0].second;
  json::Value second = groups.as_object()[1].second;
  const json::Value targets = *first.find("targets");
  first.set("targets", *second.find("targets"));
  second.set("targets", targets);
  groups.set(groups.as_object()[0].first, first);
  groups.set(groups.as_object()[1].first, second);
  quantization.set("config_groups", groups);
  builder.text_config().set("quantization_config", quantization);
  const Opened opened = open(builder);
  EXPECT_TRUE(opened.whole.ok()) << opened.all();
  EXPECT_EQ(opened.count("quantization-differs", "targets in 18 modules"), 1) << opened.all();
  EXPECT_EQ(opened.count("quantization-differs", "targets in 36 modules"), 1) << opened.all();
}

TEST(Quantisation, WithZeroPointsCalledSymmetricIsANote) {
  ModuleCoding coding = int4(32);
  coding.zero_point = true;
  CheckpointBuilder builder = build(coding);
  set_field(&builder, "symmetric", json::Value(true));
  const Opened opened = open(builder);
  EXPECT_TRUE(opened.whole.ok()) << opened.all();
  EXPECT_EQ(opened.count("quantization-differs", "the zero points are subtracted"), 1)
      << opened.all();
}

TEST(Quantisation, IsMissedInTheIndexBeforeTheDownload) {
  CheckpointBuilder builder = build(mxfp4());
  builder.text_config().set("quantization_config", json::Value());
  const TempDir folder;
  builder.write(folder.path(), 2);
  for (const char* shard :
       {"model-00001-of-000002.safetensors", "model-00002-of-000002.safetensors"})
    ASSERT_EQ(::unlink((folder / shard).c_str()), 0) << shard;
  const Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_FALSE(has_errors(checkpoint->findings())) << all_findings(checkpoint->findings());
  EXPECT_EQ(count_findings(checkpoint->findings(), "quantization-differs", "54 modules"), 1)
      << all_findings(checkpoint->findings());
}

}  // namespace
}  // namespace trine::testing
