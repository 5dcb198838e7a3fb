// MLA (spec section 6), absorbed: queries are taken into the latent space, attend to the latent
// rows of the cache directly, and what they gather is taken back out per head.
#include "model/layers/mla.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/pack.h"

namespace trine::model {

using checkpoint::ModelConfig;
using kernels::kMlaPageRows;

namespace {

constexpr float kLoraNormEps = 1e-6f;   // not rms_norm_eps (spec section 13, item 1)
constexpr int64_t kRowsInFlight = 128;  // bounds the queries and results in latent space
constexpr int64_t kHeadRows = 64;       // rows of one head in one task
constexpr int64_t kQueriesMin = 8;      // of a task
constexpr int64_t kQueriesMax = 64;
constexpr int64_t kPartialBytesMax = int64_t{32} << 20;

constexpr int64_t kFineRows = 1024, kFineSpans = 16;
constexpr int64_t kMiddleRows = 4096, kMiddleSpans = 12;
constexpr int64_t kCoarseRows = 16384;
constexpr int64_t kMiddleBegin = kFineRows * kFineSpans;
constexpr int64_t kCoarseBegin = kMiddleBegin + kMiddleRows * kMiddleSpans;

int64_t query_dim(const ModelConfig& config) {
  return config.qk_nope_head_dim + config.qk_rope_head_dim;
}

/// Scratch of one (head, rows) task.
struct HeadScratch {
  float* q;     ///< [kHeadRows][dn + dr]
  Rows nope;    ///< [kHeadRows][dn], bf16 only
  Rows latent;  ///< [kHeadRows][r]
  float* o;     ///< [kHeadRows][dv]

  HeadScratch(Carver& carver, const ModelConfig& config) {
    q = carver.take<float>(kHeadRows * query_dim(config));
    nope.bf16_stride = round_up(config.qk_nope_head_dim, kernels::kKPadding);
    nope.bf16 = carver.take<uint16_t>(kHeadRows * nope.bf16_stride);
    latent.stride = config.kv_lora_rank;
    latent.f32 = carver.take<float>(kHeadRows * latent.stride);
    latent.bf16_stride = round_up(config.kv_lora_rank, kernels::kKPadding);
    latent.bf16 = carver.take<uint16_t>(kHeadRows * latent.bf16_stride);
    o = carver.take<float>(kHeadRows * config.v_head_dim);
  }
};

/// A later span's result of one block, before it is merged.
struct SpanScratch {
  float *max, *sum, *acc;

  SpanScratch(Carver& carver, int64_t acc_stride) {
    max = carver.take<float>(kQueriesMax);
    sum = carver.take<float>(kQueriesMax);
    acc = carver.take<float>(kQueriesMax * acc_stride);
  }
};

class MlaLayer {
 public:
  MlaLayer(const Pass& pass, const MlaWeights& w, int64_t index, const MlaBuffers& buffers)
      : pass_(pass),
        context_(pass.context),
        table_(pass.context.table),
        config_(pass.context.config),
        w_(w),
        index_(index),
        b_(buffers),
        heads_(config_.num_attention_heads),
        query_dim_(query_dim(config_)),
        latent_stride_(SequenceState::latent_stride(config_)) {}

  void project(const Rows& x);
  void append_latents();
  /// Attention of batch rows [first, first + rows), at most block_rows.
  void attend(int64_t first, int64_t rows);

 private:
  void absorb(int64_t head, int64_t row, int64_t rows, int worker);
  void plan_blocks();
  void attend_span(const QueryBlock& block, int64_t latent_span, float* max, float* sum,
                   float* acc) const;
  void attend_block(const QueryBlock& block, int worker) const;
  void gather(int64_t head, int64_t row, int64_t rows, int worker);
  template <typename Fn>
  void for_heads(Fn&& fn) const;

