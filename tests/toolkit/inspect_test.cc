// inspect: exact figures of both releases, support cells, findings, and what it cannot know.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "engine/memory_plan.h"
#include "kernels/table.h"
#include "platform/cpu.h"
#include "support/temp_dir.h"
#include "toolkit/checksums.h"
#include "toolkit/inspect_memory.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

std::string nano() { return std::string(TRINE_SOURCE_DIR) + "/models/k3-nano"; }
std::string golden(const std::string& name) {
  return std::string(TRINE_SOURCE_DIR) + "/tests/golden/" + name + "/model";
}

/// A folder with config and index (or headers) of a shape.
Status make(const std::string& shape, const std::string& out, SynthContent content) {
  SynthOptions options;
  options.shape_json = shape;
  options.out = out;
  options.content = content;
  return synth(options);
}

struct Inspected {
  json::Value json;
  InspectReport report;
};

Inspected inspected(const std::string& folder, InspectOptions options = {}) {
  Inspected result;
  auto report = inspect(folder, options);
  EXPECT_TRUE(report.ok()) << report.status().to_string();
  if (!report.ok()) return result;
  result.report = std::move(*report);
  auto parsed = json::parse(result.report.json, "report");
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  if (parsed.ok()) result.json = std::move(*parsed);
  return result;
}

/// A value by path, "a.b.c".
const json::Value& at(const json::Value& root, const std::string& path) {
  static const json::Value none;
  const json::Value* value = &root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    value = value->find(path.substr(begin, end - begin));
    EXPECT_NE(value, nullptr) << path;
    if (value == nullptr) return none;
    begin = end + 1;
  }
  return *value;
}

int64_t number(const json::Value& root, const std::string& path) {
  int64_t value = -1;
  EXPECT_TRUE(at(root, path).to_int64(&value)) << path;
  return value;
}

std::vector<std::string> keys(const json::Value& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.as_object()) names.push_back(key);
  return names;
}

bool mentions(const json::Value& list, const std::string& word) {
  for (const json::Value& item : list.as_array())
    if (item.as_string().find(word) != std::string::npos) return true;
  return false;
}

bool has_finding(const Inspected& result, const std::string& kind, const std::string& file) {
  for (const json::Value& finding : at(result.json, "findings").as_array())
    if (at(finding, "kind").as_string() == kind && at(finding, "file").as_string() == file)
      return true;
  return false;
}

TEST(Inspect, AConfigThatIsNoJsonIsAReportWithThatOneError) {
  testing::TempDir dir;
  dir.write("config.json", "{\"hidden_size\": ");
  const Inspected result = inspected(dir.path());
  EXPECT_TRUE(result.report.has_errors);
  EXPECT_EQ(at(result.json, "findings").as_array().size(), 1u);
  EXPECT_TRUE(has_finding(result, "config-json", "config.json")) << result.report.text;
}

TEST(Inspect, ATokenizerThatDoesNotLoadIsAnError) {
  for (const char* file : {"tiktoken.model", "tokenizer_config.json"}) {
    testing::TempDir dir;
    std::filesystem::copy(nano(), dir / "m", std::filesystem::copy_options::recursive);
    EXPECT_FALSE(has_finding(inspected(dir / "m"), "tokenizer", file));
    std::ofstream(dir / "m/" + file) << "!!! damaged\n";
    const Inspected result = inspected(dir / "m");
    EXPECT_TRUE(result.report.has_errors);
    EXPECT_TRUE(has_finding(result, "tokenizer", file)) << result.report.text;
  }
}

