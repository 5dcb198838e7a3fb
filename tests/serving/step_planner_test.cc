// Who gets how many rows of a pass, and how the budget follows time.
#include "serving/step_planner.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace trine::serving {
namespace {

int64_t total(const std::vector<Candidate>& candidates) {
  return std::accumulate(candidates.begin(), candidates.end(), int64_t{0},
                         [](int64_t sum, const Candidate& c) { return sum + c.rows; });
}

TEST(PlanRows, EveryDecodingSequenceGetsItsRowBeforeAnyPrompt) {
  std::vector<Candidate> c{{100, 100, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}};
  plan_rows(c, 8, 8);
  EXPECT_EQ(c[0].rows, 5);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(c[i].rows, 1);
}

TEST(PlanRows, TheOldestPromptAndTheShortestShareTheRest) {
  std::vector<Candidate> c{{1000, 1000, 0}, {500, 500, 0}, {10, 10, 0}};
  plan_rows(c, 64, 64);
  EXPECT_EQ(c[0].rows, 32);
  EXPECT_EQ(c[2].rows, 10);
  EXPECT_EQ(c[1].rows, 22);
}

TEST(PlanRows, WhatOneCannotUseTheOthersGet) {
  std::vector<Candidate> c{{1000, 7, 0}, {500, 9, 0}, {300, 300, 0}};
  plan_rows(c, 64, 40);
  EXPECT_EQ(c[0].rows, 7);
  EXPECT_EQ(c[1].rows + c[2].rows, 33);
}

TEST(PlanRows, NeverExceedsItsLimitsAndAlwaysMovesTheOldest) {
  constexpr uint32_t kSeed = 4;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    std::vector<Candidate> c(1 + random() % 12);
    int64_t decoding = 0;
    for (Candidate& one : c) {
      one.pending = random() % 2 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 300);
      one.rows_max = 1 + static_cast<int64_t>(random()) % one.pending;
      decoding += one.pending == 1;
    }
    const int64_t pass_rows = static_cast<int64_t>(c.size()) + static_cast<int64_t>(random() % 90);
    const int64_t prompt_rows = 1 + static_cast<int64_t>(random() % 100);
    plan_rows(c, pass_rows, prompt_rows);
    EXPECT_LE(total(c), pass_rows);
    EXPECT_LE(total(c) - decoding, prompt_rows);
    bool first_prompt = true;
    for (const Candidate& one : c) {
      EXPECT_LE(one.rows, one.rows_max);
      const bool prompt = one.pending > 1;
      EXPECT_GE(one.rows, !prompt || first_prompt ? 1 : 0);
      first_prompt = first_prompt && !prompt;
    }
  }
}

TEST(Pace, FollowsWhatIsMeasured) {
  Pace pace(100);
  EXPECT_EQ(pace.prompt_rows(512, true), 512);  // nothing known yet
  for (int i = 0; i < 50; ++i) {
    pace.measured(4, 0, 20);        // decoding alone: 20 ms
    pace.measured(4, 64, 20 + 64);  // a row of a prompt adds 1 ms
  }
  EXPECT_NEAR(static_cast<double>(pace.prompt_rows(512, true)), 80, 2);
  EXPECT_EQ(pace.prompt_rows(512, false), 512);
  for (int i = 0; i < 50; ++i) pace.measured(0, 64, 64 * 50);
  EXPECT_EQ(pace.prompt_rows(512, true), Pace::kRowsMin);
}

}  // namespace
}  // namespace trine::serving
