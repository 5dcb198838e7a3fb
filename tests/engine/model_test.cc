// Model and Sequence as a caller sees them: refusals, limits, failures, cancelling, threads.
#include "trine/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "support/checkpoint_builder.h"
#include "support/temp_dir.h"

namespace trine {
namespace {

using testing::CheckpointBuilder;

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() : builder_(testing::small_k3_config(), 21) { builder_.build(); }

  Result<Model> load(const LoadOptions& options) {
    builder_.write(folder_.path());
    return Model::load(folder_.path(), options);
  }
  Model load_or_die(const LoadOptions& options) {
    Result<Model> model = load(options);
    EXPECT_TRUE(model.ok()) << model.status().to_string();
    if (!model.ok()) std::abort();
    return std::move(*model);
  }
  static Sequence start(const Model& model) {
    Result<Sequence> sequence = model.new_sequence();
    EXPECT_TRUE(sequence.ok()) << sequence.status().to_string();
    if (!sequence.ok()) std::abort();
    return std::move(*sequence);
  }
  /// Overwrites one element of a bf16 tensor with NaN.
  void poison(const std::string& name, size_t element) {
    const uint16_t nan = 0x7FC0;
    std::memcpy(builder_.tensors().at(name).bytes.data() + 2 * element, &nan, sizeof nan);
  }

  CheckpointBuilder builder_;
  testing::TempDir folder_;
};

LoadOptions small_options() {
  LoadOptions options;
  options.threads = 2;
  options.context = 256;
  return options;
}

const std::vector<int32_t> kIds{5, 17, 300, 42, 7, 99, 12, 600};

TEST_F(ModelTest, RefusesOptionsThatMakeNoSense) {
  const auto code = [&](auto change) {
    LoadOptions options = small_options();
    change(options);
    return load(options).status().code();
  };
  EXPECT_EQ(code([](LoadOptions& o) { o.prefill_chunk = 100; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](LoadOptions& o) { o.prefill_chunk = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](LoadOptions& o) { o.threads = -1; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](LoadOptions& o) { o.sequences = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](LoadOptions& o) { o.context = -5; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](LoadOptions& o) { o.isa = "sse9"; }), Code::kInvalidArgument);
}

TEST_F(ModelTest, RefusesAFolderThatIsNotThereAndADamagedOne) {
  EXPECT_FALSE(Model::load(folder_ / "nowhere", small_options()).ok());
  builder_.tensors().erase("language_model.lm_head.weight");
  const Status status = load(small_options()).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("lm_head"), std::string::npos) << status.message();
}

TEST_F(ModelTest, RefusesAPlanThatExceedsTheMemoryWithTheNumbers) {
  LoadOptions options = small_options();
  options.context = int64_t{1} << 40;
  const Status status = load(options).status();
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("latent cache"), std::string::npos) << status.message();
}

