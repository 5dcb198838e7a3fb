// bench: roof arithmetic, rows, and the JSON of a run on k3-nano. No figure is judged here.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/bench_access.h"
#include "support/temp_dir.h"
#include "toolkit/bench_peaks.h"
#include "toolkit/bench_report.h"
#include "toolkit/bench_roof.h"
#include "toolkit/bench_run.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

std::string nano() { return std::string(TRINE_SOURCE_DIR) + "/models/k3-nano"; }

TEST(Bench, MedianAndSpreadOfFewSamples) {
  EXPECT_EQ(median({}), 0.0);
  EXPECT_EQ(median({3}), 3.0);
  EXPECT_EQ(median({9, 1, 2}), 2.0);
  EXPECT_EQ(median({4, 1, 2, 100}), 3.0);
  EXPECT_EQ(spread({5}), 0.0);
  EXPECT_EQ(spread({9, 10, 11}), 0.2);
}

TEST(Bench, TheRoofAddsTheSlowerSideOfEachKindOfWork) {
  Peaks peaks;
  peaks.read_bytes_per_s = 10;
  peaks.f32 = 100;
  peaks.bf16 = 200;
  engine::PassCost cost;
  cost.costs.push_back({"trunk linears", engine::Unit::kBf16, 50, 200});  // 5 s against 1 s
  cost.costs.push_back({"kda state", engine::Unit::kF32, 10, 300});       // 1 s against 3 s
  EXPECT_DOUBLE_EQ(roof_seconds(cost, peaks), 8.0);
  peaks.amx_bf16 = 20;  // tiles are what the engine uses where there are some
  EXPECT_DOUBLE_EQ(roof_seconds(cost, peaks), 13.0);
  peaks.amx_bf16 = peaks.bf16 = 0;  // no 16-bit unit: fp32 does the work
  EXPECT_DOUBLE_EQ(roof_seconds(cost, peaks), 8.0);
}

TEST(Bench, ExpertBytesAreThoseOfTheExpertsMet) {
  engine::PassCost cost;
  cost.costs.push_back({"experts", engine::Unit::kBf16, 80, 7});
  cost.costs.push_back({"router", engine::Unit::kF32, 80, 7});
  use_actual_experts(&cost, 8, 6);
  EXPECT_DOUBLE_EQ(cost.costs[0].bytes, 60);
  EXPECT_DOUBLE_EQ(cost.costs[0].operations, 7);
  EXPECT_DOUBLE_EQ(cost.costs[1].bytes, 80);
}

TEST(Bench, CountsDistinctExpertsOfEachChunkAndLayer) {
  // Two layers, four tokens, two picks.
  const std::vector<int32_t> ids{0, 1, 0, 1, 2, 3, 4, 5, /**/ 7, 8, 7, 8, 7, 8, 7, 8};
  EXPECT_DOUBLE_EQ(distinct_experts(ids, 2, 4, 2, 4), (6 + 2) / 2.0);
  EXPECT_DOUBLE_EQ(distinct_experts(ids, 2, 4, 2, 2), (2 + 4 + 2 + 2) / 4.0);
  EXPECT_DOUBLE_EQ(distinct_experts(ids, 2, 4, 2, 1), 2.0);
  EXPECT_DOUBLE_EQ(distinct_experts(ids, 2, 4, 2, 3), (4 + 2 + 2 + 2) / 4.0);
}

TEST(Bench, ARowSaysNothingWhereNothingApplies) {
  BenchRow row;
  row.kind = "load";
  row.samples = {2, 4, 3};
  const json::Value value = row.to_json();
  EXPECT_DOUBLE_EQ(value.find("seconds")->as_double(), 3.0);
  EXPECT_TRUE(value.find("tokens_per_s")->is_null());
  EXPECT_TRUE(value.find("bytes_per_token")->is_null());
  EXPECT_TRUE(value.find("roof_fraction")->is_null());
}

TEST(Bench, RatesAndFractionsFollowFromTheMedian) {
  BenchRow row;
  row.kind = "decode";
  row.tokens = 64;
  row.batch = 4;
  row.samples = {1, 2, 9};
  row.bytes = 640;
  row.roof_seconds = 1.5;
  EXPECT_DOUBLE_EQ(row.tokens_per_s(), 32);
  EXPECT_DOUBLE_EQ(row.bytes_per_token(), 10);
  EXPECT_DOUBLE_EQ(row.roof_fraction(), 0.75);
  EXPECT_NE(bench_noise({row}).find("decode of 4 sequences"), std::string::npos);
  row.busy = true;
  EXPECT_EQ(bench_noise({row}), "");
}

std::vector<std::string> keys(const json::Value& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.as_object()) names.push_back(key);
  return names;
}

