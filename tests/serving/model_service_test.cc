// The service on a real checkpoint: answers under load are those of a sequence alone, to the bit.
#include "serving/model_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>

#include "serving/logprobs.h"
#include "support/temp_dir.h"

namespace trine::serving {
namespace {

const char* const kNano = TRINE_SOURCE_DIR "/models/k3-nano";

struct Waiter : Sink {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<int64_t> admissions;
  bool done = false;
  Outcome outcome;
  std::function<void(const std::vector<int32_t>&)> on_token;

  void admitted(int64_t cached) override {
    const std::lock_guard<std::mutex> lock(mutex);
    admissions.push_back(cached);
  }
  Verdict token(const Token& token) override {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      tokens.push_back(token.id);
      if (token.logprobs != nullptr) logprobs.push_back(token.logprobs->logprob);
    }
    changed.notify_all();
    if (on_token) on_token(tokens);
    return Verdict::kGoOn;
  }
  void finished(const Outcome& result) override {
    const std::lock_guard<std::mutex> lock(mutex);
    outcome = result;
    done = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
  }
};

ModelServiceOptions small(int64_t context = 512, int64_t concurrency = 3) {
  ModelServiceOptions options;
  options.load.threads = 2;
  options.load.prefill_chunk = 64;
  options.memory.context = context;
  options.memory.concurrency = concurrency;
  options.snapshot_spacing = 64;
  options.poison = true;
  return options;
}

std::unique_ptr<ModelService> start(ModelServiceOptions options) {
  Result<std::unique_ptr<ModelService>> service = ModelService::start(kNano, std::move(options));
  EXPECT_TRUE(service.ok()) << service.status().message();
  return std::move(*service);
}

std::shared_ptr<Waiter> submit(Service& service, const Request& request) {
  auto waiter = std::make_shared<Waiter>();
  const Result<RequestId> id = service.submit(request, waiter);
  EXPECT_TRUE(id.ok()) << id.status().message();
  return waiter;
}

Request request_of(std::vector<int32_t> prompt, int64_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0.8f;
  request.sampling.seed = request.prompt.size();
  request.top_logprobs = 0;
  request.ignore_eos = true;
  return request;
}

std::vector<int32_t> random_ids(std::mt19937& random, int64_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % 500);
  return ids;
}

/// With the library's Sequence, one token at a time.
std::pair<std::vector<int32_t>, std::vector<float>> alone(const Model& model,
                                                          const Request& request) {
  Result<::trine::Sequence> sequence = model.new_sequence();
  EXPECT_TRUE(sequence.ok());
  TokenChooser chooser(request.sampling, request.prompt);
  std::pair<std::vector<int32_t>, std::vector<float>> result;
  std::vector<float> logits = *sequence->prefill(request.prompt);
  while (static_cast<int64_t>(result.first.size()) < request.max_tokens) {
    const int32_t id = chooser.choose(logits, {}, {});
    chooser.accept(id);
    result.second.push_back(logprobs_of(logits, id, 0).logprob);
    result.first.push_back(id);
    EXPECT_TRUE(sequence->decode(id, &logits).ok());
  }
  return result;
}

Model reference() {
  Result<Model> model =
      Model::load(kNano, {.threads = 1, .context = 512, .sequences = 1, .prefill_chunk = 128});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(*model);
}

TEST(ModelService, ManyAtOnceGetTheBitsThatEachGetsAlone) {
  const Model model = reference();
  const auto service = start(small());
  std::mt19937 random(3);
  std::vector<Request> requests;
  const std::vector<int32_t> shared = random_ids(random, 130);
  for (int64_t i = 0; i < 12; ++i) {
    std::vector<int32_t> prompt(shared.begin(), shared.begin() + (i % 3) * 65);
    const std::vector<int32_t> own = random_ids(random, 1 + i * 7);
    prompt.insert(prompt.end(), own.begin(), own.end());
    requests.push_back(request_of(std::move(prompt), 5 + i));
  }
  for (int round = 0; round < 2; ++round) {  // cold, then with snapshots of all
    std::vector<std::shared_ptr<Waiter>> waiters;
    for (const Request& request : requests) waiters.push_back(submit(*service, request));
    for (size_t i = 0; i < requests.size(); ++i) {
      waiters[i]->wait();
      const auto [tokens, logprobs] = alone(model, requests[i]);
      EXPECT_EQ(waiters[i]->tokens, tokens) << "request " << i << " round " << round;
      EXPECT_EQ(waiters[i]->logprobs, logprobs) << "request " << i << " round " << round;
    }
  }
  EXPECT_GT(service->counters().cached_tokens, 0);
}

TEST(ModelService, TheHistorySentBackUnchangedIsNotRunAgain) {
  const Model model = reference();
  const auto service = start(small());
  std::mt19937 random(5);
  const Request first = request_of(random_ids(random, 100), 20);
  const auto answer = submit(*service, first);
  answer->wait();
  std::vector<int32_t> history = first.prompt;
  history.insert(history.end(), answer->tokens.begin(), answer->tokens.end());
  const auto history_size = static_cast<int64_t>(history.size());
  const std::vector<int32_t> more = random_ids(random, 9);
  history.insert(history.end(), more.begin(), more.end());
  const Request second = request_of(history, 10);
  // The answer's last token is run after the client has been told the end.
  const auto next = submit(*service, second);
  next->wait();
  EXPECT_EQ(next->outcome.cached_tokens, history_size);
  EXPECT_EQ(next->tokens, alone(model, second).first);
}