  const Pass& pass_;
  const Context& context_;
  const kernels::KernelTable& table_;
  const ModelConfig& config_;
  const MlaWeights& w_;
  const int64_t index_;
  const MlaBuffers& b_;
  const int64_t heads_;
  const int64_t query_dim_;
  const int64_t latent_stride_;
  // Of the rows in flight:
  int64_t first_row_ = 0;
  int64_t rows_ = 0;
  int64_t queries_ = 0;
  int64_t block_count_ = 0;
  int64_t latent_spans_ = 1;
  bool spans_apart_ = false;  ///< spans are tasks of their own, merged in gather()
};

void MlaLayer::project(const Rows& x) {
  const auto add = [&](const PackedLinear& weight, float* y, int64_t stride) {
    if (!weight.empty()) {
      pass_.products.add(
          {.w = weight.view, .x = x, .m = pass_.batch.rows, .y = {.f32 = y, .stride = stride}});
    }
  };
  add(w_.q_proj, b_.q, heads_ * query_dim_);
  add(w_.q_a_proj, b_.q_a.f32, b_.q_a.stride);
  add(w_.kv_a_proj_with_mqa, b_.kv_a, config_.kv_lora_rank + config_.qk_rope_head_dim);
  add(w_.g_proj, b_.gate, heads_ * config_.v_head_dim);
  pass_.products.run(context_, pass_.scratch);
}

/// Norms of the two low-rank inputs; the latent rows go into the cache.
void MlaLayer::append_latents() {
  const int64_t rank = config_.kv_lora_rank;
  const int64_t width = rank + config_.qk_rope_head_dim;
  context_.for_rows(pass_.batch.rows, width + b_.q_a.stride, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      float* kv = b_.kv_a + r * width;
      table_.rms_norm({kv, w_.kv_a_layernorm, rank, kLoraNormEps, kv});
      const Span& span = pass_.batch.spans[static_cast<size_t>(pass_.batch.span_of_row[r])];
      void* row = span.sequence->latent_row(index_, pass_.batch.position(r));
      if (span.sequence->latent_type() == kernels::LatentType::kF32) {
        std::memcpy(row, kv, static_cast<size_t>(width) * sizeof(float));
      } else {
        table_.to_bf16({kv, width, latent_stride_, static_cast<uint16_t*>(row)});
      }
      if (w_.q_a_proj.empty()) continue;
      float* q_a = b_.q_a.f32 + r * b_.q_a.stride;
      table_.rms_norm({q_a, w_.q_a_layernorm, b_.q_a.stride, kLoraNormEps, q_a});
      context_.store_row(b_.q_a, r, b_.q_a.stride);
    }
  });
}

/// Queries of one head in latent space: (W_k^T q_nope, q_rope).
void MlaLayer::absorb(int64_t head, int64_t row, int64_t rows, int worker) {
  Carver carver = pass_.scratch.carve(worker);
  HeadScratch scratch(carver, config_);
  const int64_t nope = config_.qk_nope_head_dim;
  float* q = b_.q == nullptr ? scratch.q
                             : b_.q + (first_row_ + row) * heads_ * query_dim_ + head * query_dim_;
  const int64_t q_stride = b_.q == nullptr ? query_dim_ : heads_ * query_dim_;
  if (b_.q == nullptr) {
    matmul(context_, w_.q_b_proj.part(head), b_.q_a.from(first_row_ + row), nullptr, rows, q,
           q_stride);
  }
  Rows keys{.f32 = q,
            .bf16 = context_.bf16_inputs ? scratch.nope.bf16 : nullptr,
            .stride = q_stride,
            .bf16_stride = scratch.nope.bf16_stride};
  float* out = b_.absorbed + (row * heads_ + head) * latent_stride_;
  for (int64_t r = 0; r < rows; ++r) {
    context_.store_bf16(keys, r, 0, nope, true, q + r * q_stride);
    float* rope = out + r * heads_ * latent_stride_ + config_.kv_lora_rank;
    std::copy_n(q + r * q_stride + nope, config_.qk_rope_head_dim, rope);
    std::fill(rope + config_.qk_rope_head_dim, rope + latent_stride_ - config_.kv_lora_rank, 0.0f);
  }
  matmul(context_, w_.k_absorbed.part(head), keys, nullptr, rows, out, heads_ * latent_stride_);
}

/// Cuts the queries of every span into blocks; decides whether latent spans become tasks.
void MlaLayer::plan_blocks() {
  int64_t visible_max = 0;
  for (int64_t q = 0; q < queries_; ++q) {
    b_.visible[q] = pass_.batch.position(first_row_ + q / heads_) + 1;
    visible_max = std::max(visible_max, b_.visible[q]);
  }
  latent_spans_ = latent_span_count(visible_max);
  const int64_t tasks_wanted = int64_t{4} * context_.pool.threads();
  spans_apart_ = latent_spans_ > 1 && queries_ / kQueriesMin < tasks_wanted &&
                 queries_ * latent_spans_ <= b_.partials;
  const int64_t size =
      spans_apart_ ? kQueriesMax : std::clamp(queries_ / tasks_wanted, kQueriesMin, kQueriesMax);
  block_count_ = 0;
  for (size_t s = 0; s < pass_.batch.spans.size(); ++s) {
    const Span& span = pass_.batch.spans[s];
    const int64_t begin = std::max(span.row - first_row_, int64_t{0}) * heads_;
    const int64_t end = std::min(span.row + span.rows - first_row_, rows_) * heads_;
    for (int64_t q = begin; q < end; q += size) {
      b_.blocks[block_count_++] = {static_cast<int64_t>(s), q, std::min(size, end - q)};
    }
  }
}