TEST(Inspect, TheReleasedK3NeedsTheBytesOfTheClosedForm) {
  testing::TempDir dir;
  ASSERT_TRUE(make(R"({"preset":"k3"})", dir / "k3", SynthContent::kIndex).ok());
  const auto k3 = inspected(dir / "k3");
  EXPECT_EQ(number(k3.json, "memory.latent_bytes_per_token"), 27648);
  // 69 layers of 96 heads x 128 x 128 fp32, and three windows of 3 x 12288 fp32.
  EXPECT_EQ(number(k3.json, "memory.state_bytes_per_sequence"), 464633856);
  EXPECT_NE(k3.report.text.find("27,648 B per token"), std::string::npos);
  EXPECT_NE(k3.report.text.find("443 MiB per sequence"), std::string::npos);
  EXPECT_EQ(number(k3.json, "parameters.bytes"), 1560860324864);
  EXPECT_EQ(number(k3.json, "model.attention.mla_layers"), 24);
  EXPECT_FALSE(at(k3.json, "downloaded").as_bool());
  EXPECT_FALSE(at(k3.json, "whole").as_bool());
  EXPECT_FALSE(k3.report.has_errors) << k3.report.text;
  EXPECT_TRUE(mentions(at(k3.json, "not_checked"), "not downloaded yet"));
  for (const json::Value& context : at(k3.json, "memory.contexts").as_array())
    EXPECT_EQ(number(context, "latent_bytes"), number(context, "tokens") * 27648);
}

TEST(Inspect, TheReleasedKimiLinearNeedsTheBytesOfTheClosedForm) {
  testing::TempDir dir;
  ASSERT_TRUE(make(R"({"preset":"kimi-linear"})", dir / "m", SynthContent::kIndex).ok());
  const auto linear = inspected(dir / "m");
  EXPECT_EQ(number(linear.json, "memory.latent_bytes_per_token"), 8064);
  EXPECT_EQ(number(linear.json, "memory.state_bytes_per_sequence"),
            20 * (32 * 128 * 128 + 3 * 3 * 4096) * 4);
  EXPECT_NEAR(static_cast<double>(number(linear.json, "parameters.total")), 48e9, 1.5e9);
  EXPECT_NEAR(static_cast<double>(number(linear.json, "parameters.active_per_token")), 3e9, 0.3e9);
}

TEST(Inspect, CountsTheParametersOfTheBenchmarkModel) {
  testing::TempDir dir;
  ASSERT_TRUE(make(R"({"preset":"mini"})", dir / "m", SynthContent::kHeaders).ok());
  InspectOptions options;
  options.scan = false;
  const auto mini = inspected(dir / "m", options);
  EXPECT_NEAR(static_cast<double>(number(mini.json, "parameters.total")), 6.80e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(number(mini.json, "parameters.active_per_token")), 1.07e9,
              0.01e9);
  EXPECT_EQ(number(mini.json, "parameters.bytes"), 4732132864);
  EXPECT_TRUE(at(mini.json, "whole").as_bool());
  EXPECT_TRUE(mentions(at(mini.json, "not_checked"), "--no-scan"));
}

TEST(Inspect, DeclaredAndStoredFormatsCountTheSame) {
  for (const char* format : {"mxfp4-pack-quantized", "nvfp4-pack-quantized", "pack-quantized",
                             "float-quantized", "int-quantized", "mxfp8-quantized", "bf16"}) {
    SCOPED_TRACE(format);
    testing::TempDir dir;
    const std::string shape = std::string(R"({"preset":"tiny","expert_format":")") + format + "\"}";
    ASSERT_TRUE(make(shape, dir / "index", SynthContent::kIndex).ok());
    ASSERT_TRUE(make(shape, dir / "full", SynthContent::kWeights).ok());
    const auto index = inspected(dir / "index");
    const auto full = inspected(dir / "full");
    EXPECT_EQ(number(index.json, "parameters.total"), number(full.json, "parameters.total"));
    // weight_shape (16 bytes per expert matrix) is no weight.
    const int64_t shapes = std::string(format) == "pack-quantized" ? 4 * 8 * 3 * 16 : 0;
    EXPECT_EQ(number(index.json, "parameters.bytes"),
              number(full.json, "parameters.bytes") + shapes);
    EXPECT_TRUE(at(full.json, "whole").as_bool()) << full.report.text;
    EXPECT_FALSE(full.report.has_errors) << full.report.text;
  }
}