TEST(ModelService, PreemptedRequestsResumeExactly) {
  const Model model = reference();
  ModelServiceOptions options = small(256, 4);
  // Pages for one and a half requests of full length, though four may run.
  {
    const auto roomy = start(options);
    const ServicePlan& plan = roomy->plan();
    options.memory.snapshot_bytes = plan.snapshots * plan.slot_bytes;
    options.memory.memory_bytes = plan.total_bytes - (plan.blocks - 6) * plan.block_bytes;
  }
  const auto service = start(options);
  ASSERT_TRUE(service->plan().overcommitted);
  std::mt19937 random(9);
  std::vector<Request> requests;
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int64_t i = 0; i < 4; ++i) requests.push_back(request_of(random_ids(random, 20 + i), 120));
  for (const Request& request : requests) waiters.push_back(submit(*service, request));
  for (size_t i = 0; i < requests.size(); ++i) {
    waiters[i]->wait();
    const auto [tokens, logprobs] = alone(model, requests[i]);
    EXPECT_EQ(waiters[i]->tokens, tokens) << i;
    EXPECT_EQ(waiters[i]->logprobs, logprobs) << i;
  }
  EXPECT_GT(service->counters().preempted, 0);
}

TEST(ModelService, SnapshotsSurviveARestartInTheFileTier) {
  const Model model = reference();
  const testing::TempDir dir;
  ModelServiceOptions options = small();
  options.snapshot_dir = dir / "states";
  std::mt19937 random(21);
  const Request first = request_of(random_ids(random, 150), 8);
  std::vector<int32_t> history = first.prompt;
  {
    const auto service = start(options);
    const auto answer = submit(*service, first);
    answer->wait();
    history.insert(history.end(), answer->tokens.begin(), answer->tokens.end());
  }
  const auto known = static_cast<int64_t>(history.size());
  history.push_back(7);
  const Request second = request_of(history, 6);
  {
    const auto service = start(options);
    const auto answer = submit(*service, second);
    answer->wait();
    EXPECT_EQ(answer->outcome.cached_tokens, known);
    EXPECT_EQ(answer->tokens, alone(model, second).first);
    EXPECT_EQ(answer->logprobs, alone(model, second).second);
    EXPECT_EQ(service->counters().snapshots_restored, 1);
  }
  options.load.precision = Precision::kExact;  // another model hash: nothing is taken
  const auto other = start(options);
  const auto answer = submit(*other, request_of(history, 1));
  answer->wait();
  EXPECT_EQ(answer->outcome.cached_tokens, 0);
}

TEST(ModelService, CancelFreesTheSlotOfWhoWaitsAndOfWhoRuns) {
  const auto service = start(small(512, 1));
  std::mt19937 random(2);
  const auto running = submit(*service, request_of(random_ids(random, 10), 400));
  auto waiting = std::make_shared<Waiter>();
  const Result<RequestId> waiting_id =
      service->submit(request_of(random_ids(random, 10), 5), waiting);
  ASSERT_TRUE(waiting_id.ok());
  service->cancel(*waiting_id);
  waiting->wait();
  EXPECT_EQ(waiting->outcome.finish, Finish::kCancelled);
  EXPECT_TRUE(waiting->tokens.empty());
  service->cancel(*waiting_id - 1);
  running->wait();
  EXPECT_EQ(running->outcome.finish, Finish::kCancelled);
  const auto next = submit(*service, request_of(random_ids(random, 10), 3));
  next->wait();
  EXPECT_EQ(next->outcome.finish, Finish::kLength);
}

TEST(ModelService, AQueueOfTheSizeStatedWaitsAndTheNextIsRefused) {
  ModelServiceOptions options = small(512, 1);
  options.queue_max = 64;
  const auto service = start(options);
  std::mt19937 random(2);
  const auto running = submit(*service, request_of(random_ids(random, 10), 500));
  std::vector<std::shared_ptr<Waiter>> waiters;
  Code refused = Code::kOk;
  for (int i = 0; i < 100 && refused == Code::kOk; ++i) {
    auto waiter = std::make_shared<Waiter>();
    const Result<RequestId> id = service->submit(request_of(random_ids(random, 4), 1), waiter);
    if (id.ok()) {
      waiters.push_back(waiter);
    } else {
      refused = id.status().code();
      EXPECT_FALSE(waiter->done);
    }
  }
  EXPECT_EQ(refused, Code::kBusy);
  EXPECT_GE(waiters.size(), 64u);
  service->drain(Clock::now());
  for (const auto& waiter : waiters) waiter->wait();
  running->wait();
  EXPECT_EQ(service->submit(request_of({1}, 1), std::make_shared<Waiter>()).status().code(),
            Code::kBusy);
}

TEST(ModelService, WhatCanNeverFitIsRefusedWithTheNumbers) {
  const auto service = start(small(512, 1));
  const Result<RequestId> id =
      service->submit(request_of(std::vector<int32_t>(500, 1), 13), std::make_shared<Waiter>());
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.status().code(), Code::kOutOfMemory);
  EXPECT_NE(id.status().message().find("512"), std::string::npos);
  EXPECT_EQ(service->submit(request_of({}, 1), std::make_shared<Waiter>()).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(service->submit(request_of({-1}, 1), std::make_shared<Waiter>()).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(service
                ->submit(request_of({static_cast<int32_t>(service->vocab_size())}, 1),
                         std::make_shared<Waiter>())
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST(ModelService, DestructionTellsEveryRequestItsEnd) {
  std::vector<std::shared_ptr<Waiter>> waiters;
  {
    const auto service = start(small(512, 2));
    for (int i = 0; i < 6; ++i) waiters.push_back(submit(*service, request_of({1, 2, 3}, 400)));
  }
  for (const auto& waiter : waiters) EXPECT_TRUE(waiter->done);
}

}  // namespace
}  // namespace trine::serving
