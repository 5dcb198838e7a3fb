// What the scheduler promises, one case each; simulator_test.cc mixes them all.
#include "serving/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler_harness.h"

namespace trine::serving {
namespace {

std::vector<int32_t> ids_of(int64_t count, uint64_t seed = 1) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  uint64_t state = seed;
  for (int32_t& id : ids) {
    state = ToyExecutor::mix(state, 77);
    id = static_cast<int32_t>(1 + state % 30);
  }
  return ids;
}

Request greedy(std::vector<int32_t> prompt, int64_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.ignore_eos = true;
  return request;
}

std::vector<int32_t> alone(const Request& request) {
  return run_alone(request, {}, Recorder()).tokens;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::shared_ptr<Recorder> finish_one(Harness& h, const Request& request) {
  auto recorder = h.submit(request);
  h.drain();
  EXPECT_EQ(recorder->finishes, 1);
  EXPECT_EQ(recorder->tokens, alone(request));
  return recorder;
}

TEST(Scheduler, AThenBThenAGivesTheSameAndStartsFromTheSnapshot) {
  Harness h({});
  const Request a = greedy(ids_of(20, 1), 5), b = greedy(ids_of(20, 2), 5);
  const auto first = finish_one(h, a);
  finish_one(h, b);
  const auto third = finish_one(h, a);
  EXPECT_EQ(third->tokens, first->tokens);
  EXPECT_EQ(third->outcome.cached_tokens, 20);
}

TEST(Scheduler, TheSamePromptAgainRunsNoRowOfIt) {
  Harness h({});
  const Request request = greedy(ids_of(20), 6);
  finish_one(h, request);
  const int64_t rows = h.executor.rows_run;
  finish_one(h, request);
  // Six tokens are chosen from known logits and five rows; the last token's row exists already or
  // runs for the snapshot.
  EXPECT_LE(h.executor.rows_run - rows, 6);
  EXPECT_STREQ(h.admissions.back().reason, "hit");
}

TEST(Scheduler, TwoRequestsForkOffOneSnapshotAtOnce) {
  Harness h({});
  const std::vector<int32_t> shared = ids_of(21);
  finish_one(h, greedy(shared, 0));
  const Request a = greedy(joined(shared, ids_of(7, 5)), 9);
  const Request b = greedy(joined(shared, ids_of(4, 6)), 9);
  const auto ra = h.submit(a), rb = h.submit(b);
  h.drain();
  EXPECT_EQ(ra->tokens, alone(a));
  EXPECT_EQ(rb->tokens, alone(b));
  EXPECT_EQ(ra->outcome.cached_tokens, 21);
  EXPECT_EQ(rb->outcome.cached_tokens, 21);
}

TEST(Scheduler, ManyAnswersToOnePromptPrefillItOnce) {
  Harness h({});
  Request request = greedy(ids_of(40), 4);
  request.sampling.temperature = 1;
  std::vector<std::shared_ptr<Recorder>> answers;
  std::vector<Request> requests;
  for (uint64_t n = 0; n < 4; ++n) {
    request.sampling.seed = n;
    requests.push_back(request);
    answers.push_back(h.submit(request));
  }
  h.drain();
  for (size_t n = 0; n < 4; ++n) EXPECT_EQ(answers[n]->tokens, alone(requests[n]));
  EXPECT_LT(h.executor.rows_run, 40 + 4 * 5);
}

TEST(Scheduler, LengthsAroundBlocksAndSpacingsAreReusedWhole) {
  for (int64_t length = 3; length <= 34; ++length) {
    SCOPED_TRACE(length);
    Harness h({.snapshots = 16, .spacing = 8});
    const Request first = greedy(ids_of(length), 3);
    finish_one(h, first);
    for (int64_t more = 1; more <= 6; ++more) {
      const auto next = finish_one(h, greedy(joined(first.prompt, ids_of(more, 9)), 2));
      EXPECT_GE(next->outcome.cached_tokens, length);
    }
  }
}

TEST(Scheduler, TheHistorySentBackUnchangedIsKnownToItsLastToken) {
  Harness h({});
  const Request first = greedy(ids_of(13), 7);
  const auto answer = finish_one(h, first);
  const std::vector<int32_t> history = joined(first.prompt, answer->tokens);
  const auto next = finish_one(h, greedy(joined(history, ids_of(5, 4)), 3));
  EXPECT_EQ(next->outcome.cached_tokens, static_cast<int64_t>(history.size()));
}

TEST(Scheduler, ARewrittenAnswerIsComputedAgainFromTheEndOfTheLastPrompt) {
  Harness h({});
  const Request first = greedy(ids_of(13), 9);
  finish_one(h, first);
  const auto next = finish_one(h, greedy(joined(first.prompt, ids_of(12, 8)), 3));
  EXPECT_EQ(next->outcome.cached_tokens, 13);
}

TEST(Scheduler, AnEditedWordCostsAtMostTheSpacing) {
  Harness h({.snapshots = 64, .spacing = 8});
  const std::vector<int32_t> prompt = ids_of(50);
  finish_one(h, greedy(prompt, 3));
  for (const size_t at : {49u, 41u, 40u, 33u, 17u, 9u}) {
    SCOPED_TRACE(at);
    std::vector<int32_t> edited = prompt;
    edited[at] = edited[at] % 30 + 1;
    const auto again = finish_one(h, greedy(edited, 2));
    EXPECT_LE(static_cast<int64_t>(at) - again->outcome.cached_tokens, 8);
    finish_one(h, greedy(prompt, 3));
  }
}

TEST(Scheduler, WherePromptsPartASnapshotIsTakenForTheThird) {
  Harness h({.spacing = 1000});
  const std::vector<int32_t> system = ids_of(22);
  finish_one(h, greedy(joined(system, ids_of(10, 2)), 1));
  finish_one(h, greedy(joined(system, ids_of(10, 3)), 1));
  const auto third = finish_one(h, greedy(joined(system, ids_of(10, 4)), 1));
  EXPECT_GE(third->outcome.cached_tokens, 22);
}

TEST(Scheduler, ASequenceThatTurnsNaNEndsWithAnErrorAndIsNotKept) {
  Harness h({});
  std::vector<int32_t> bad = ids_of(12);
  bad[9] = ToyExecutor::kBadToken;
  const Request neighbour = greedy(ids_of(30, 3), 12);
  const auto beside = h.submit(neighbour);
  const auto broken = h.submit(greedy(bad, 5));
  h.drain();
  EXPECT_EQ(broken->outcome.finish, Finish::kError);
  EXPECT_EQ(broken->outcome.status.code(), Code::kNotFinite);
  EXPECT_TRUE(broken->tokens.empty());
  EXPECT_EQ(beside->tokens, alone(neighbour));
  EXPECT_FALSE(h.cache->contains(bad));
  const PrefixMatch match = h.cache->find(bad, 12);
  EXPECT_TRUE(match.snapshot == nullptr || match.snapshot->position <= 9);
  const Request healthy = greedy(std::vector<int32_t>(bad.begin(), bad.begin() + 9), 4);
  finish_one(h, healthy);
}

TEST(Scheduler, CancelWorksInEveryPhaseAndAtEveryStep) {
  for (int64_t steps = 0; steps < 14; ++steps) {
    SCOPED_TRACE(steps);
    Harness h({.concurrency = 1, .pass_rows = 6});
    const auto doomed = h.submit(greedy(ids_of(30), 6));
    const RequestId id = h.last_id;
    const Request other = greedy(ids_of(30, 2), 3);
    const auto waiting = h.submit(other);
    for (int64_t i = 0; i < steps; ++i) h.step();
    h.scheduler->cancel(id);
    h.drain();
    EXPECT_EQ(doomed->finishes, 1);
    EXPECT_EQ(waiting->tokens, alone(other));
    const std::vector<int32_t> whole = alone(greedy(ids_of(30), 6));
    EXPECT_TRUE(std::equal(doomed->tokens.begin(), doomed->tokens.end(), whole.begin()));
  }
}

TEST(Scheduler, AStopInTheStepOfASnapshotKeepsBothRight) {
  Harness h({.spacing = 8});
  Request request = greedy(ids_of(16), 10);  // the prompt's end is a spacing as well
  auto recorder = std::make_shared<Recorder>();
  recorder->stop_after = 1;
  ASSERT_TRUE(h.scheduler->submit(request, recorder).ok());
  h.drain();
  EXPECT_EQ(recorder->outcome.finish, Finish::kStop);
  EXPECT_EQ(recorder->outcome.stop_token, -1);
  const auto next = finish_one(h, greedy(joined(request.prompt, recorder->tokens), 4));
  EXPECT_GE(next->outcome.cached_tokens, 16);
}

TEST(Scheduler, DeadlinesEndWhoWaitsAndWhoRuns) {
  Harness h({.concurrency = 1});
  Request slow = greedy(ids_of(5), 50);
  slow.deadline = h.now + std::chrono::milliseconds(10);
  Request late = greedy(ids_of(5, 2), 5);
  late.deadline = h.now + std::chrono::milliseconds(5);
  const auto running = h.submit(slow), waiting = h.submit(late);
  h.drain();
  EXPECT_EQ(running->outcome.finish, Finish::kDeadline);
  EXPECT_GT(running->tokens.size(), 3u);
  EXPECT_EQ(waiting->outcome.finish, Finish::kDeadline);
  EXPECT_TRUE(waiting->tokens.empty());
}

TEST(Scheduler, AClientWithOneRequestDoesNotWaitForAClientWithMany) {
  Harness h({.concurrency = 2});
  std::vector<std::shared_ptr<Recorder>> many;
  for (uint64_t i = 0; i < 10; ++i) {
    Request request = greedy(ids_of(6, 100 + i), 8);
    request.client = "many";
    many.push_back(h.submit(request));
  }
  Request single = greedy(ids_of(6, 50), 8);
  single.client = "one";
  const auto one = h.submit(single);
  while (one->finishes == 0) h.step();
  const auto done =
      std::count_if(many.begin(), many.end(), [](const auto& r) { return r->finishes == 1; });
  EXPECT_LE(done, 4);
  h.drain();
}

TEST(Scheduler, NobodyIsPassedOverForEver) {
  Harness h({.concurrency = 1});
  Request first = greedy(ids_of(4, 1), 30);
  first.client = "a";
  h.submit(first);
  Request patient = greedy(ids_of(4, 2), 3);
  patient.client = "a";
  const auto waiter = h.submit(patient);
  for (uint64_t i = 0; i < 40 && waiter->finishes == 0; ++i) {
    Request other = greedy(ids_of(4, 10 + i), 3);
    other.client = "client " + std::to_string(i);
    h.submit(other);
    for (int s = 0; s < 4; ++s) h.step();
  }
  EXPECT_EQ(waiter->finishes, 1);
  h.drain();
}

TEST(Scheduler, AShortPromptAnswersWithinTwoStepsOfALongOne) {
  Harness h({.context = 400, .blocks = 400, .spacing = 1000, .pass_rows = 32});
  h.submit(greedy(ids_of(300), 3));
  h.step();
  const auto quick = h.submit(greedy(ids_of(10, 3), 3));
  h.step();
  h.step();
  EXPECT_GE(quick->tokens.size(), 1u);
  h.drain();
}

TEST(Scheduler, PromptsShrinkToTheStepTimeWhileSomebodyDecodes) {
  Harness h({.context = 4000, .blocks = 4000, .spacing = 10000, .pass_rows = 200});
  h.executor.on_run = [&](int64_t rows) { h.now += std::chrono::milliseconds(20 * rows); };
  h.submit(greedy(ids_of(4), 200));
  for (int i = 0; i < 5; ++i) h.step();
  const auto long_prompt = h.submit(greedy(ids_of(1500, 2), 1));
  int64_t widest = 0;
  for (int i = 0; i < 12; ++i) h.step();  // the first pass measures
  for (int i = 0; i < 20; ++i) {
    h.step();
    widest = std::max(widest, h.executor.last_rows);
  }
  EXPECT_LE(widest, 500 / 20 + 2);  // step_ms / ms per row, and the decoding row
  EXPECT_GE(widest, 16);
  h.drain();
  EXPECT_EQ(long_prompt->finishes, 1);
}

TEST(Scheduler, MaxTokensZeroOnlyPrefillsAndMayTellThePromptsLogprobs) {
  Harness h({});
  Request request = greedy(ids_of(20), 0);
  request.prompt_logprobs = true;
  request.top_logprobs = 3;
  const auto recorder = h.submit(request);
  h.drain();
  EXPECT_EQ(recorder->outcome.finish, Finish::kLength);
  EXPECT_TRUE(recorder->tokens.empty());
  const SingleRun want = run_alone(request, {}, *recorder);
  ASSERT_EQ(recorder->prompt.size(), 19u);
  for (size_t i = 0; i < 19; ++i) {
    EXPECT_EQ(recorder->prompt[i].second.logprob, want.prompt[i].logprob);
    EXPECT_EQ(recorder->prompt[i].second.top.size(), 3u);
  }
}

TEST(Scheduler, EndTokensStopUnlessIgnoredOrTooEarly) {
  Harness h({});
  h.end_tokens = {0};
  auto only_zero = std::make_shared<Recorder>();
  only_zero->masker = [](std::span<uint64_t> allowed, const std::vector<int32_t>&) {
    allowed[0] &= 0b11;  // tokens 0 and 1
    return true;
  };
  Request request = greedy(ids_of(5), 30);
  request.ignore_eos = false;
  request.min_tokens = 4;
  request.sampling.temperature = 1;
  ASSERT_TRUE(h.scheduler->submit(request, only_zero).ok());
  h.drain();
  EXPECT_EQ(only_zero->outcome.finish, Finish::kStop);
  EXPECT_EQ(only_zero->outcome.stop_token, 0);
  EXPECT_GE(only_zero->tokens.size(), 5u);
  EXPECT_EQ(std::count(only_zero->tokens.begin(), only_zero->tokens.end(), 0), 1);
}

TEST(Scheduler, AMaskThatAllowsNothingIsAnErrorOfThatRequestAlone) {
  Harness h({});
  auto stuck = std::make_shared<Recorder>();
  stuck->masker = [](std::span<uint64_t> allowed, const std::vector<int32_t>&) {
    std::fill(allowed.begin(), allowed.end(), 0);
    return true;
  };
  ASSERT_TRUE(h.scheduler->submit(greedy(ids_of(5), 3), stuck).ok());
  const Request other = greedy(ids_of(5, 2), 3);
  const auto fine = h.submit(other);
  h.drain();
  EXPECT_EQ(stuck->outcome.finish, Finish::kError);
  EXPECT_EQ(fine->tokens, alone(other));
}

TEST(Scheduler, WithoutABudgetNothingIsReusedAndAllIsRight) {
  Harness h({.snapshots = 0});
  const Request request = greedy(ids_of(20), 5);
  finish_one(h, request);
  const auto again = finish_one(h, request);
  EXPECT_EQ(again->outcome.cached_tokens, 0);
  EXPECT_EQ(h.cache->size(), 0);
}

TEST(Scheduler, EveryMissHasItsReason) {
  Harness h({.snapshots = 1, .spacing = 1000});
  const Request a = greedy(ids_of(20, 1), 0), b = greedy(ids_of(20, 2), 0);
  finish_one(h, a);
  EXPECT_STREQ(h.admissions.back().reason, "cold");
  finish_one(h, b);  // evicts a's
  finish_one(h, a);
  EXPECT_STREQ(h.admissions.back().reason, "evicted");
  finish_one(h, a);
  EXPECT_STREQ(h.admissions.back().reason, "hit");
  finish_one(h, greedy(joined(a.prompt, ids_of(9, 7)), 0));
  EXPECT_STREQ(h.admissions.back().reason, "partial");
  Request echo = a;
  echo.prompt_logprobs = true;
  h.submit(echo);
  h.drain();
  EXPECT_STREQ(h.admissions.back().reason, "bypassed");
}

}  // namespace
}  // namespace trine::serving