TEST(Inspect, EveryCellOfTheSupportTableIsBackedByAPassedCheck) {
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    InspectOptions options;
    options.isa = isa_name(isa);
    const auto nano_report = inspected(nano(), options);
    const json::Value& rows = at(nano_report.json, "support.features");
    std::vector<std::string> features;
    for (const json::Value& row : rows.as_array()) {
      features.push_back(at(row, "feature").as_string());
      for (const char* stage :
           {"operators", "batching_and_paged_cache", "quantised_path", "tuned"}) {
        const json::Value& cell = at(row, stage);
        EXPECT_NE(at(cell, "state").as_string(), "failed") << features.back() << " " << stage;
        EXPECT_NE(at(cell, "state").as_string(), "no") << features.back() << " " << stage;
        EXPECT_FALSE(at(cell, "check").as_string().empty()) << features.back() << " " << stage;
      }
    }
    EXPECT_EQ(features,
              (std::vector<std::string>{"KDA, bounded gate", "gated MLA, absorbed", "AttnRes",
                                        "LatentMoE", "SiTU", "weights BF16", "weights MXFP4"}));
    EXPECT_FALSE(nano_report.report.has_errors);
  }
}

TEST(Inspect, JudgesARunWithInt8Inputs) {
  InspectOptions options;
  options.int8_inputs = true;
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    options.isa = isa_name(isa);
    if (!kernels::kernel_table(isa).int8_inputs) {
      EXPECT_EQ(inspect(nano(), options).status().code(), Code::kUnsupported);
      continue;
    }
    const auto report = inspected(nano(), options);
    EXPECT_FALSE(report.report.has_errors) << report.report.text;
    EXPECT_TRUE(at(report.json, "int8_inputs").as_bool());
    std::string int8_features;
    for (const json::Value& row : at(report.json, "support.features").as_array()) {
      const std::string feature = at(row, "feature").as_string();
      for (const char* stage : {"operators", "batching_and_paged_cache", "quantised_path", "tuned"})
        EXPECT_NE(at(row, std::string(stage) + ".state").as_string(), "no") << feature << stage;
      if (feature.find("int8 inputs") == std::string::npos) continue;
      int8_features += feature + "; ";
      EXPECT_EQ(at(row, "operators.by").as_string(), kernels::kernel_table(isa).matmul_i8_name);
    }
    EXPECT_EQ(int8_features,
              "weights INT8 per 128 with int8 inputs; weights MXFP4 with int8 inputs; ");
  }
}

TEST(Inspect, ThePlanIsTheOneThatLoadReports) {
  constexpr size_t k16K = 1;  // of the row of contexts
  for (const bool int8 : {false, true}) {
    if (int8 && !kernels::kernel_table(best_isa()).int8_inputs)
      GTEST_SKIP() << isa_name(best_isa()) << " has no integer dot product (AVX512-VNNI)";
    InspectOptions options;
    options.int8_inputs = int8;
    const auto report = inspected(nano(), options);
    LoadOptions load;
    load.int8_inputs = int8;
    load.context = 16384;
    const auto model = Model::load(nano(), load);
    ASSERT_TRUE(model.ok()) << model.status().to_string();
    const MemoryPlan& plan = model->memory_plan();
    const json::Value& planned = at(report.json, "memory.contexts").as_array().at(k16K);
    EXPECT_EQ(number(planned, "tokens"), load.context);
    EXPECT_EQ(number(planned, "weight_bytes"), plan.weight_bytes);
    EXPECT_EQ(number(planned, "state_bytes"), plan.state_bytes);
    EXPECT_EQ(number(planned, "latent_bytes"), plan.latent_bytes);
    EXPECT_EQ(number(planned, "activation_bytes"), plan.activation_bytes);
    EXPECT_EQ(number(planned, "total_bytes"), plan.total_bytes);
    EXPECT_EQ(number(report.json, "memory.packed_weight_bytes"), plan.weight_bytes);
  }
}

