// Parts of layers that have rules of their own: the router's choice and the cuts of the latent
// cache.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "model/layers/mla.h"
#include "model/layers/router.h"
#include "platform/cpu.h"

namespace trine::model {
namespace {

struct Picked {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

Picked pick(const checkpoint::ModelConfig& config, const std::vector<float>& logits,
            const std::vector<float>& bias) {
  std::vector<float> scores(logits.size());
  std::vector<float> choice(logits.size());
  std::vector<float> groups(static_cast<size_t>(config.num_expert_group));
  Picked picked{std::vector<int32_t>(static_cast<size_t>(config.num_experts_per_token)),
                std::vector<float>(static_cast<size_t>(config.num_experts_per_token))};
  route(kernels::kernel_table(Isa::kScalar), config, logits.data(), bias.data(),
        {scores.data(), choice.data(), groups.data()}, picked.ids.data(), picked.weights.data());
  return picked;
}

checkpoint::ModelConfig router_config(int64_t experts, int64_t k) {
  checkpoint::ModelConfig config;
  config.num_experts = experts;
  config.num_experts_per_token = k;
  config.moe_renormalize = true;
  return config;
}

TEST(Router, TiesGoToTheLowerIndex) {
  const std::vector<float> logits{0, 1, 1, 1, 0, 1};
  EXPECT_EQ(pick(router_config(6, 2), logits, std::vector<float>(6)).ids,
            (std::vector<int32_t>{1, 2}));
}

TEST(Router, TheBiasChoosesButDoesNotWeigh) {
  const std::vector<float> logits{2, 0, 0, 0};
  const Picked picked = pick(router_config(4, 2), logits, {-5, 0, 0, 1});
  EXPECT_EQ(picked.ids, (std::vector<int32_t>{1, 3}));
  EXPECT_FLOAT_EQ(picked.weights[0], 0.5f);
  EXPECT_FLOAT_EQ(picked.weights[1], 0.5f);
}

TEST(Router, OneExpertIsNotRenormalised) {
  const Picked picked = pick(router_config(3, 1), {0, 0, 1}, std::vector<float>(3));
  EXPECT_EQ(picked.ids, (std::vector<int32_t>{2}));
  EXPECT_NEAR(picked.weights[0], 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
}

TEST(Router, OnlyTheBestGroupsTakePart) {
  checkpoint::ModelConfig config = router_config(6, 2);
  config.num_expert_group = 3;
  config.topk_group = 1;
  // Expert 0 is the best of all, but the pair (2, 3) has the best sum.
  const Picked picked = pick(config, {3, -9, 2.5f, 2.4f, 0, 0}, std::vector<float>(6));
  EXPECT_EQ(picked.ids, (std::vector<int32_t>{2, 3}));
}

TEST(Router, NanNeverLeadsOutOfBounds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  checkpoint::ModelConfig config = router_config(6, 3);
  for (const int64_t groups : {1, 3}) {
    config.num_expert_group = groups;
    config.topk_group = groups == 1 ? 1 : 2;
    for (const std::vector<float>& logits :
         {std::vector<float>(6, nan), {nan, 1, nan, 2, nan, nan}}) {
      const Picked picked = pick(config, logits, std::vector<float>(6));
      EXPECT_EQ(std::set<int32_t>(picked.ids.begin(), picked.ids.end()).size(), 3u);
      for (const int32_t id : picked.ids) EXPECT_TRUE(id >= 0 && id < 6) << id;
    }
  }
}

TEST(LatentSpans, CoverEveryRowOnceAndBeginAtPages) {
  for (int64_t s = 0; s < 200; ++s) {
    EXPECT_LT(latent_span_begin(s), latent_span_begin(s + 1));
    EXPECT_EQ(latent_span_begin(s) % kernels::kMlaPageRows, 0);
    EXPECT_EQ(latent_span_count(latent_span_begin(s + 1)), s + 1);
    EXPECT_EQ(latent_span_count(latent_span_begin(s + 1) + 1), s + 2);
  }
  EXPECT_EQ(latent_span_count(1), 1);
  EXPECT_LT(latent_span_count(int64_t{1} << 20), 100) << "partial results of a query stay few";
}

}  // namespace
}  // namespace trine::model
