// The forward pass: spec section 3, with attention residuals (section 4).
//
// residuals[0 .. current-1] are the blocks, residuals[current] is the running sum p. At a block
// start p becomes the next block by staying where it is, and the attention output is written as the
// new p.
#include "model/forward.h"

#include <algorithm>
#include <cstring>

#include "tensor/float_formats.h"

namespace trine::model {

using checkpoint::ModelConfig;

namespace {

void embedding_row(const kernels::KernelTable& table, const EmbeddingTable& embedding, int32_t id,
                   int64_t n, float* out) {
  const uint8_t* row = embedding.data + id * embedding.row_bytes;
  switch (embedding.dtype) {
    case DType::kF32: std::memcpy(out, row, static_cast<size_t>(n) * sizeof(float)); return;
    case DType::kBf16:
      table.from_bf16({static_cast<const uint16_t*>(static_cast<const void*>(row)), n, out});
      return;
    case DType::kF16:
      for (int64_t i = 0; i < n; ++i) {
        uint16_t half;
        std::memcpy(&half, row + 2 * i, sizeof half);
        out[i] = f16_to_float(half);
      }
      return;
    case DType::kF8E4M3:
      for (int64_t i = 0; i < n; ++i) out[i] = e4m3_to_float(row[i]);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) out[i] = e5m2_to_float(row[i]);
      return;
  }
}

class ForwardPass {
 public:
  ForwardPass(const Context& context, const WeightSet& weights, const Batch& batch,
              const ForwardRequest& request, Workspace* workspace)
      : context_(context),
        table_(context.table),
        config_(context.config),
        weights_(weights),
        batch_(batch),
        request_(request),
        buffers_(workspace->buffers()),
        scratch_(workspace->scratch()),
        pass_{context, batch, scratch_, workspace->products()},
        rows_max_(workspace->rows()),
        d_(context.config.hidden_size) {}

  void run() {
    embed();
    for (size_t l = 0; l < weights_.layers.size(); ++l) {
      const LayerWeights& layer = weights_.layers[l];
      const bool block_start = config_.attn_res_block_size &&
                               static_cast<int64_t>(l) % *config_.attn_res_block_size == 0;
      if (block_start) ++current_;
      attention(layer, block_start ? residual(current_) : buffers_.out);
      after_attention(layer, block_start);
      const float* shared = ffn(layer);
      after_ffn(static_cast<int64_t>(l), shared);
    }
    head();
  }

 private:
  float* residual(int64_t index) const { return buffers_.residuals + index * rows_max_ * d_; }
  float* sum_row(int64_t row) const { return residual(current_) + row * d_; }

  /// fn(row, worker); a row costs about `arrays` passes over d values.
  template <typename Fn>
  void for_rows(int64_t rows, int64_t arrays, Fn&& fn) const {
    context_.for_rows(rows, arrays * d_, [&](int64_t begin, int64_t end, int worker) {
      for (int64_t row = begin; row < end; ++row) fn(row, worker);
    });
  }

  /// x[to] = RN(mix(p[row])): attention residual over blocks and running sum, then the sublayer's
  /// norm.
  void mix_and_norm(int64_t row, int64_t to, const float* res, const float* norm,
                    int worker) const {
    float* x = buffers_.x.f32 + to * d_;
    const float* source = sum_row(row);
    if (res != nullptr && current_ > 0) {
      Carver carver = scratch_.carve(worker);
      auto* values = carver.take<const float*>(current_ + 1);
      for (int64_t j = 0; j <= current_; ++j) values[j] = residual(j) + row * d_;
      table_.attn_res({values, current_ + 1, res, d_, config_.rms_norm_eps, x});
      source = x;
    }
    table_.rms_norm({source, norm, d_, config_.rms_norm_eps, x});
    context_.store_row(buffers_.x, to, d_);
  }

  void embed() {
    const LayerWeights& first = weights_.layers.front();
    for_rows(batch_.rows, 4, [&](int64_t row, int worker) {
      embedding_row(table_, weights_.embed_tokens, batch_.ids[row], d_, sum_row(row));
      buffers_.bad_layer[row] = table_.all_finite({sum_row(row), d_}) ? kAllFinite : kBadEmbedding;
      mix_and_norm(row, row, first.self_attention_res, first.input_layernorm, worker);
    });
  }

