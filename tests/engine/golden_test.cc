// Exact precision against the goldens: logits, layers, router picks, states and greedy
// continuations, on every ISA level of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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

/// All goldens, read once.
const std::vector<GoldenCase>& goldens() {
  static const std::vector<GoldenCase> cases = testing::all_goldens();
  return cases;
}

class Golden : public ::testing::TestWithParam<Isa> {
 protected:
  static Model load(const GoldenCase& golden) {
    LoadOptions options;
    options.precision = Precision::kExact;
    options.isa = isa_name(GetParam());
    options.threads = 2;
    options.context = 1024;
    Result<Model> model = Model::load(golden.folder, options);
    EXPECT_TRUE(model.ok()) << golden.name << ": " << model.status().to_string();
    if (!model.ok()) std::abort();
    return std::move(*model);
  }
  static Sequence start(const Model& model) {
    Result<Sequence> sequence = model.new_sequence();
    EXPECT_TRUE(sequence.ok()) << sequence.status().to_string();
    return std::move(*sequence);
  }
};

TEST_P(Golden, LogitsOfEveryPositionAgree) {
  for (const GoldenCase& golden : goldens()) {
    const Model model = load(golden);
    for (const auto& [key, ids] :
         {std::pair("short.logits", &golden.short_ids), {"long.logits", &golden.long_ids}}) {
      const GoldenArray* expected = golden.find(key);
      ASSERT_NE(expected, nullptr) << golden.name << " " << key;
      Sequence sequence = start(model);
      const Result<std::vector<float>> logits = sequence.prefill(*ids, {.all_logits = true});
      ASSERT_TRUE(logits.ok()) << logits.status().to_string();
      EXPECT_LE(max_abs_difference(*logits, expected->floats), kLogitTolerance)
          << golden.name << " " << key;
      const int64_t vocab = model.vocab_size();
      int64_t differ = 0;
      for (size_t t = 0; t < ids->size(); ++t) {
        const auto at = static_cast<int64_t>(t) * vocab;
        differ += argmax(logits->data() + at, vocab) != argmax(expected->floats.data() + at, vocab)
                      ? 1
                      : 0;
      }
      EXPECT_EQ(differ, 0) << golden.name << " " << key;
    }
  }
}

TEST_P(Golden, LayersRouterPicksAndStatesAgree) {
  for (const GoldenCase& golden : goldens()) {
    const Model model = load(golden);
    Sequence sequence = start(model);
    Trace trace;
    ASSERT_TRUE(sequence.prefill(golden.short_ids, {.trace = &trace}).ok());
    EXPECT_LE(max_abs_difference(trace.layers, golden.find("short.layers")->floats),
              kLogitTolerance)
        << golden.name;
    if (const GoldenArray* state = golden.find("short.kda_state"); state != nullptr) {
      EXPECT_LE(max_abs_difference(sequence.kda_state(), state->floats), kStateTolerance)
          << golden.name;
    }
    if (const GoldenArray* rows = golden.find("short.mla_rows"); rows != nullptr) {
      EXPECT_LE(max_abs_difference(sequence.mla_rows(), rows->floats), kStateTolerance)
          << golden.name;
    }
    const GoldenArray* picks = golden.find("short.router_ids");
    if (picks == nullptr) continue;
    const auto k = static_cast<std::ptrdiff_t>(picks->shape.back());
    ASSERT_EQ(trace.router_ids.size(), picks->integers.size()) << golden.name;
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(picks->integers.size()); i += k) {
      const std::set<int32_t> found(trace.router_ids.begin() + i, trace.router_ids.begin() + i + k);
      const std::set<int32_t> expected(picks->integers.begin() + i,
                                       picks->integers.begin() + i + k);
      EXPECT_EQ(found, expected) << golden.name << " pick " << i / k;
    }
  }
}

TEST_P(Golden, KdaStateAgreesWhereverThePromptStops) {
  for (const GoldenCase& golden : goldens()) {
    const Model model = load(golden);
    for (const auto& [key, array] : golden.arrays) {
      const std::string prefix = "long.kda_state_after_";
      if (key.rfind(prefix, 0) != 0) continue;
      const size_t n = std::stoul(key.substr(prefix.size()));
      Sequence sequence = start(model);
      ASSERT_TRUE(sequence.prefill(std::span(golden.long_ids).first(n)).ok());
      EXPECT_LE(max_abs_difference(sequence.kda_state(), array.floats), kStateTolerance)
          << golden.name << " " << key;
    }
  }
}

TEST_P(Golden, GreedyContinuationsAreIdentical) {
  for (const GoldenCase& golden : goldens()) {
    const Model model = load(golden);
    for (const testing::GoldenGreedy& greedy : golden.greedy) {
      // The scalar level takes half a minute for k3-nano's long prompts and would show nothing new.
      if (GetParam() == Isa::kScalar && golden.name == "k3-nano" && greedy.name != "short")
        continue;
      Sequence sequence = start(model);
      Result<std::vector<float>> logits = sequence.prefill(greedy.prompt);
      ASSERT_TRUE(logits.ok()) << logits.status().to_string();
      std::vector<int32_t> tokens;
      while (tokens.size() < greedy.tokens.size()) {
        tokens.push_back(static_cast<int32_t>(argmax(logits->data(), model.vocab_size())));
        logits = sequence.decode(tokens.back());
        ASSERT_TRUE(logits.ok()) << logits.status().to_string();
      }
      EXPECT_EQ(tokens, greedy.tokens) << golden.name << " " << greedy.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, Golden, ::testing::ValuesIn(supported_isas()),
                         [](const auto& param_info) {
                           return std::string(isa_name(param_info.param));
                         });

}  // namespace
}  // namespace trine
