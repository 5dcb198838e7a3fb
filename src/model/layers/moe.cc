// LatentMoE (spec section 7): tokens are sorted by expert, every expert multiplies its own rows,
// and a token's results are summed in ascending order of its experts.
#include "model/layers/moe.h"

#include <algorithm>

#include "model/layers/router.h"

namespace trine::model {

using checkpoint::ModelConfig;

namespace {

struct RowScratch {
  RouterScratch router;
  const float** rows;  ///< [k]

  RowScratch(Carver& carver, const ModelConfig& config) {
    router.scores = carver.take<float>(config.num_experts);
    router.choice = carver.take<float>(config.num_experts);
    router.groups = carver.take<float>(std::max<int64_t>(1, config.num_expert_group));
    rows = carver.take<const float*>(config.num_experts_per_token);
  }
};

class MoeLayer {
 public:
  MoeLayer(const Pass& pass, const MoeWeights& w, const Rows& x, const MoeBuffers& buffers)
      : pass_(pass),
        context_(pass.context),
        table_(pass.context.table),
        config_(pass.context.config),
        w_(w),
        x_(x),
        b_(buffers),
        rows_(pass.batch.rows),
        picked_(config_.num_experts_per_token),
        latent_(config_.expert_width()),
        has_latent_(!w.routed_expert_down_proj.empty()) {}

  void project() {
    if (!w_.router_reads_latent) add_gate(x_);
    if (has_latent_)
      pass_.products.add({.w = w_.routed_expert_down_proj.view, .x = x_, .m = rows_, .y = b_.z});
    if (!w_.shared_experts.gate_proj.empty()) {
      pass_.products.add({.w = w_.shared_experts.gate_proj.view,
                          .up = w_.shared_experts.up_proj.view,
                          .x = x_,
                          .m = rows_,
                          .y = b_.shared});
    }
    run();
    if (w_.router_reads_latent) {
      add_gate(b_.z);
      run();
    }
  }

  void pick_experts() {
    context_.for_rows(rows_, 4 * config_.num_experts, [&](int64_t begin, int64_t end, int worker) {
      Carver carver = pass_.scratch.carve(worker);
      const RowScratch scratch(carver, config_);
      for (int64_t r = begin; r < end; ++r) {
        route(table_, config_, b_.logits + r * config_.num_experts, w_.e_score_correction_bias,
              scratch.router, b_.ids + r * picked_, b_.weights + r * picked_);
      }
    });
    sort_by_expert();
  }

  void experts() {
    const Rows& z = has_latent_ ? b_.z : x_;
    if (has_latent_) context_.quantise(b_.z, rows_, latent_);
    if (!w_.shared_experts.down_proj.empty()) context_.quantise(b_.shared, rows_, b_.shared.stride);
    if (!w_.shared_experts.down_proj.empty()) {
      pass_.products.add({.w = w_.shared_experts.down_proj.view,
                          .x = b_.shared,
                          .m = rows_,
                          .y = {.f32 = b_.shared_out, .stride = config_.hidden_size}});
    }
    for_experts([&](const MlpWeights& expert, int64_t first, int64_t count) {
      pass_.products.add({.w = expert.gate_proj.view,
                          .up = expert.up_proj.view,
                          .x = z,
                          .x_rows = b_.row_of + first,
                          .m = count,
                          .y = b_.h.from(first)});
    });
    run();
    context_.quantise(b_.h, rows_ * picked_, b_.h.stride);
    for_experts([&](const MlpWeights& expert, int64_t first, int64_t count) {
      pass_.products.add({.w = expert.down_proj.view,
                          .x = b_.h.from(first),
                          .m = count,
                          .y = {.f32 = b_.y + first * latent_, .stride = latent_}});
    });
    run();
  }

