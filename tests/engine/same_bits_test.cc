// The promise of docs/design/numerics.md: the same bits whatever the threads, the prefill chunk,
// the batch, and whether a token came by prefill or by decode. On a model wide enough that threads
// really split the work.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "platform/cpu.h"
#include "support/checkpoint_builder.h"
#include "support/temp_dir.h"
#include "trine/model.h"

namespace trine {
namespace {

using checkpoint::ExpectedTensor;
using checkpoint::Role;
using testing::CheckpointBuilder;

constexpr int64_t kVocab = 640;

/// Hidden 1024, eight KDA and eight MLA heads, MXFP4 experts, latents, attention residuals.
json::Value wide_config() {
  json::Value config = testing::small_k3_config();
  json::Value text = *config.find("text_config");
  json::Value linear = *text.find("linear_attn_config");
  linear.set("num_heads", 8);
  linear.set("head_dim", 64);
  text.set("linear_attn_config", linear);
  text.set("hidden_size", 1024);
  text.set("num_attention_heads", 8);
  text.set("num_key_value_heads", 8);
  text.set("q_lora_rank", 256);
  text.set("kv_lora_rank", 128);
  text.set("qk_nope_head_dim", 32);
  text.set("qk_rope_head_dim", 16);
  text.set("v_head_dim", 32);
  text.set("intermediate_size", 1536);
  text.set("num_experts", 8);
  text.set("num_experts_per_token", 3);
  text.set("moe_intermediate_size", 512);
  text.set("routed_expert_hidden_size", 512);
  config.set("text_config", text);
  return config;
}

/// Few and narrow layers, so that a thousand tokens are quick.
json::Value narrow_config() {
  json::Value config = testing::small_k3_config();
  json::Value text = *config.find("text_config");
  text.set("num_hidden_layers", 3);
  json::Value linear = *text.find("linear_attn_config");
  linear.set("kda_layers", json::Value(json::Value::Array{json::Value(1), json::Value(2)}));
  text.set("linear_attn_config", linear);
  config.set("text_config", text);
  return config;
}

testing::ModuleCoding release_coding(const ExpectedTensor& tensor) {
  return tensor.role == Role::kExpert ? testing::mxfp4() : testing::bf16();
}

const std::string& checkpoint_folder(bool wide) {
  static const auto make = [](const json::Value& config) {
    auto folder = std::make_unique<testing::TempDir>();
    CheckpointBuilder(config, 11).choose(release_coding).build().write(folder->path());
    return folder;
  };
  static const std::unique_ptr<testing::TempDir> kWide = make(wide_config());
  static const std::unique_ptr<testing::TempDir> kNarrow = make(narrow_config());
  return wide ? kWide->path() : kNarrow->path();
}

std::vector<int32_t> some_ids(int64_t count) {
  testing::TestRandom random(4242);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(random.below(kVocab));
  return ids;
}

struct Setting {
  Isa isa;
  Precision precision;
  bool int8_inputs = false;
};

std::string setting_name(const ::testing::TestParamInfo<Setting>& setting) {
  return std::string(isa_name(setting.param.isa)) +
         (setting.param.precision == Precision::kExact ? "_exact" : "_fast") +
         (setting.param.int8_inputs ? "_int8" : "");
}

class SameBits : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().int8_inputs && !kernels::kernel_table(GetParam().isa).int8_inputs) {
      GTEST_SKIP() << isa_name(GetParam().isa) << " has no integer dot product (AVX512-VNNI)";
    }
  }

  /// The scalar level is a hundred times slower: it takes the narrow model and shorter prompts.
  static Model load(bool wide, int threads, int64_t chunk) {
    LoadOptions options;
    options.isa = isa_name(GetParam().isa);
    options.precision = GetParam().precision;
    options.int8_inputs = GetParam().int8_inputs;
    options.threads = threads;
    options.prefill_chunk = chunk;
    options.context = 2048;
    options.sequences = 5;
    Result<Model> model =
        Model::load(checkpoint_folder(wide && GetParam().isa != Isa::kScalar), options);
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

  static std::vector<float> all_logits(Sequence& sequence, std::span<const int32_t> ids) {
    Result<std::vector<float>> logits = sequence.prefill(ids, {.all_logits = true});
    EXPECT_TRUE(logits.ok()) << logits.status().to_string();
    return logits.ok() ? std::move(*logits) : std::vector<float>();
  }

  static int64_t tokens(int64_t count, int64_t scalar_count) {
    return GetParam().isa == Isa::kScalar ? scalar_count : count;
  }
};

void expect_same_bits(std::span<const float> found, std::span<const float> expected,
                      const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::memcmp(&found[i], &expected[i], sizeof(float)) == 0) continue;
    FAIL() << what << ": value " << i % kVocab << " of row " << i / kVocab << " is " << found[i]
           << ", expected " << expected[i];
  }
}

std::span<const float> row(const std::vector<float>& logits, int64_t index) {
  return std::span(logits).subspan(static_cast<size_t>(index * kVocab),
                                   static_cast<size_t>(kVocab));
}