void MlaLayer::attend_span(const QueryBlock& block, int64_t latent_span, float* max, float* sum,
                           float* acc) const {
  const int64_t acc_stride = b_.acc_stride;
  std::fill_n(max, block.count, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, block.count, 0.0f);
  std::fill_n(acc, block.count * acc_stride, 0.0f);
  const int64_t visible_max =
      b_.visible[block.query + block.count - 1];  // rows ascend inside a block
  const int64_t row_end = std::min(latent_span_begin(latent_span + 1), visible_max);
  const SequenceState& sequence = *pass_.batch.spans[static_cast<size_t>(block.span)].sequence;
  kernels::MlaArgs args{};
  args.q = b_.absorbed + block.query * latent_stride_;
  args.q_stride = latent_stride_;
  args.m = block.count;
  args.visible = b_.visible + block.query;
  args.scale = 1.0f / std::sqrt(static_cast<float>(query_dim_));
  args.type = sequence.latent_type();
  args.pages = sequence.latent_pages(index_);
  args.row_stride = latent_stride_;
  args.row_dim = config_.kv_lora_rank + config_.qk_rope_head_dim;
  args.value_dim = config_.kv_lora_rank;
  args.page_begin = latent_span_begin(latent_span) / kMlaPageRows;
  args.page_end = (row_end + kMlaPageRows - 1) / kMlaPageRows;
  args.max = max;
  args.sum = sum;
  args.acc = acc;
  args.acc_stride = acc_stride;
  if (args.page_begin < args.page_end) table_.mla(args);
}

/// All latent spans of a block, one after another.
void MlaLayer::attend_block(const QueryBlock& block, int worker) const {
  Carver carver = pass_.scratch.carve(worker);
  const SpanScratch scratch(carver, b_.acc_stride);
  float* max = b_.max + block.query;
  float* sum = b_.sum + block.query;
  float* acc = b_.acc + block.query * b_.acc_stride;
  attend_span(block, 0, max, sum, acc);
  const int64_t spans = latent_span_count(b_.visible[block.query + block.count - 1]);
  for (int64_t s = 1; s < spans; ++s) {
    attend_span(block, s, scratch.max, scratch.sum, scratch.acc);
    for (int64_t q = 0; q < block.count; ++q) {
      if (b_.visible[block.query + q] <= latent_span_begin(s)) continue;
      table_.mla_merge({max + q, sum + q, acc + q * b_.acc_stride, scratch.max[q], scratch.sum[q],
                        scratch.acc + q * b_.acc_stride, config_.kv_lora_rank});
    }
  }
}

/// One head's results: merged, divided, taken out of the latent space, gated.
void MlaLayer::gather(int64_t head, int64_t row, int64_t rows, int worker) {
  Carver carver = pass_.scratch.carve(worker);
  HeadScratch scratch(carver, config_);
  const int64_t rank = config_.kv_lora_rank;
  const int64_t value = config_.v_head_dim;
  if (!context_.bf16_inputs) scratch.latent.bf16 = nullptr;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t q = (row + r) * heads_ + head;
    for (int64_t s = 1; spans_apart_ && latent_span_begin(s) < b_.visible[q]; ++s) {
      const int64_t p = s * queries_ + q;
      table_.mla_merge({b_.max + q, b_.sum + q, b_.acc + q * b_.acc_stride, b_.max[p], b_.sum[p],
                        b_.acc + p * b_.acc_stride, rank});
    }
    float* latent = scratch.latent.f32 + r * scratch.latent.stride;
    table_.mla_finish({b_.acc + q * b_.acc_stride, b_.sum[q], rank, latent});
    context_.store_bf16(scratch.latent, r, 0, rank, true, latent);
  }
  matmul(context_, w_.v_up.part(head), scratch.latent, nullptr, rows, scratch.o, value);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = first_row_ + row + r;
    float* o = scratch.o + r * value;
    if (!w_.g_proj.empty())
      table_.sigmoid_mul({o, b_.gate + (at * heads_ + head) * value, value, o});
    if (b_.o.f32 != nullptr) std::copy_n(o, value, b_.o.f32 + (at * heads_ + head) * value);
    context_.store_bf16(b_.o, at, head * value, value, head + 1 == heads_, o);
  }
}