TEST(Inspect, AFileThatCannotBeReadIsTheEnvironmentsFaultAndTheReportStillSpeaks) {
  for (const char* file : {"model-00002-of-000004.safetensors", "tiktoken.model",
                           "tokenizer_config.json", "model.safetensors.index.json"}) {
    SCOPED_TRACE(file);
    testing::TempDir dir;
    std::filesystem::copy(golden("k3_base"), dir / "m");
    std::filesystem::remove(dir / "m/" + file);
    std::filesystem::create_directory(dir / "m/" + file);
    const auto report = inspected(dir / "m");
    EXPECT_TRUE(report.report.has_errors);
    EXPECT_TRUE(report.report.only_environment) << report.report.text;
    EXPECT_TRUE(has_finding(report, "unreadable", file)) << report.report.text;
    EXPECT_FALSE(has_finding(report, "tokenizer", file)) << report.report.text;
    EXPECT_EQ(number(report.json, "memory.latent_bytes_per_token"), 2 * (32 + 8) * 2);
    std::filesystem::remove(dir / "m/model-00001-of-000004.safetensors");
    EXPECT_FALSE(inspected(dir / "m").report.only_environment);
  }
}

TEST(Inspect, FeaturesAreThoseOfTheCheckpoint) {
  const auto linear = inspected(golden("linear_base"));
  std::string features;
  for (const json::Value& row : at(linear.json, "support.features").as_array())
    features += at(row, "feature").as_string() + "; ";
  EXPECT_EQ(features, "KDA, softplus gate; MLA, absorbed; MoE; SiLU; weights BF16; ");
  EXPECT_TRUE(at(linear.json, "model.residual.attn_res_block_size").is_null());
}

TEST(Inspect, TheActivationFormulaIsExactAtOtherChunkSizes) {
  auto source = checkpoint::Checkpoint::open(nano());
  ASSERT_TRUE(source.ok());
  auto weights = model::plan_weights(source->config(), &*source);
  ASSERT_TRUE(weights.ok());
  engine::PlanRequest request;
  request.bf16_inputs = kernels::kernel_table(best_isa()).bf16_inputs;
  request.threads = 3;
  request.available_bytes = int64_t{1} << 34;
  const MemoryReport report = report_memory(source->config(), **weights, request);
  for (const int64_t rows : {64, 192, 1024})
    EXPECT_EQ(report.activation.bytes(rows),
              engine::activation_bytes(source->config(), **weights, request, rows, 4096))
        << rows;
}

TEST(Inspect, AMissingShardIsAFindingAndTheReportStillSpeaks) {
  testing::TempDir dir;
  std::filesystem::copy(golden("k3_base"), dir / "m");
  std::filesystem::remove(dir / "m/model-00002-of-000004.safetensors");
  const auto report = inspected(dir / "m");
  EXPECT_TRUE(report.report.has_errors);
  EXPECT_FALSE(at(report.json, "whole").as_bool());
  EXPECT_FALSE(at(report.json, "findings").as_array().empty());
  EXPECT_NE(report.report.text.find("NOT WHOLE"), std::string::npos);
  EXPECT_NE(report.report.text.find("model-00002-of-000004.safetensors"), std::string::npos);
  EXPECT_EQ(number(report.json, "memory.latent_bytes_per_token"), 2 * (32 + 8) * 2);
}

TEST(Inspect, AContradictoryConfigLeavesOnlyFindings) {
  testing::TempDir dir;
  dir.write("m/config.json", R"({"model_type":"kimi_linear","hidden_size":-4})");
  const auto report = inspected(dir / "m");
  EXPECT_TRUE(report.report.has_errors);
  EXPECT_TRUE(at(report.json, "model").is_null());
  EXPECT_TRUE(at(report.json, "memory").is_null());
  EXPECT_GT(at(report.json, "findings").as_array().size(), 1u);
}

