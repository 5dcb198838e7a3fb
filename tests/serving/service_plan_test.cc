// Closed forms against the terms of a large model; no weights are needed.
#include "serving/service_plan.h"

#include <gtest/gtest.h>

namespace trine::serving {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

struct Fixture {
  checkpoint::ModelConfig config;
  int64_t available = 2000 * kGiB;

  Fixture() {
    config.max_position_embeddings = 1048576;
    config.vocab_size = 163840;
  }
  Result<ServicePlan> plan(const ServicePlanRequest& request) const {
    return plan_service(
        {.config = config,
         .weight_bytes = 1560 * kGiB,
         .state_bytes = 443 << 20,
         .block_bytes = 64 * 27648,
         .block_tokens = 64,
         .prefill_chunk = 512,
         .available_bytes = available,
         .activation_bytes = [](int64_t rows, int64_t context) { return rows * 400000 + context; }},
        request);
  }
};

TEST(ServicePlan, WhatIsAskedForIsWhatIsGiven) {
  const Result<ServicePlan> plan =
      Fixture().plan({.context = 100000, .concurrency = 8, .snapshot_bytes = 10 * kGiB});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->context, 100000);
  EXPECT_EQ(plan->concurrency, 8);
  EXPECT_EQ(plan->blocks, 8 * 1563);
  EXPECT_EQ(plan->snapshots, 10 * kGiB / plan->slot_bytes);
  EXPECT_FALSE(plan->overcommitted);
  EXPECT_LE(plan->total_bytes, plan->limit_bytes);
}

TEST(ServicePlan, DefaultsAreFixedNumbersWhateverIsFree) {
  Fixture fixture;
  const Result<ServicePlan> one = fixture.plan({});
  fixture.available = 100000 * kGiB;
  const Result<ServicePlan> two = fixture.plan({});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->context, kDefaultContext);
  EXPECT_EQ(one->concurrency, kDefaultConcurrency);
  EXPECT_EQ(one->total_bytes, two->total_bytes);
}

TEST(ServicePlan, DefaultsGiveWayUntilTheyFit) {
  Fixture fixture;
  int64_t last = INT64_MAX;
  for (int64_t gib = 1600; gib >= 1562; gib -= 2) {
    fixture.available = gib * kGiB;
    const Result<ServicePlan> plan = fixture.plan({});
    ASSERT_TRUE(plan.ok()) << gib << ": " << plan.status().message();
    EXPECT_LE(plan->total_bytes, fixture.available);
    EXPECT_LE(plan->total_bytes, last);
    last = plan->total_bytes;
  }
}

TEST(ServicePlan, WhatWasAskedForIsRefusedWithTheNumbersRatherThanShrunk) {
  Fixture fixture;
  fixture.available = 1570 * kGiB;
  const Result<ServicePlan> plan = fixture.plan({.context = 100000, .concurrency = 64});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::kOutOfMemory);
  EXPECT_NE(plan.status().message().find("64 requests of 100000 tokens"), std::string::npos);
}

TEST(ServicePlan, AStatedLimitCapsAndMayHoldFewerPages) {
  Fixture fixture;
  const Result<ServicePlan> roomy =
      fixture.plan({.context = 100000, .concurrency = 16, .snapshot_bytes = 0});
  ASSERT_TRUE(roomy.ok());
  ServicePlanRequest request{.context = 100000,
                             .concurrency = 16,
                             .snapshot_bytes = 0,
                             .memory_bytes = roomy->total_bytes - 20 * kGiB};
  const Result<ServicePlan> tight = fixture.plan(request);
  ASSERT_TRUE(tight.ok()) << tight.status().message();
  EXPECT_TRUE(tight->overcommitted);
  EXPECT_LE(tight->total_bytes, request.memory_bytes);
  EXPECT_GE(tight->blocks, 1563);  // one request of full length
  request.memory_bytes = roomy->total_bytes - 42 * kGiB;
  EXPECT_FALSE(fixture.plan(request).ok());
}

TEST(ServicePlan, EveryOptionChangesThePlan) {
  const Fixture fixture;
  const ServicePlanRequest base{
      .context = 8192, .concurrency = 4, .snapshot_bytes = 4 * kGiB, .memory_bytes = 1700 * kGiB};
  const int64_t total = fixture.plan(base)->total_bytes;
  auto changed = base;
  changed.context = 9000;
  EXPECT_NE(fixture.plan(changed)->total_bytes, total);
  changed = base;
  changed.concurrency = 5;
  EXPECT_NE(fixture.plan(changed)->total_bytes, total);
  changed = base;
  changed.snapshot_bytes = 5 * kGiB;
  EXPECT_NE(fixture.plan(changed)->total_bytes, total);
  changed = base;
  changed.memory_bytes = total - 1;
  EXPECT_LT(fixture.plan(changed)->total_bytes, total);
}

TEST(ServicePlan, NumbersThatMakeNoSenseAreUsageErrors) {
  const Fixture fixture;
  for (const ServicePlanRequest& request :
       {ServicePlanRequest{.context = -1}, ServicePlanRequest{.concurrency = -2},
        ServicePlanRequest{.concurrency = 5000}, ServicePlanRequest{.context = 2000000},
        ServicePlanRequest{.memory_bytes = -5}}) {
    const Result<ServicePlan> plan = fixture.plan(request);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), Code::kInvalidArgument) << plan.status().message();
  }
}

}  // namespace
}  // namespace trine::serving
