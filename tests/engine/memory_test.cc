// Memory: the plan's closed forms, what a model really takes, and nothing allocated per token.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "engine/counting_new.h"
#include "engine/memory_plan.h"
#include "model/sequence_state.h"
#include "platform/memory.h"
#include "support/checkpoint_builder.h"
#include "support/golden_file.h"
#include "support/temp_dir.h"
#include "trine/model.h"

namespace trine {
namespace {

std::string write_small_model(const testing::TempDir& folder) {
  testing::CheckpointBuilder(testing::small_k3_config(), 31).build().write(folder.path());
  return folder.path();
}

TEST(Memory, NothingIsAllocatedPerToken) {
  const testing::TempDir folder;
  LoadOptions options;
  options.threads = 3;
  options.context = 4096;
  options.sequences = 3;
  const Result<Model> model = Model::load(write_small_model(folder), options);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  std::vector<Sequence> sequences;
  for (int i = 0; i < 3; ++i) sequences.push_back(std::move(*model->new_sequence()));
  Sequence* const batch[] = {&sequences[0], &sequences[1], &sequences[2]};
  std::vector<float> logits;
  std::vector<float> all_logits;
  ASSERT_TRUE(sequences[0].decode(1, &logits).ok());
  const int32_t ids[] = {4, 5, 6};
  ASSERT_TRUE(model->decode_batch(batch, ids, &all_logits).ok());

  const int64_t before = testing::heap_allocations();
  for (int t = 0; t < 300; ++t) {
    if (!sequences[0].decode(t, &logits).ok() || !model->decode_batch(batch, ids, &all_logits).ok())
      FAIL();
  }
  EXPECT_EQ(testing::heap_allocations(), before);
}

/// The release's numbers (users.md row 70): bytes of latent cache per token, padding none.
TEST(Memory, LatentBytesPerTokenAreThoseOfTheRelease) {
  const json::Value k3 =
      testing::json_file(std::string(TRINE_SOURCE_DIR) + "/models/k3-nano/config.json");
  checkpoint::Findings findings;
  checkpoint::ModelConfig config = checkpoint::parse_config(k3, nullptr, "config.json", &findings);
  config.kv_lora_rank = 512;
  config.qk_rope_head_dim = 64;
  config.num_hidden_layers = 93;
  config.is_kda.assign(93, true);
  for (size_t l = 3; l < 93; l += 4) config.is_kda[l] = false;
  config.is_kda[92] = false;
  EXPECT_EQ(engine::latent_bytes(config, Precision::kFast, 64), 64 * 27648);
  config.num_hidden_layers = 27;
  config.is_kda.assign(27, true);
  for (const size_t l : {3u, 7u, 11u, 15u, 19u, 23u, 26u}) config.is_kda[l] = false;
  EXPECT_EQ(engine::latent_bytes(config, Precision::kFast, 64), 64 * 8064);
}

engine::PlanRequest request_of(int64_t available) {
  return {.precision = Precision::kFast,
          .bf16_inputs = true,
          .threads = 2,
          .context = 0,
          .sequences = 1,
          .prefill_chunk = 512,
          .available_bytes = available};
}

TEST(Memory, TheDefaultContextIsAnEighthOfWhatIsLeft) {
  testing::CheckpointBuilder builder(testing::small_k3_config(), 3);
  checkpoint::ModelConfig config = builder.parsed_config();
  const auto weights = model::plan_weights(config, nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status().to_string();
  const int64_t available = int64_t{64} << 20;
  const engine::LoadPlan plan = engine::plan_memory(config, **weights, request_of(available));
  const MemoryPlan& memory = plan.memory;
  const int64_t left =
      available - memory.weight_bytes - memory.state_bytes - memory.activation_bytes;
  EXPECT_LE(memory.latent_bytes, left / 8);
  EXPECT_GT(memory.latent_bytes, left / 8 - (int64_t{64} << 10));
  EXPECT_EQ(memory.total_bytes, memory.weight_bytes + memory.state_bytes + memory.latent_bytes +
                                    memory.activation_bytes);
  // Never less than 4096 tokens, never more than the config says.
  EXPECT_EQ(engine::plan_memory(config, **weights, request_of(0)).context, 4096);
  config.max_position_embeddings = 5000;
  EXPECT_EQ(engine::plan_memory(config, **weights, request_of(int64_t{1} << 40)).context, 5000);
  // Every flag changes the plan.
  engine::PlanRequest more = request_of(available);
  more.sequences = 3;
  more.context = plan.context;
  const MemoryPlan three = engine::plan_memory(config, **weights, more).memory;
  EXPECT_EQ(three.state_bytes, 3 * memory.state_bytes);
}

TEST(Memory, APlanIsRefusedExactlyWhenItDoesNotFit) {
  MemoryPlan plan;
  plan.total_bytes = 1000;
  plan.available_bytes = 1000;
  EXPECT_TRUE(engine::check_memory(plan, "model", false).ok());
  plan.available_bytes = 999;
  EXPECT_EQ(engine::check_memory(plan, "model", false).code(), Code::kOutOfMemory);
  EXPECT_TRUE(engine::check_memory(plan, "model", true).ok());
}

TEST(Memory, ActivationsGrowWithTheChunkAndTheChunkIsHalvedToFit) {
  testing::CheckpointBuilder builder(testing::small_k3_config(), 3);
  checkpoint::ModelConfig config = builder.parsed_config();
  const auto weights = model::plan_weights(config, nullptr);
  ASSERT_TRUE(weights.ok());
  const engine::PlanRequest request = request_of(int64_t{1} << 40);
  const auto bytes = [&](int64_t rows) {
    return engine::activation_bytes(config, **weights, request, rows, 4096);
  };
  // Above the rows in flight of MLA all buffers are linear in the rows.
  EXPECT_EQ(bytes(512) - bytes(256), 2 * (bytes(256) - bytes(128)));
  config.hidden_size = 65536;
  EXPECT_LT(engine::plan_memory(config, **weights, request).prefill_chunk, 512);
  EXPECT_LE(engine::plan_memory(config, **weights, request).memory.activation_bytes,
            engine::kActivationBytesMax);
}

int64_t address_space_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(Memory, AddressSpaceStaysNearThePlanAndResidentMemoryBelowIt) {
  const testing::TempDir folder;
  write_small_model(folder);
  LoadOptions options;
  options.threads = 2;
  options.context = int64_t{1} << 20;
  for (const int64_t chunk : {64, 512}) {
    options.prefill_chunk = chunk;
    const int64_t space_before = address_space_bytes();
    const int64_t resident_before = current_rss_bytes();
    const Result<Model> model = Model::load(folder.path(), options);
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    Sequence sequence = std::move(*model->new_sequence());
    ASSERT_TRUE(sequence.prefill(std::vector<int32_t>(600, 9)).ok());
    const MemoryPlan& plan = model->memory_plan();
    constexpr int64_t kMargin = int64_t{1} << 30;
    EXPECT_LE(address_space_bytes() - space_before, plan.total_bytes + kMargin);
    // The cache is touched as it fills: 600 tokens of a million are next to nothing.
    const int64_t touched = plan.weight_bytes + plan.state_bytes + plan.activation_bytes;
    EXPECT_LE(current_rss_bytes() - resident_before, touched + (int64_t{32} << 20));
  }
}

}  // namespace
}  // namespace trine