  void combine(float* out) {
    context_.for_rows(rows_, latent_ * picked_, [&](int64_t begin, int64_t end, int worker) {
      Carver carver = pass_.scratch.carve(worker);
      const RowScratch scratch(carver, config_);
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t i = 0; i < picked_; ++i)
          scratch.rows[i] = b_.y + b_.place[r * picked_ + i] * latent_;
        float* sum = has_latent_ ? b_.sum.f32 + r * latent_ : out + r * latent_;
        table_.weighted_sum({scratch.rows, b_.weights + r * picked_, picked_, latent_, sum});
        if (!has_latent_) continue;
        if (w_.routed_expert_norm != nullptr) {
          table_.rms_norm({sum, w_.routed_expert_norm, latent_, config_.rms_norm_eps, sum});
        }
        context_.store_row(b_.sum, r, latent_);
      }
    });
    if (!has_latent_) return;
    pass_.products.add({.w = w_.routed_expert_up_proj.view,
                        .x = b_.sum,
                        .m = rows_,
                        .y = {.f32 = out, .stride = config_.hidden_size}});
    run();
  }

 private:
  void run() { pass_.products.run(context_, pass_.scratch); }

  void add_gate(const Rows& x) {
    pass_.products.add({.w = w_.gate.view,
                        .x = x,
                        .m = rows_,
                        .y = {.f32 = b_.logits, .stride = config_.num_experts},
                        .fp32 = true});
  }

  /// Counting sort of the (row, slot) pairs; rows of an expert stay in batch order.
  void sort_by_expert() {
    const int64_t pairs = rows_ * picked_;
    std::fill_n(b_.first, config_.num_experts + 1, 0);
    for (int64_t i = 0; i < pairs; ++i) ++b_.first[b_.ids[i] + 1];
    for (int64_t e = 0; e < config_.num_experts; ++e) b_.first[e + 1] += b_.first[e];
    for (int64_t i = 0; i < pairs; ++i) {
      const int32_t place = b_.first[b_.ids[i]]++;
      b_.place[i] = place;
      b_.row_of[place] = static_cast<int32_t>(i / picked_);
    }
    // Every entry now holds its expert's end, which is the next one's beginning.
    for (int64_t e = config_.num_experts; e > 0; --e) b_.first[e] = b_.first[e - 1];
    b_.first[0] = 0;
  }

  template <typename Fn>
  void for_experts(Fn&& fn) const {
    for (int64_t e = 0; e < config_.num_experts; ++e) {
      const int64_t count = b_.first[e + 1] - b_.first[e];
      if (count > 0) fn(w_.experts[static_cast<size_t>(e)], int64_t{b_.first[e]}, count);
    }
  }

  const Pass& pass_;
  const Context& context_;
  const kernels::KernelTable& table_;
  const ModelConfig& config_;
  const MoeWeights& w_;
  const Rows& x_;
  const MoeBuffers& b_;
  const int64_t rows_;
  const int64_t picked_;
  const int64_t latent_;
  const bool has_latent_;
};

}  // namespace

MoeBuffers::MoeBuffers(Carver& carver, const BufferShape& shape) {
  const ModelConfig& config = shape.config;
  const int64_t pairs = shape.rows * config.num_experts_per_token;
  const bool latent = config.routed_expert_hidden_size.has_value();
  const int64_t shared_rows = config.num_shared_experts > 0 ? shape.rows : 0;
  logits = carver.take<float>(shape.rows * config.num_experts);
  ids = carver.take<int32_t>(pairs);
  weights = carver.take<float>(pairs);
  place = carver.take<int32_t>(pairs);
  row_of = carver.take<int32_t>(pairs);
  first = carver.take<int32_t>(config.num_experts + 1);
  z = shape.rows_of(carver, latent ? shape.rows : 0, config.expert_width(), true);
  h = shape.rows_of(carver, pairs, config.moe_intermediate_size, false);
  y = carver.take<float>(pairs * config.expert_width());
  sum = shape.rows_of(carver, latent ? shape.rows : 0, config.expert_width(), true);
  shared = shape.rows_of(carver, shared_rows,
                         config.num_shared_experts * config.moe_intermediate_size, false);
  shared_out = carver.take<float>(shared_rows * config.hidden_size);
}

int64_t MoeBuffers::worker_bytes(const ModelConfig& config) {
  Carver carver(nullptr);
  RowScratch(carver, config);
  return carver.bytes();
}

void moe(const Pass& pass, const MoeWeights& w, const Rows& x, const MoeBuffers& buffers,
         float* out) {
  MoeLayer layer(pass, w, x, buffers);
  layer.project();
  layer.pick_experts();
  layer.experts();
  layer.combine(out);
}

}  // namespace trine::model
