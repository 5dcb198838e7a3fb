// write_logits and verify: against the golden tensors, and with one thing changed at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/temp_dir.h"
#include "toolkit/reference_file.h"
#include "trine/toolkit.h"

namespace trine {
namespace {

using testing::TempDir;

std::string golden(const std::string& name) {
  return std::string(TRINE_SOURCE_DIR) + "/tests/golden/" + name;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<int32_t> golden_ids(const std::string& name, const std::string& key) {
  const Result<json::Value> root = json::parse(read_bytes(golden(name + "/golden.json")), name);
  std::vector<int32_t> ids;
  for (const json::Value& value : root->find(key)->as_array()) {
    int64_t id = 0;
    EXPECT_TRUE(value.to_int64(&id));
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

VerifyOptions exact_options() {
  VerifyOptions options;
  options.load.precision = Precision::kExact;
  return options;
}

json::Value report_json(const VerifyReport& report) {
  const Result<json::Value> root = json::parse(report.json, "report");
  EXPECT_TRUE(root.ok()) << report.json;
  return root.ok() ? *root : json::Value();
}

class GoldenVerify : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenVerify, ExactAgreesWithTheReferenceInEveryLayer) {
  const std::string name = GetParam();
  VerifyOptions options = exact_options();
  options.prefix = "short.";
  options.ids = golden_ids(name, "short_ids");
  const Result<VerifyReport> report =
      verify(golden(name + "/model"), golden(name + "/golden.safetensors"), options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->equal) << report->text;
  const json::Value root = report_json(*report);
  EXPECT_TRUE(root.find("not_in_file")->as_array().empty()) << report->json;
  EXPECT_EQ(root.find("layers")->as_array().size(), 5u) << report->json;
  EXPECT_EQ(root.find("logits")->find("top1_agreement")->as_double(), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenVerify,
                         ::testing::Values("k3_base", "k3_softplus_lowrank", "linear_base"));

// A file of logits of k3_base for a prompt, and copies of it with some bytes replaced.
class VerifyChanged : public ::testing::Test {
 protected:
  void SetUp() override {
    LogitsOptions options;
    options.load.precision = Precision::kExact;
    options.load.prefill_chunk = 64;
    options.layers = true;
    options.out = file_;
    const std::vector<int32_t> ids = golden_ids("k3_base", "long_ids");
    tokens_ = static_cast<int64_t>(ids.size());
    const Status status = write_logits(golden("k3_base/model"), ids, options);
    ASSERT_TRUE(status.ok()) << status.to_string();
  }

  // Replaces float number `index` of a tensor.
  void change(const std::string& tensor, int64_t index, float value) {
    const Result<toolkit::ReferenceFile> reference = toolkit::ReferenceFile::open(file_);
    ASSERT_TRUE(reference.ok()) << reference.status().to_string();
    const checkpoint::TensorInfo* info = reference->find(tensor);
    ASSERT_NE(info, nullptr) << tensor;
    std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(info->offset + index * 4);
    file.write(reinterpret_cast<const char*>(&value), 4);
  }

  VerifyReport must_verify(double tolerance = 2e-3) {
    VerifyOptions options = exact_options();
    options.tolerance = tolerance;
    const Result<VerifyReport> report = verify(golden("k3_base/model"), file_, options);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? *report : VerifyReport();
  }

  TempDir folder_;
  std::string file_ = folder_ / "logits.safetensors";
  int64_t tokens_ = 0;
};

TEST_F(VerifyChanged, UnchangedIsEqualToTheBitInAnotherChunking) {
  const VerifyReport report = must_verify(0);
  EXPECT_TRUE(report.equal) << report.text;
}

TEST_F(VerifyChanged, ADifferentLayerIsNamed) {
  change("layers", (3 * tokens_ + 70) * 64 + 5, 1e3f);
  const VerifyReport report = must_verify();
  EXPECT_FALSE(report.equal);
  const json::Value root = report_json(report);
  int64_t first = -1;
  EXPECT_TRUE(root.find("first_different_layer")->to_int64(&first)) << report.json;
  EXPECT_EQ(first, 3);
  int64_t where = -1;
  EXPECT_TRUE(root.find("layers")->as_array()[3].find("output")->find("where")->to_int64(&where));
  EXPECT_EQ(where, 70);
  EXPECT_NE(report.text.find("first layer that differs is layer 3 (MLA"), std::string::npos);
}

TEST_F(VerifyChanged, AnotherExpertIsFoundAndAnotherOrderIsNot) {
  const Result<toolkit::ReferenceFile> reference = toolkit::ReferenceFile::open(file_);
  ASSERT_TRUE(reference.ok());
  const int64_t at = (tokens_ + 65) * 2;  // second MoE layer (layer 2), token 65
  const Result<std::vector<float>> pair = reference->read(*reference->find("router_ids"), at, 2);
  ASSERT_TRUE(pair.ok());
  change("router_ids", at, (*pair)[1]);
  change("router_ids", at + 1, (*pair)[0]);
  EXPECT_TRUE(must_verify(0).equal);
  change("router_ids", at, (*pair)[0] == 0.0f || (*pair)[1] == 0.0f ? 7.0f : 0.0f);
  const VerifyReport report = must_verify();
  EXPECT_FALSE(report.equal);
  EXPECT_NE(report.text.find("experts differ for 1 tokens (first: 65)"), std::string::npos)
      << report.text;
  EXPECT_NE(report.text.find("differs is layer 2"), std::string::npos) << report.text;
}

TEST_F(VerifyChanged, StatesAndLatentRowsAreCompared) {
  change("kda_state", 4 * 16 * 16 + 3, 1e3f);  // second KDA layer
  EXPECT_NE(must_verify().text.find("differs is layer 1"), std::string::npos);
  change("kda_state", 4 * 16 * 16 + 3, 0);
  change("mla_rows", tokens_ * 40 + 3, 1e3f);  // second MLA layer: layer 4
  change("layers", 0, 1e3f);                   // and an earlier layer: it is the first
  EXPECT_NE(must_verify().text.find("differs is layer 0"), std::string::npos);
}

TEST_F(VerifyChanged, NotANumberIsNeverEqual) {
  change("logits", 17, std::numeric_limits<float>::quiet_NaN());
  const VerifyReport report = must_verify(1e9);
  EXPECT_FALSE(report.equal) << report.text;
  EXPECT_TRUE(report_json(report).find("logits")->find("max_abs")->is_null());
}

TEST_F(VerifyChanged, AFileOfAnotherPromptIsRefusedWithBothShapes) {
  VerifyOptions options = exact_options();
  options.ids = {1, 2, 3};
  const Result<VerifyReport> report = verify(golden("k3_base/model"), file_, options);
  EXPECT_EQ(report.status().code(), Code::kCorrupt);
  EXPECT_NE(report.status().message().find("[3,640]"), std::string::npos)
      << report.status().message();
  EXPECT_NE(report.status().message().find("[" + std::to_string(tokens_) + ",640]"),
            std::string::npos);
}

TEST(Verify, RefusesFilesThatAreNoReference) {
  const TempDir folder;
  const VerifyOptions options = exact_options();
  const std::string model = golden("k3_base/model");
  EXPECT_EQ(verify(model, folder / "absent", options).status().code(), Code::kNotFound);
  const std::string text = folder.write("text", "this is no safetensors file at all");
  EXPECT_EQ(verify(model, text, options).status().code(), Code::kCorrupt);
  EXPECT_EQ(verify(model, golden("k3_base/golden.safetensors"), options).status().code(),
            Code::kInvalidArgument);
}

TEST(Logits, CancelledLeaveNoFile) {
  const TempDir folder;
  LogitsOptions options;
  options.out = folder / "x";
  options.progress = [](int64_t, int64_t) { return false; };
  const std::vector<int32_t> ids{1, 2, 3};
  EXPECT_EQ(write_logits(golden("k3_base/model"), ids, options).code(), Code::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Logits, WithoutLayersTheFileHasLogitsAlone) {
  const TempDir folder;
  LogitsOptions options;
  options.out = folder / "x";
  const std::vector<int32_t> ids{1, 2, 3};
  ASSERT_TRUE(write_logits(golden("k3_base/model"), ids, options).ok());
  const Result<toolkit::ReferenceFile> file = toolkit::ReferenceFile::open(folder / "x");
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  ASSERT_NE(file->find("logits"), nullptr);
  EXPECT_EQ(file->find("logits")->shape, (std::vector<int64_t>{3, 640}));
  EXPECT_EQ(file->find("layers"), nullptr);
  ASSERT_TRUE(file->ids().ok());
  EXPECT_EQ(*file->ids(), ids);
}

}  // namespace
}  // namespace trine
