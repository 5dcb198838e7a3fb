// KDA (spec section 5): projections of all rows; then every head of every span on its own:
// convolution, norms, gates, recurrence, gated norm; then the output projection.
#include "model/layers/kda.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trine::model {

using checkpoint::ModelConfig;

namespace {

constexpr int64_t kBlockRows = 64;  // rows of a head in flight: they stay in the second-level cache
constexpr float kL2Eps = 1e-6f;     // not rms_norm_eps (spec section 13, item 2)

/// Scratch of one head's block of rows, [kBlockRows][D] each.
struct HeadScratch {
  float *q{}, *k{}, *v{}, *g{}, *gate{}, *o{}, *beta{};

  HeadScratch(Carver& carver, int64_t head_dim) {
    for (float** block : {&q, &k, &v, &g, &gate, &o})
      *block = carver.take<float>(kBlockRows * head_dim);
    beta = carver.take<float>(kBlockRows);
  }
};

class HeadTask {
 public:
  HeadTask(const Pass& pass, const KdaWeights& w, int64_t index, const KdaBuffers& buffers,
           int64_t task, int worker)
      : context_(pass.context),
        table_(pass.context.table),
        w_(w),
        buffers_(buffers),
        config_(pass.context.config),
        span_(pass.batch.spans[static_cast<size_t>(task / config_.kda_num_heads)]),
        head_(task % config_.kda_num_heads),
        dim_(config_.kda_head_dim),
        width_(config_.kda_num_heads * dim_),
        channel_(head_ * dim_),
        state_(span_.sequence->kda_head(index, head_)),
        index_(index),
        scratch_(make_scratch(pass, dim_, worker)) {}

  void run() {
    for (int64_t first = 0; first < span_.rows; first += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, span_.rows - first);
      inputs(first, rows);
      gates(first, rows);
      recurrence(first, rows);
      outputs(first, rows);
    }
    if (config_.short_conv_kernel_size > 1) {
      for (const auto& [which, x] : raw()) slide_window(which, x);
    }
  }

 private:
  struct Raw {
    int64_t which;
    const float* x;
  };

  static HeadScratch make_scratch(const Pass& pass, int64_t dim, int worker) {
    Carver carver = pass.scratch.carve(worker);
    return {carver, dim};
  }

  std::array<Raw, 3> raw() const { return {{{0, buffers_.q}, {1, buffers_.k}, {2, buffers_.v}}}; }

  /// q, k, v of the block: short convolution with SiLU, then unit length (q also times D^-1/2).
  void inputs(int64_t first, int64_t rows) {
    const float* taps[3] = {w_.q_conv1d, w_.k_conv1d, w_.v_conv1d};
    float* out[3] = {scratch_.q, scratch_.k, scratch_.v};
    const int64_t history_rows = config_.short_conv_kernel_size - 1;
    for (const auto& [which, base] : raw()) {
      const float* x = base + (span_.row + first) * width_ + channel_;
      const float* window = span_.sequence->conv_window(index_, which) + channel_;
      const float* history = first == 0 ? window : x - history_rows * width_;
      table_.short_conv_silu({x, width_, history, width_, taps[which] + channel_, width_,
                              config_.short_conv_kernel_size, rows, dim_, out[which], dim_});
    }
    const float query_scale = 1.0f / std::sqrt(static_cast<float>(dim_));
    for (int64_t r = 0; r < rows; ++r) {
      table_.l2_norm({scratch_.q + r * dim_, dim_, kL2Eps, query_scale});
      table_.l2_norm({scratch_.k + r * dim_, dim_, kL2Eps, 1.0f});
    }
  }

  /// Log decays g, step sizes beta, and the low-rank output gate.
  void gates(int64_t first, int64_t rows) {
    const int64_t row = span_.row + first;
    matmul(context_, w_.f_b_proj.part(head_), buffers_.f_a.from(row), nullptr, rows, scratch_.g,
           dim_);
    const float bound = config_.gate_lower_bound.value_or(0.0f);
    const auto gate = config_.gate_lower_bound ? table_.kda_gate_bounded : table_.kda_gate_softplus;
    for (int64_t r = 0; r < rows; ++r) {
      float* g = scratch_.g + r * dim_;
      gate({g, w_.dt_bias + channel_, w_.a[head_], bound, dim_, g});
      scratch_.beta[r] = buffers_.b[(row + r) * config_.kda_num_heads + head_];
    }
    table_.sigmoid({scratch_.beta, rows});
    if (!config_.use_full_rank_gate) {
      matmul(context_, w_.g_b_proj.part(head_), buffers_.g_a.from(row), nullptr, rows,
             scratch_.gate, dim_);
    }
  }