TEST_P(SameBits, ForEveryThreadCountAndPrefillChunk) {
  const std::vector<int32_t> ids = some_ids(tokens(200, 70));
  const Model model = load(true, 2, 512);
  Sequence sequence = start(model);
  const std::vector<float> expected = all_logits(sequence, ids);
  const std::vector<float> state = sequence.kda_state();
  const std::vector<float> rows = sequence.mla_rows();
  for (const auto& [threads, chunk] : {std::pair(1, 64), {2, 64}, {3, 192}, {5, 128}, {5, 512}}) {
    const std::string what = std::to_string(threads) + " threads, chunk " + std::to_string(chunk);
    const Model other = load(true, threads, chunk);
    EXPECT_EQ(other.prefill_chunk(), chunk);
    Sequence again = start(other);
    expect_same_bits(all_logits(again, ids), expected, what);
    expect_same_bits(again.kda_state(), state, what + ", states");
    expect_same_bits(again.mla_rows(), rows, what + ", latents");
  }
}

TEST_P(SameBits, ForPrefillAndDecode) {
  const std::vector<int32_t> ids = some_ids(tokens(90, 36));
  const Model model = load(true, 2, 512);
  Sequence whole = start(model);
  const std::vector<float> expected = all_logits(whole, ids);
  Sequence single = start(model);
  std::vector<float> logits;
  for (size_t t = 0; t < ids.size(); ++t) {
    ASSERT_TRUE(single.decode(ids[t], &logits).ok());
    expect_same_bits(logits, row(expected, static_cast<int64_t>(t)), "token " + std::to_string(t));
  }
  expect_same_bits(single.kda_state(), whole.kda_state(), "states");
  // In uneven pieces: borders inside KDA chunks and latent pages.
  Sequence pieces = start(model);
  size_t done = 0;
  for (size_t size = 1; done < ids.size(); size = size * 2 + 1) {
    const size_t count = std::min(size, ids.size() - done);
    const std::vector<float> part = all_logits(pieces, std::span(ids).subspan(done, count));
    expect_same_bits(part, std::span(expected).subspan(done * kVocab, count * kVocab),
                     "from " + std::to_string(done));
    done += count;
  }
}

TEST_P(SameBits, ForEveryBatchNeighbour) {
  const std::vector<int32_t> ids = some_ids(tokens(120, 40));
  const Model model = load(true, 3, 512);
  std::vector<float> expected;
  {
    Sequence whole = start(model);
    expected = all_logits(whole, ids);
  }
  // Five sequences of the same text at different places.
  std::vector<Sequence> sequences;
  std::vector<int64_t> positions;
  const auto count = static_cast<int64_t>(ids.size());
  for (const int64_t position : {int64_t{1}, count / 4, count / 3 + 1, count / 2, count - 9}) {
    sequences.push_back(start(model));
    positions.push_back(position);
    ASSERT_TRUE(sequences.back().prefill(std::span(ids).first(static_cast<size_t>(position))).ok());
  }
  std::vector<float> logits;
  for (size_t size : {size_t{5}, size_t{2}, size_t{3}, size_t{4}, size_t{5}, size_t{1}}) {
    std::vector<Sequence*> batch;
    std::vector<int32_t> next;
    for (size_t i = 0; i < size; ++i) {
      const size_t s = sequences.size() - 1 - i;
      batch.push_back(&sequences[s]);
      next.push_back(ids[static_cast<size_t>(positions[s])]);
    }
    ASSERT_TRUE(model.decode_batch(batch, next, &logits).ok());
    for (size_t i = 0; i < size; ++i) {
      const size_t s = sequences.size() - 1 - i;
      expect_same_bits(row(logits, static_cast<int64_t>(i)), row(expected, positions[s]),
                       "sequence " + std::to_string(s) + " of " + std::to_string(size));
      ++positions[s];
    }
  }
}

TEST_P(SameBits, WhereLongContextsAreCutIntoSpans) {
  if (GetParam().isa == Isa::kScalar) GTEST_SKIP() << "the cuts are the same code on every level";
  const std::vector<int32_t> ids = some_ids(1200);
  const Model model = load(false, 2, 512);
  Sequence whole = start(model);
  const std::vector<float> expected = all_logits(whole, ids);
  const Model other = load(false, 5, 64);
  Sequence pieces = start(other);
  ASSERT_TRUE(pieces.prefill(std::span(ids).first(1000)).ok());
  std::vector<float> logits;
  for (size_t t = 1000; t < 1100; ++t) {
    ASSERT_TRUE(pieces.decode(ids[t], &logits).ok());
    expect_same_bits(logits, row(expected, static_cast<int64_t>(t)), "token " + std::to_string(t));
  }
  const std::vector<float> rest = all_logits(pieces, std::span(ids).subspan(1100));
  expect_same_bits(rest, std::span(expected).subspan(1100 * kVocab), "the rest");
}

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const Isa isa : supported_isas()) {
    settings.push_back({isa, Precision::kExact});
    settings.push_back({isa, Precision::kFast});
  }
  settings.push_back({best_isa(), Precision::kFast, /*int8_inputs=*/true});
  return settings;
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, SameBits, ::testing::ValuesIn(all_settings()), setting_name);

}  // namespace
}  // namespace trine
