// Packing of every coding: each weight of the packed matrix is the value that the checkpoint means.
#include "model/packed_linear.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/pack.h"
#include "model/weights.h"
#include "platform/thread_pool.h"
#include "support/checkpoint_builder.h"
#include "support/temp_dir.h"

namespace trine::model {
namespace {

using checkpoint::ExpectedTensor;
using kernels::PackedView;
using kernels::WeightFormat;
using trine::testing::CheckpointBuilder;
using trine::testing::ModuleCoding;

struct CodingCase {
  std::string name;
  ModuleCoding coding;
  WeightFormat format;  ///< that the packed matrix should have
};

ModuleCoding with(ModuleCoding coding, bool ModuleCoding::*flag) {
  coding.*flag = true;
  return coding;
}

std::vector<CodingCase> coding_cases() {
  namespace t = trine::testing;
  return {
      {"f32", t::plain(DType::kF32), WeightFormat::kF32},
      {"f16", t::plain(DType::kF16), WeightFormat::kF16},
      {"bf16", t::bf16(), WeightFormat::kBf16},
      {"mxfp4", t::mxfp4(), WeightFormat::kE2m1},
      {"nvfp4", t::nvfp4(), WeightFormat::kE2m1},
      {"mxfp8", t::mxfp8(), WeightFormat::kE4m3},
      {"int4_group32", t::int4(32), WeightFormat::kInt4},
      {"int4_channel", t::int4(0), WeightFormat::kInt4},
      {"int8_packed", t::int8_packed(32), WeightFormat::kInt8},
      {"int8", t::int8(), WeightFormat::kInt8},
      {"fp8", t::fp8(), WeightFormat::kE4m3},
      {"fp8_tensor", with(t::fp8(), &ModuleCoding::per_tensor), WeightFormat::kE4m3},
      {"fp8_blocks", t::fp8_blocks(), WeightFormat::kE4m3},
      {"int4_zero_points", with(t::int4(32), &ModuleCoding::zero_point), WeightFormat::kF32},
      {"int4_reordered", with(t::int4(32), &ModuleCoding::g_idx), WeightFormat::kF32},
  };
}

class Packing : public ::testing::TestWithParam<CodingCase> {};

/// Element [o, i] of a view against the row-major source.
void expect_weights(const PackedView& view, const std::vector<float>& values, int64_t in,
                    const std::function<size_t(int64_t o, int64_t i)>& source,
                    const std::string& what) {
  ASSERT_GT(in, 0);
  for (int64_t o = 0; o < view.n; ++o) {
    for (int64_t i = 0; i < view.k; ++i) {
      ASSERT_EQ(kernels::unpack_weight(view, o, i), values[source(o, i)])
          << what << " [" << o << ", " << i << "]";
    }
  }
}

TEST_P(Packing, EveryWeightIsTheValueOfTheCheckpoint) {
  CheckpointBuilder builder(trine::testing::small_k3_config(), 17);
  builder.choose([](const ExpectedTensor& t) {
    const bool packed =
        t.role == checkpoint::Role::kExpert || t.name.find("v_proj") != std::string::npos;
    return packed ? GetParam().coding : trine::testing::bf16();
  });
  builder.build();
  const trine::testing::TempDir folder;
  builder.write(folder.path());
  const auto checkpoint = checkpoint::Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
  ASSERT_TRUE(checkpoint->require_whole().ok()) << checkpoint->require_whole().to_string();
  auto weights = plan_weights(checkpoint->config(), &*checkpoint);
  ASSERT_TRUE(weights.ok()) << weights.status().to_string();
  ThreadPool pool({.threads = 3});
  const Status loaded = load_weights(*checkpoint, pool, {}, weights->get());
  ASSERT_TRUE(loaded.ok()) << loaded.to_string();

  const std::string prefix = "language_model.model.layers.1.";
  const auto& moe = std::get<MoeWeights>((*weights)->layers[1].ffn);
  const auto plain = [](int64_t in) {
    return [in](int64_t o, int64_t i) { return static_cast<size_t>(o * in + i); };
  };
  for (size_t e = 0; e < moe.experts.size(); ++e) {
    const std::string expert = prefix + "block_sparse_moe.experts." + std::to_string(e) + ".";
    EXPECT_EQ(moe.experts[e].gate_proj.view.format, GetParam().format);
    expect_weights(moe.experts[e].gate_proj.view, builder.values(expert + "w1"), 64, plain(64),
                   expert + "w1");
    expect_weights(moe.experts[e].up_proj.view, builder.values(expert + "w3"), 64, plain(64),
                   expert + "w3");
    expect_weights(moe.experts[e].down_proj.view, builder.values(expert + "w2"), 96, plain(96),
                   expert + "w2");
  }
  const auto& kda = std::get<KdaWeights>((*weights)->layers[1].attention);
  expect_weights(kda.v_proj.view, builder.values(prefix + "self_attn.v_proj"), 96, plain(96),
                 "v_proj");
}

TEST(PackedLinear, HeadsArePartsOfTheirOwn) {
  CheckpointBuilder builder(trine::testing::small_k3_config(), 18);
  builder.build();
  const trine::testing::TempDir folder;
  builder.write(folder.path());
  const auto checkpoint = checkpoint::Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok());
  auto weights = plan_weights(checkpoint->config(), &*checkpoint);
  ASSERT_TRUE(weights.ok());
  ThreadPool pool({.threads = 2});
  ASSERT_TRUE(load_weights(*checkpoint, pool, {}, weights->get()).ok());
  const auto& mla = std::get<MlaWeights>((*weights)->layers[2].attention);
  const std::vector<float>& kv_b =
      builder.values("language_model.model.layers.2.self_attn.kv_b_proj");
  const std::vector<float>& q_b =
      builder.values("language_model.model.layers.2.self_attn.q_b_proj");
  constexpr int64_t kNope = 16, kValue = 16, kRank = 32, kQuery = 24, kLora = 24;
  for (int64_t head = 0; head < 2; ++head) {
    const int64_t first = head * (kNope + kValue);
    const auto key = [&](int64_t o, int64_t i) {
      return static_cast<size_t>((first + i) * kRank + o);
    };
    const auto value = [&](int64_t o, int64_t i) {
      return static_cast<size_t>((first + kNope + o) * kRank + i);
    };
    const auto query = [&](int64_t o, int64_t i) {
      return static_cast<size_t>((head * kQuery + o) * kLora + i);
    };
    EXPECT_EQ(mla.k_absorbed.part(head).n, kRank);
    EXPECT_EQ(mla.q_b_proj.part(head).n, kQuery);
    expect_weights(mla.k_absorbed.part(head), kv_b, kNope, key, "keys");
    expect_weights(mla.v_up.part(head), kv_b, kRank, value, "values");
    expect_weights(mla.q_b_proj.part(head), q_b, kLora, query, "queries");
  }
}

TEST(PackedLinear, APlanWithoutFilesHasTheBytesOfTheReleaseFormats) {
  const checkpoint::ModelConfig config =
      CheckpointBuilder(trine::testing::small_k3_config()).parsed_config();
  const auto weights = plan_weights(config, nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status().to_string();
  const auto& moe = std::get<MoeWeights>((*weights)->layers[1].ffn);
  EXPECT_EQ(moe.experts[0].gate_proj.view.format, WeightFormat::kE2m1);
  EXPECT_EQ(moe.experts[0].gate_proj.bytes(), 96 * 64 / 2 + 96 * 64 / 32);
  EXPECT_EQ((*weights)->lm_head.bytes(), 640 * 96 * 2);
  EXPECT_EQ((*weights)->lm_head.view.data, nullptr);
}

INSTANTIATE_TEST_SUITE_P(EveryCoding, Packing, ::testing::ValuesIn(coding_cases()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace trine::model