  void attention(const LayerWeights& layer, float* out) {
    if (const auto* w = std::get_if<KdaWeights>(&layer.attention)) {
      kda(pass_, *w, kda_index_++, buffers_.x, *buffers_.kda, out);
    } else {
      mla(pass_, std::get<MlaWeights>(layer.attention), mla_index_++, buffers_.x, *buffers_.mla,
          out);
    }
  }

  /// p = a at a block start, else p + a; then the FFN's input.
  void after_attention(const LayerWeights& layer, bool block_start) const {
    for_rows(batch_.rows, current_ + 4, [&](int64_t row, int worker) {
      if (!block_start) table_.add({buffers_.out + row * d_, d_, sum_row(row)});
      mix_and_norm(row, row, layer.mlp_res, layer.post_attention_layernorm, worker);
    });
  }

  /// Leaves the FFN's output in buffers_.out; returns a second summand (shared experts) or null.
  const float* ffn(const LayerWeights& layer) {
    const auto* w = std::get_if<MoeWeights>(&layer.ffn);
    if (w == nullptr) {
      mlp(pass_, std::get<MlpWeights>(layer.ffn), buffers_.x, *buffers_.mlp, buffers_.out);
      return nullptr;
    }
    moe(pass_, *w, buffers_.x, *buffers_.moe, buffers_.out);
    if (request_.trace.router_ids != nullptr) {
      std::copy_n(buffers_.moe->ids, batch_.rows * config_.num_experts_per_token,
                  request_.trace.router_ids + moe_index_ * request_.trace.router_stride);
    }
    ++moe_index_;
    return w->shared_experts.down_proj.empty() ? nullptr : buffers_.moe->shared_out;
  }

  /// p = p + f, its check and trace; then the next layer's attention input.
  void after_ffn(int64_t l, const float* shared) const {
    const bool last = l + 1 == config_.num_hidden_layers;
    const LayerWeights* next = last ? nullptr : &weights_.layers[static_cast<size_t>(l + 1)];
    for_rows(batch_.rows, current_ + 5, [&](int64_t row, int worker) {
      float* p = sum_row(row);
      table_.add({buffers_.out + row * d_, d_, p});
      if (shared != nullptr) table_.add({shared + row * d_, d_, p});
      if (buffers_.bad_layer[row] == kAllFinite && !table_.all_finite({p, d_})) {
        buffers_.bad_layer[row] = static_cast<int32_t>(l);
      }
      if (request_.trace.layers != nullptr) {
        std::copy_n(p, d_, request_.trace.layers + l * request_.trace.layer_stride + row * d_);
      }
      if (next != nullptr)
        mix_and_norm(row, row, next->self_attention_res, next->input_layernorm, worker);
    });
  }

  /// Output mix, final norm and lm_head of the rows asked for.
  void head() {
    const auto count = static_cast<int64_t>(request_.logit_rows.size());
    if (count == 0) return;
    for_rows(count, current_ + 4, [&](int64_t i, int worker) {
      mix_and_norm(request_.logit_rows[static_cast<size_t>(i)], i, weights_.output_attn_res,
                   weights_.norm, worker);
    });
    const int64_t vocab = config_.vocab_size;
    pass_.products.add({.w = weights_.lm_head.view,
                        .x = buffers_.x,
                        .m = count,
                        .y = {.f32 = request_.logits, .stride = vocab}});
    pass_.products.run(context_, scratch_);
    for (int64_t i = 0; i < count; ++i) {
      int32_t& bad = buffers_.bad_layer[request_.logit_rows[static_cast<size_t>(i)]];
      const bool finite = table_.all_finite({request_.logits + i * vocab, vocab});
      if (!finite && bad == kAllFinite) bad = static_cast<int32_t>(config_.num_hidden_layers);
    }
  }

  const Context& context_;
  const kernels::KernelTable& table_;
  const ModelConfig& config_;
  const WeightSet& weights_;
  const Batch& batch_;
  const ForwardRequest& request_;
  const PassBuffers& buffers_;
  const WorkerScratch scratch_;
  const Pass pass_;
  const int64_t rows_max_;
  const int64_t d_;
  int64_t current_ = 0;
  int64_t kda_index_ = 0;
  int64_t mla_index_ = 0;
  int64_t moe_index_ = 0;
};

}  // namespace

void forward(const Context& context, const WeightSet& weights, const Batch& batch,
             const ForwardRequest& request, Workspace* workspace) {
  ForwardPass(context, weights, batch, request, workspace).run();
}

}  // namespace trine::model