  void recurrence(int64_t first, int64_t rows) {
    kernels::KdaArgs args{};
    args.head_dim = dim_;
    args.rows = rows;
    args.position = span_.position() + first;
    args.q = scratch_.q;
    args.k = scratch_.k;
    args.v = scratch_.v;
    args.g = scratch_.g;
    args.stride = dim_;
    args.beta = scratch_.beta;
    args.beta_stride = 1;
    args.state = state_.state;
    args.open_k = state_.open_k;
    args.open_u = state_.open_u;
    args.open_g = state_.open_g;
    args.out = scratch_.o;
    args.out_stride = dim_;
    table_.kda(args);
  }

  /// o = RN(o) * sigmoid(gate), to the head's columns of the output projection's input.
  void outputs(int64_t first, int64_t rows) {
    const bool last = head_ + 1 == config_.kda_num_heads;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t row = span_.row + first + r;
      float* o = scratch_.o + r * dim_;
      const float* gate = config_.use_full_rank_gate ? buffers_.gate + row * width_ + channel_
                                                     : scratch_.gate + r * dim_;
      table_.rms_norm({o, w_.o_norm, dim_, config_.rms_norm_eps, o});
      float* out = buffers_.o.f32 != nullptr ? buffers_.o.f32 + row * width_ + channel_ : o;
      table_.sigmoid_mul({o, gate, dim_, out});
      context_.store_bf16(buffers_.o, row, channel_, dim_, last, out);
    }
  }

  /// The window becomes the last taps-1 raw rows.
  void slide_window(int64_t which, const float* x) {
    const int64_t window_rows = config_.short_conv_kernel_size - 1;
    float* window = span_.sequence->conv_window(index_, which) + channel_;
    for (int64_t j = 0; j < window_rows; ++j) {
      const int64_t row = span_.rows - window_rows + j;
      const float* source =
          row >= 0 ? x + (span_.row + row) * width_ + channel_ : window + (span_.rows + j) * width_;
      std::copy(source, source + dim_, window + j * width_);
    }
  }

  const Context& context_;
  const kernels::KernelTable& table_;
  const KdaWeights& w_;
  const KdaBuffers& buffers_;
  const ModelConfig& config_;
  const Span& span_;
  const int64_t head_;
  const int64_t dim_;
  const int64_t width_;
  const int64_t channel_;
  const KdaHeadState state_;
  const int64_t index_;
  const HeadScratch scratch_;
};

}  // namespace

KdaBuffers::KdaBuffers(Carver& carver, const BufferShape& shape) {
  const ModelConfig& config = shape.config;
  const int64_t width = config.kda_num_heads * config.kda_head_dim;
  q = carver.take<float>(shape.rows * width);
  k = carver.take<float>(shape.rows * width);
  v = carver.take<float>(shape.rows * width);
  gate = carver.take<float>(config.use_full_rank_gate ? shape.rows * width : 0);
  constexpr auto kBf16 = BufferShape::Readers::kBf16;
  f_a = shape.rows_of(carver, shape.rows, config.kda_head_dim, false, kBf16);
  g_a = shape.rows_of(carver, config.use_full_rank_gate ? 0 : shape.rows, config.kda_head_dim,
                      false, kBf16);
  b = carver.take<float>(shape.rows * config.kda_num_heads);
  o = shape.rows_of(carver, shape.rows, width, false);
}

int64_t KdaBuffers::worker_bytes(const ModelConfig& config) {
  Carver carver(nullptr);
  HeadScratch(carver, config.kda_head_dim);
  return carver.bytes();
}

void kda(const Pass& pass, const KdaWeights& w, int64_t index, const Rows& x,
         const KdaBuffers& buffers, float* out) {
  const ModelConfig& config = pass.context.config;
  const int64_t rows = pass.batch.rows;
  const int64_t width = config.kda_num_heads * config.kda_head_dim;
  const auto project = [&](const PackedLinear& weight, const Rows& y) {
    if (!weight.empty()) pass.products.add({.w = weight.view, .x = x, .m = rows, .y = y});
  };
  project(w.q_proj, {.f32 = buffers.q, .stride = width});
  project(w.k_proj, {.f32 = buffers.k, .stride = width});
  project(w.v_proj, {.f32 = buffers.v, .stride = width});
  project(w.g_proj, {.f32 = buffers.gate, .stride = width});
  project(w.g_a_proj, buffers.g_a);
  project(w.f_a_proj, buffers.f_a);
  project(w.b_proj, {.f32 = buffers.b, .stride = config.kda_num_heads});
  pass.products.run(pass.context, pass.scratch);

  const auto spans = static_cast<int64_t>(pass.batch.spans.size());
  pass.context.pool.parallel_for(spans * config.kda_num_heads, [&](int64_t task, int worker) {
    HeadTask(pass, w, index, buffers, task, worker).run();
  });

  pass.context.quantise(buffers.o, rows, width);
  pass.products.add({.w = w.o_proj.view,
                     .x = buffers.o,
                     .m = rows,
                     .y = {.f32 = out, .stride = config.hidden_size}});
  pass.products.run(pass.context, pass.scratch);
}

}  // namespace trine::model