TEST(Inspect, TheReportHasTheDocumentedKeys) {
  const auto report = inspected(nano());
  using Names = std::vector<std::string>;
  EXPECT_EQ(keys(report.json), (Names{"folder", "whole", "downloaded", "scales_scanned", "model",
                                      "files", "parameters", "int8_inputs", "memory", "support",
                                      "machine", "findings", "not_checked", "checksums"}));
  EXPECT_EQ(keys(at(report.json, "memory")),
            (Names{"latent_bytes_per_token", "state_bytes_per_sequence", "packed_weight_bytes",
                   "activation", "contexts"}));
  EXPECT_EQ(keys(at(report.json, "parameters")),
            (Names{"total", "active_per_token", "bytes", "groups"}));
  EXPECT_TRUE(at(report.json, "scales_scanned").as_bool());
  EXPECT_EQ(inspect("/no/such/folder", {}).status().code(), Code::kNotFound);
}

TEST(Checksums, AreThoseOfSha256) {
  testing::TempDir dir;
  const auto empty = sha256_file(dir.write("empty", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(*empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const auto abc = sha256_file(dir.write("abc", "abc"));
  ASSERT_TRUE(abc.ok());
  EXPECT_EQ(*abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Longer than one block: a million times "a", and a file across the block border.
  const auto million = sha256_file(dir.write("million", std::string(1000000, 'a')));
  EXPECT_EQ(*million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  const auto long_file = sha256_file(dir.write("long", std::string((4 << 20) + 7, 'a')));
  const auto other = sha256_file(dir.write("other", std::string((4 << 20) + 6, 'a') + "b"));
  EXPECT_NE(*long_file, *other);
}

TEST(Checksums, AreComparedWithTheNamesOfAHubCache) {
  testing::TempDir dir;
  const std::string good = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const std::string bad(64, '0');
  dir.write("blobs/" + good, "abc");
  dir.write("blobs/" + bad, "abc");
  dir.write("blobs/0123456789012345678901234567890123456789", "abc");
  std::filesystem::create_directory(dir / "snapshot");
  std::filesystem::create_symlink("../blobs/" + good, dir / "snapshot/a");
  std::filesystem::create_symlink("../blobs/" + bad, dir / "snapshot/b");
  std::filesystem::create_symlink("../blobs/0123456789012345678901234567890123456789",
                                  dir / "snapshot/c");
  std::filesystem::create_symlink("../blobs/nothing", dir / "snapshot/d");
  const auto sums = checksum_folder(dir / "snapshot");
  ASSERT_TRUE(sums.ok()) << sums.status().to_string();
  ASSERT_EQ(sums->size(), 3u);
  EXPECT_TRUE((*sums)[0].matches());
  EXPECT_EQ((*sums)[0].expected, good);
  EXPECT_FALSE((*sums)[1].matches());
  EXPECT_EQ((*sums)[2].expected, "");
}

TEST(Checksums, ADamagedBlobIsAFindingOfInspect) {
  testing::TempDir dir;
  std::filesystem::create_directory(dir / "blobs");
  std::filesystem::create_directory(dir / "m");
  for (const auto& entry : std::filesystem::directory_iterator(golden("k3_base"))) {
    const auto sum = sha256_file(entry.path());
    ASSERT_TRUE(sum.ok());
    std::filesystem::copy(entry.path(), dir / ("blobs/" + *sum));
    std::filesystem::create_symlink("../blobs/" + *sum,
                                    dir / ("m/" + entry.path().filename().string()));
  }
  InspectOptions options;
  options.checksums = true;
  const auto whole = inspected(dir / "m", options);
  EXPECT_FALSE(whole.report.has_errors) << whole.report.text;
  EXPECT_FALSE(at(whole.json, "checksums").as_array().empty());
  // One bit inside the weights: only a checksum can see it.
  const std::string shard = dir / "m/model-00002-of-000004.safetensors";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-40, std::ios::end);
  const int byte = file.get();
  file.seekp(-40, std::ios::end);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  const auto damaged = inspected(dir / "m", options);
  EXPECT_TRUE(damaged.report.has_errors);
  EXPECT_NE(damaged.report.text.find("model-00002-of-000004.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace trine
