// Exact precision against the goldens: logits, layers, router picks, states and greedy
// continuations, on every ISA level of this machine.
//
// The scalar level is a hundred times slower: in the fast set it takes one golden of each kind, the
// rest are the suite Slow/Golden (ctest -C slow, the lane `goldens` of .ci/run).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/cpu.h"
#include "support/golden_file.h"
#include "trine/model.h"

namespace trine {
namespace {

using testing::GoldenArray;
using testing::GoldenCase;

constexpr double kLogitTolerance = 2e-3;
constexpr double kStateTolerance = 1e-4;

double max_abs_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

int64_t argmax(const float* row, int64_t n) { return std::max_element(row, row + n) - row; }

struct Setting {
  Isa isa = Isa::kScalar;
  std::string golden;
};

std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  std::string name = isa_name(info.param.isa) + ("_" + info.param.golden);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Golden : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    // Read once: each level asks for all of them.
    static const std::vector<GoldenCase> cases = testing::all_goldens();
    for (const GoldenCase& golden : cases)
      if (golden.name == GetParam().golden) golden_ = &golden;
    ASSERT_NE(golden_, nullptr) << GetParam().golden;
  }
  Model load() const {
    LoadOptions options;
    options.precision = Precision::kExact;
    options.isa = isa_name(GetParam().isa);
    options.threads = 2;
    options.context = 1024;
    Result<Model> model = Model::load(golden_->folder, options);
    EXPECT_TRUE(model.ok()) << golden_->name << ": " << model.status().to_string();
    if (!model.ok()) std::abort();
    return std::move(*model);
  }
  static Sequence start(const Model& model) {
    Result<Sequence> sequence = model.new_sequence();
    EXPECT_TRUE(sequence.ok()) << sequence.status().to_string();
    return std::move(*sequence);
  }

  const GoldenCase* golden_ = nullptr;
};

TEST_P(Golden, LogitsOfEveryPositionAgree) {
  const Model model = load();
  for (const auto& [key, ids] :
       {std::pair("short.logits", &golden_->short_ids), {"long.logits", &golden_->long_ids}}) {
    const GoldenArray* expected = golden_->find(key);
    ASSERT_NE(expected, nullptr) << key;
    Sequence sequence = start(model);
    const Result<std::vector<float>> logits = sequence.prefill(*ids, {.all_logits = true});
    ASSERT_TRUE(logits.ok()) << logits.status().to_string();
    EXPECT_LE(max_abs_difference(*logits, expected->floats), kLogitTolerance) << key;
    const int64_t vocab = model.vocab_size();
    int64_t differ = 0;
    for (size_t t = 0; t < ids->size(); ++t) {
      const auto at = static_cast<int64_t>(t) * vocab;
      if (argmax(logits->data() + at, vocab) != argmax(expected->floats.data() + at, vocab))
        ++differ;
    }
    EXPECT_EQ(differ, 0) << key;
  }
}

TEST_P(Golden, LayersRouterPicksAndStatesAgree) {
  const Model model = load();
  Sequence sequence = start(model);
  Trace trace;
  ASSERT_TRUE(sequence.prefill(golden_->short_ids, {.trace = &trace}).ok());
  EXPECT_LE(max_abs_difference(trace.layers, golden_->find("short.layers")->floats),
            kLogitTolerance);
  if (const GoldenArray* state = golden_->find("short.kda_state"); state != nullptr) {
    EXPECT_LE(max_abs_difference(sequence.kda_state(), state->floats), kStateTolerance);
  }
  if (const GoldenArray* rows = golden_->find("short.mla_rows"); rows != nullptr) {
    EXPECT_LE(max_abs_difference(sequence.mla_rows(), rows->floats), kStateTolerance);
  }
  const GoldenArray* picks = golden_->find("short.router_ids");
  if (picks == nullptr) return;
  const auto k = static_cast<std::ptrdiff_t>(picks->shape.back());
  ASSERT_EQ(trace.router_ids.size(), picks->integers.size());
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(picks->integers.size()); i += k) {
    const std::set<int32_t> found(trace.router_ids.begin() + i, trace.router_ids.begin() + i + k);
    const std::set<int32_t> expected(picks->integers.begin() + i, picks->integers.begin() + i + k);
    EXPECT_EQ(found, expected) << "pick " << i / k;
  }
}

TEST_P(Golden, KdaStateAgreesWhereverThePromptStops) {
  const Model model = load();
  for (const auto& [key, array] : golden_->arrays) {
    const std::string prefix = "long.kda_state_after_";
    if (!key.starts_with(prefix)) continue;
    const size_t n = std::stoul(key.substr(prefix.size()));
    Sequence sequence = start(model);
    ASSERT_TRUE(sequence.prefill(std::span(golden_->long_ids).first(n)).ok());
    EXPECT_LE(max_abs_difference(sequence.kda_state(), array.floats), kStateTolerance) << key;
  }
}

TEST_P(Golden, GreedyContinuationsAreIdentical) {
  const Model model = load();
  for (const testing::GoldenGreedy& greedy : golden_->greedy) {
    Sequence sequence = start(model);
    Result<std::vector<float>> logits = sequence.prefill(greedy.prompt);
    ASSERT_TRUE(logits.ok()) << logits.status().to_string();
    std::vector<int32_t> tokens;
    while (tokens.size() < greedy.tokens.size()) {
      tokens.push_back(static_cast<int32_t>(argmax(logits->data(), model.vocab_size())));
      logits = sequence.decode(tokens.back());
      ASSERT_TRUE(logits.ok()) << logits.status().to_string();
    }
    EXPECT_EQ(tokens, greedy.tokens) << greedy.name;
  }
}

/// K3 with MXFP4 experts, K3 in bf16, and Kimi-Linear.
bool is_slow(const Setting& setting) {
  constexpr std::array<std::string_view, 3> kOnScalar{"k3_base", "k3_base_bf16", "linear_base"};
  return setting.isa == Isa::kScalar &&
         std::find(kOnScalar.begin(), kOnScalar.end(), setting.golden) == kOnScalar.end();
}

std::vector<Setting> settings(bool slow) {
  std::vector<Setting> all;
  for (const Isa isa : supported_isas())
    for (const std::string& golden : testing::golden_names()) all.push_back({isa, golden});
  std::erase_if(all, [slow](const Setting& setting) { return is_slow(setting) != slow; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, Golden, ::testing::ValuesIn(settings(false)), setting_name);
INSTANTIATE_TEST_SUITE_P(Slow, Golden, ::testing::ValuesIn(settings(true)), setting_name);

}  // namespace
}  // namespace trine