TEST(Bench, TheReportHasExactlyTheDocumentedKeys) {
  BenchOptions options;
  options.prefill_tokens = {16, 70};
  options.decode_depths = {0, 200};
  options.batches = {1, 3};
  options.decode_tokens = 2;
  options.repeats = 1;
  options.load.prefill_chunk = 64;
  options.read_bytes = int64_t{16} << 20;
  int lines = 0;
  options.progress = [&lines](const std::string&) { ++lines; };
  const auto report = bench(nano(), options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_GT(lines, 5);
  const auto root = json::parse(report->json, "report");
  ASSERT_TRUE(root.ok());
  using Names = std::vector<std::string>;
  EXPECT_EQ(keys(*root), (Names{"machine", "model", "rows", "left_out", "peak_rss_bytes"}));
  std::multiset<std::string> seen;
  for (const json::Value& row : root->find("rows")->as_array()) {
    EXPECT_EQ(keys(row), (Names{"kind", "tokens", "depth", "batch", "busy", "tokens_per_s",
                                "bytes_per_token", "roof_fraction", "seconds"}));
    EXPECT_GT(row.find("seconds")->as_double(), 0);
    const bool counts =
        row.find("kind")->as_string() == "prefill" || row.find("kind")->as_string() == "decode";
    EXPECT_EQ(row.find("roof_fraction")->is_null(), !counts);
    seen.insert(row.find("kind")->as_string() + (row.find("busy")->as_bool() ? "+busy" : ""));
  }
  const std::multiset<std::string> expected{
      "load",        "first_token", "prefill",      "prefill",         "decode",
      "decode",      "decode",      "prefill+busy", "prefill+busy",    "decode+busy",
      "decode+busy", "decode+busy", "load+busy",    "first_token+busy"};
  EXPECT_EQ(seen, expected);
  for (const char* key : {"cpu", "isa", "cores", "limits"})
    EXPECT_NE(root->find("machine")->find(key), nullptr) << key;
  EXPECT_NE(report->text.find("tok/s"), std::string::npos);
}

TEST(Bench, ASingleStepTouchesWhatTheConfigImplies) {
  // One decode token reads each active weight once: between the active experts and the whole file.
  BenchOptions options;
  options.prefill_tokens = {};
  options.decode_depths = {0};
  options.batches = {};
  options.decode_tokens = 1;
  options.repeats = 1;
  options.busy = false;
  options.load.isa = "scalar";
  options.read_bytes = int64_t{16} << 20;
  const auto report = bench(nano(), options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const auto root = json::parse(report->json, "report");
  const double file = root->find("model")->find("file_bytes")->as_double();
  for (const json::Value& row : root->find("rows")->as_array()) {
    if (row.find("kind")->as_string() != "decode") continue;
    EXPECT_LT(row.find("bytes_per_token")->as_double(), 1.5 * file);
    EXPECT_GT(row.find("bytes_per_token")->as_double(), 0.1 * file);
  }
  json::Value missing = *root->find("machine")->find("limits")->find("missing_units");
  EXPECT_EQ(missing.as_array().size(), 4u);  // the scalar level has no matrix unit, and says so
}

TEST(Bench, RefusesSizesThatMeanNothing) {
  BenchOptions options;
  options.prefill_tokens = {0};
  EXPECT_EQ(bench(nano(), options).status().code(), Code::kInvalidArgument);
  options = BenchOptions();
  options.repeats = 0;
  EXPECT_EQ(bench(nano(), options).status().code(), Code::kInvalidArgument);
  options = BenchOptions();
  options.load.isa = "sse9";
  EXPECT_EQ(bench(nano(), options).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(bench("/no/such/folder", BenchOptions()).status().code(), Code::kNotFound);
}

TEST(Bench, SizesBeyondTheContextAreNamedAndLeftOut) {
  BenchOptions options;
  options.prefill_tokens = {16, 65};
  options.decode_depths = {0, 63};
  options.batches = {};
  options.decode_tokens = 2;
  options.repeats = 1;
  options.busy = false;
  options.load.context = 64;
  options.read_bytes = int64_t{16} << 20;
  const auto report = bench(nano(), options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const auto root = json::parse(report->json, "report");
  ASSERT_TRUE(root.ok());
  const json::Value::Array& left_out = root->find("left_out")->as_array();
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(keys(left_out[0]),
            (std::vector<std::string>{"kind", "tokens", "depth", "batch", "reason"}));
  EXPECT_EQ(left_out[0].find("tokens")->number_text(), "65");
  EXPECT_EQ(left_out[1].find("depth")->number_text(), "63");
  EXPECT_NE(left_out[1].find("reason")->as_string().find("context of 64"), std::string::npos);
  EXPECT_NE(report->text.find("left out: prefill of 65"), std::string::npos) << report->text;
  // Nothing left, be it the context asked for or the one that the model was made for.
  options.prefill_tokens = {int64_t{1} << 30};
  options.decode_depths = {};
  for (const int64_t context : {64, 0}) {
    options.load.context = context;
    EXPECT_EQ(bench(nano(), options).status().code(), Code::kInvalidArgument);
  }
}

TEST(Bench, ARowAboveItsRoofIsExplained) {
  BenchRow row;
  row.kind = "decode";
  row.tokens = 1;
  row.samples = {1};
  row.roof_seconds = 1.0004;
  EXPECT_EQ(bench_above_roof({row}), "") << "shown as 100.0 %";
  row.roof_seconds = 1.2;
  EXPECT_NE(bench_above_roof({row}).find("100 %"), std::string::npos);
}

TEST(Bench, SkippingToADepthKeepsTheSequenceUsable) {
  LoadOptions load;
  load.context = 1024;
  auto model = Model::load(nano(), load);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  auto sequence = model->new_sequence();
  ASSERT_TRUE(sequence.ok());
  EXPECT_FALSE(BenchAccess::skip_to(&*sequence, 64).ok()) << "nothing to repeat yet";
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < 40; ++i) ids.push_back(bench_id(0, i, model->vocab_size()));
  ASSERT_TRUE(sequence->prefill(ids).ok());
  EXPECT_FALSE(BenchAccess::skip_to(&*sequence, 41).ok()) << "another place in the KDA chunk";
  EXPECT_FALSE(BenchAccess::skip_to(&*sequence, 2008).ok()) << "beyond the context";
  ASSERT_TRUE(BenchAccess::skip_to(&*sequence, 904).ok());
  EXPECT_EQ(sequence->position(), 904);
  EXPECT_TRUE(sequence->decode(1).ok());
  EXPECT_EQ(sequence->position(), 905);
}

}  // namespace
}  // namespace trine