/// fn(head, first row, rows, worker) over the rows in flight.
template <typename Fn>
void MlaLayer::for_heads(Fn&& fn) const {
  const int64_t pieces = (rows_ + kHeadRows - 1) / kHeadRows;
  context_.pool.parallel_for(heads_ * pieces, [&](int64_t task, int worker) {
    const int64_t row = task % pieces * kHeadRows;
    fn(task / pieces, row, std::min(kHeadRows, rows_ - row), worker);
  });
}

void MlaLayer::attend(int64_t first, int64_t rows) {
  first_row_ = first;
  rows_ = rows;
  queries_ = rows * heads_;
  for_heads([&](int64_t head, int64_t row, int64_t count, int worker) {
    absorb(head, row, count, worker);
  });
  plan_blocks();
  if (spans_apart_) {
    context_.pool.parallel_for(block_count_ * latent_spans_, [&](int64_t task, int) {
      const QueryBlock& block = b_.blocks[task / latent_spans_];
      const int64_t span = task % latent_spans_;
      if (latent_span_begin(span) >= b_.visible[block.query + block.count - 1]) return;
      const int64_t at = span * queries_ + block.query;
      attend_span(block, span, b_.max + at, b_.sum + at, b_.acc + at * b_.acc_stride);
    });
  } else {
    context_.pool.parallel_for(
        block_count_, [&](int64_t task, int worker) { attend_block(b_.blocks[task], worker); });
  }
  for_heads([&](int64_t head, int64_t row, int64_t count, int worker) {
    gather(head, row, count, worker);
  });
}

}  // namespace

int64_t latent_span_begin(int64_t span) {
  if (span <= kFineSpans) return span * kFineRows;
  if (span <= kFineSpans + kMiddleSpans) return kMiddleBegin + (span - kFineSpans) * kMiddleRows;
  return kCoarseBegin + (span - kFineSpans - kMiddleSpans) * kCoarseRows;
}

int64_t latent_span_count(int64_t rows) {
  const auto cover = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
  if (rows <= kMiddleBegin) return cover(rows, kFineRows);
  if (rows <= kCoarseBegin) return kFineSpans + cover(rows - kMiddleBegin, kMiddleRows);
  return kFineSpans + kMiddleSpans + cover(rows - kCoarseBegin, kCoarseRows);
}

MlaBuffers::MlaBuffers(Carver& carver, const BufferShape& shape) {
  const ModelConfig& config = shape.config;
  const int64_t heads = config.num_attention_heads;
  const int64_t rank = config.kv_lora_rank;
  if (config.q_lora_rank) {
    q_a = shape.rows_of(carver, shape.rows, *config.q_lora_rank, true);
  } else {
    q = carver.take<float>(shape.rows * heads * query_dim(config));
  }
  kv_a = carver.take<float>(shape.rows * (rank + config.qk_rope_head_dim));
  gate =
      carver.take<float>(config.mla_use_output_gate ? shape.rows * heads * config.v_head_dim : 0);
  o = shape.rows_of(carver, shape.rows, heads * config.v_head_dim, false);
  block_rows = std::min(shape.rows, kRowsInFlight);
  const int64_t queries = block_rows * heads;
  acc_stride = round_up(rank, 16);
  const int64_t spans = heads * latent_span_count(shape.context);
  partials = std::max({queries, spans, std::min(4 * spans, kPartialBytesMax / (acc_stride * 4))});
  absorbed = carver.take<float>(queries * SequenceState::latent_stride(config));
  visible = carver.take<int64_t>(queries);
  blocks = carver.take<QueryBlock>(queries / kQueriesMin + block_rows + 1);
  max = carver.take<float>(partials);
  sum = carver.take<float>(partials);
  acc = carver.take<float>(partials * acc_stride);
}

int64_t MlaBuffers::worker_bytes(const ModelConfig& config) {
  Carver head(nullptr);
  HeadScratch(head, config);
  Carver span(nullptr);
  SpanScratch(span, round_up(config.kv_lora_rank, 16));
  return std::max(head.bytes(), span.bytes());
}

void mla(const Pass& pass, const MlaWeights& w, int64_t index, const Rows& x,
         const MlaBuffers& buffers, float* out) {
  MlaLayer layer(pass, w, index, buffers);
  layer.project(x);
  layer.append_latents();
  for (int64_t row = 0; row < pass.batch.rows; row += buffers.block_rows) {
    layer.attend(row, std::min(buffers.block_rows, pass.batch.rows - row));
  }
  const int64_t width = pass.context.config.hidden_size;
  pass.context.quantise(buffers.o, pass.batch.rows, buffers.o.stride);
  pass.products.add({.w = w.o_proj.view,
                     .x = buffers.o,
                     .m = pass.batch.rows,
                     .y = {.f32 = out, .stride = width}});
  pass.products.run(pass.context, pass.scratch);
}

}  // namespace trine::model