TEST_F(ModelTest, RefusesIdsOutsideTheVocabularyAndEmptyPrompts) {
  const Model model = load_or_die(small_options());
  Sequence sequence = start(model);
  EXPECT_EQ(sequence.prefill({}).status().code(), Code::kInvalidArgument);
  for (const int32_t bad : {-1, 640, std::numeric_limits<int32_t>::max()}) {
    EXPECT_EQ(sequence.decode(bad).status().code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(sequence.prefill(std::vector<int32_t>{1, bad}).status().code(),
              Code::kInvalidArgument)
        << bad;
  }
  EXPECT_EQ(sequence.position(), 0);
}

TEST_F(ModelTest, AFullContextIsAnErrorAndLeavesTheSequenceAsItWas) {
  LoadOptions options = small_options();
  options.context = 10;
  const Model model = load_or_die(options);
  Sequence sequence = start(model);
  ASSERT_TRUE(sequence.prefill(kIds).ok());
  EXPECT_EQ(sequence.prefill(kIds).status().code(), Code::kOutOfMemory);
  EXPECT_EQ(sequence.position(), 8);
  EXPECT_TRUE(sequence.decode(1).ok());
  EXPECT_TRUE(sequence.decode(1).ok());
  EXPECT_EQ(sequence.decode(1).status().code(), Code::kOutOfMemory);
  sequence.reset();
  EXPECT_TRUE(sequence.decode(1).ok());
}

TEST_F(ModelTest, ANonFiniteValueNamesTheFirstLayerWhereItAppears) {
  poison("language_model.model.layers.2.post_attention_layernorm.weight", 3);
  const Model model = load_or_die(small_options());
  Sequence sequence = start(model);
  const Status status = sequence.prefill(kIds).status();
  EXPECT_EQ(status.code(), Code::kNotFinite);
  EXPECT_NE(status.message().find("layer 2"), std::string::npos) << status.message();
  EXPECT_EQ(sequence.decode(1).status().code(), Code::kNotFinite) << "until it is reset";
  sequence.reset();
  EXPECT_EQ(sequence.position(), 0);
}

TEST_F(ModelTest, ANonFiniteEmbeddingHurtsOnlyTheSequenceThatReadsIt) {
  poison("language_model.model.embed_tokens.weight", 77 * 96 + 5);
  LoadOptions options = small_options();
  options.sequences = 2;
  const Model model = load_or_die(options);
  Sequence good = start(model);
  Sequence bad = start(model);
  std::vector<float> alone;
  ASSERT_TRUE(good.prefill(kIds).ok());
  ASSERT_TRUE(good.decode(8, &alone).ok());
  good.reset();
  ASSERT_TRUE(good.prefill(kIds).ok());
  ASSERT_TRUE(bad.prefill(kIds).ok());

  Sequence* const batch[] = {&bad, &good};
  const int32_t ids[] = {77, 8};
  std::vector<float> logits;
  const Status status = model.decode_batch(batch, ids, &logits);
  EXPECT_EQ(status.code(), Code::kNotFinite);
  EXPECT_NE(status.message().find("sequence 0"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("embedding"), std::string::npos) << status.message();
  EXPECT_EQ(std::memcmp(logits.data() + 640, alone.data(), 640 * sizeof(float)), 0);
  EXPECT_TRUE(good.decode(3).ok());
  EXPECT_FALSE(bad.decode(3).ok());
}

TEST_F(ModelTest, ANonFiniteHeadIsNamed) {
  poison("language_model.lm_head.weight", 96);
  const Model model = load_or_die(small_options());
  Sequence sequence = start(model);
  const Status status = sequence.decode(5).status();
  EXPECT_EQ(status.code(), Code::kNotFinite);
  EXPECT_NE(status.message().find("lm_head"), std::string::npos) << status.message();
}

TEST_F(ModelTest, AScaleThatIsNanIsRefusedAtLoad) {
  CheckpointBuilder builder(testing::small_k3_config(), 22);
  builder.choose([](const checkpoint::ExpectedTensor& t) {
    return t.role == checkpoint::Role::kExpert ? testing::mxfp4() : testing::bf16();
  });
  builder.build();
  builder.tensors()
      .at("language_model.model.layers.1.block_sparse_moe.experts.3.w2.weight_scale")
      .bytes[7] = '\xFF';
  builder.write(folder_.path());
  const Status status = Model::load(folder_.path(), small_options()).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("experts.3.w2"), std::string::npos) << status.message();
}

TEST_F(ModelTest, ResetForgetsEverything) {
  const Model model = load_or_die(small_options());
  Sequence sequence = start(model);
  const auto first = sequence.prefill(kIds);
  ASSERT_TRUE(first.ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(sequence.decode(i).ok());
  sequence.reset();
  const auto second = sequence.prefill(kIds);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*first, *second);
}

TEST_F(ModelTest, OnlySoManySequencesAreAliveAtOnce) {
  LoadOptions options = small_options();
  options.sequences = 2;
  const Model model = load_or_die(options);
  auto first = std::make_unique<Sequence>(start(model));
  Sequence second = start(model);
  EXPECT_EQ(model.new_sequence().status().code(), Code::kBusy);
  first.reset();
  EXPECT_TRUE(model.new_sequence().ok());
}

TEST_F(ModelTest, ABatchMustNameDifferentSequencesOfThisModel) {
  LoadOptions options = small_options();
  options.sequences = 2;
  const Model model = load_or_die(options);
  const Model other = load_or_die(options);
  Sequence mine = start(model);
  Sequence foreign = start(other);
  std::vector<float> logits;
  const int32_t ids[] = {1, 2};
  Sequence* const twice[] = {&mine, &mine};
  EXPECT_EQ(model.decode_batch(twice, ids, &logits).code(), Code::kInvalidArgument);
  Sequence* const strangers[] = {&mine, &foreign};
  EXPECT_EQ(model.decode_batch(strangers, ids, &logits).code(), Code::kInvalidArgument);
  EXPECT_EQ(model.decode_batch(std::span(twice).first(1), ids, &logits).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(mine.position(), 0);
}

TEST_F(ModelTest, PrefillCanBeCancelledBetweenChunks) {
  LoadOptions options = small_options();
  options.prefill_chunk = 64;
  const Model model = load_or_die(options);
  Sequence sequence = start(model);
  const std::vector<int32_t> ids(200, 3);
  std::vector<int64_t> seen;
  const auto stop_at_128 = [&](int64_t done) {
    seen.push_back(done);
    return done < 128;
  };
  EXPECT_EQ(sequence.prefill(ids, {.progress = stop_at_128}).status().code(), Code::kCancelled);
  EXPECT_EQ(seen, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(sequence.position(), 128);
  EXPECT_TRUE(sequence.prefill(std::span(ids).subspan(128)).ok());
}

TEST_F(ModelTest, SeveralThreadsMayUseOneModel) {
  LoadOptions options = small_options();
  options.sequences = 4;
  const Model model = load_or_die(options);
  std::vector<float> expected;
  {
    Sequence sequence = start(model);
    ASSERT_TRUE(sequence.prefill(kIds).ok());
    ASSERT_TRUE(sequence.decode(9, &expected).ok());
  }
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        Sequence sequence = start(model);
        EXPECT_TRUE(sequence.prefill(kIds).ok());
        EXPECT_TRUE(sequence.decode(9, &found[i]).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& logits : found) EXPECT_EQ(logits, expected);
}

TEST_F(ModelTest, ProgressEndsAtAllBytes) {
  LoadOptions options = small_options();
  int64_t last = 0;
  int64_t total = -1;
  options.progress = [&](int64_t done, int64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  const Model model = load_or_die(options);
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, model.memory_plan().weight_bytes);
}

TEST_F(ModelTest, ASequenceOutlivesItsModel) {
  std::unique_ptr<Sequence> sequence;
  {
    const Model model = load_or_die(small_options());
    sequence = std::make_unique<Sequence>(start(model));
  }
  EXPECT_TRUE(sequence->decode(5).ok());
}

}  // namespace
}  // namespace trine
