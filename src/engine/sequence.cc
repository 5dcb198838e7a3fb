// One sequence: prefill in chunks, decode, and its states laid open.
#include <algorithm>

#include "base/try.h"
#include "engine/model_impl.h"

namespace trine {

Sequence::Sequence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sequence::~Sequence() = default;
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;

int64_t Sequence::position() const { return impl_->state.position(); }

void Sequence::reset() {
  impl_->state.reset();
  impl_->failure = Status();
}

Status Sequence::Impl::check_room(int64_t rows) const {
  TRINE_RETURN_IF_ERROR(failure);
  if (rows <= state.context() - state.position()) return {};
  return {Code::kOutOfMemory, "the context is full: " + std::to_string(rows) +
                                  " more tokens after " + std::to_string(state.position()) +
                                  ", but the context is " + std::to_string(state.context()) +
                                  " tokens; load with a larger context or reset"};
}

Result<std::vector<float>> Sequence::prefill(std::span<const int32_t> ids) {
  return prefill(ids, PrefillOptions{});
}

Result<std::vector<float>> Sequence::prefill(std::span<const int32_t> ids,
                                             const PrefillOptions& options) {
  Model::Impl& model = *impl_->model;
  const checkpoint::ModelConfig& config = model.config;
  if (ids.empty()) return Status(Code::kInvalidArgument, "no ids: a prompt has at least one");
  TRINE_RETURN_IF_ERROR(model.check_ids(ids));
  TRINE_RETURN_IF_ERROR(impl_->check_room(static_cast<int64_t>(ids.size())));

  const size_t vocab = static_cast<size_t>(config.vocab_size);
  std::vector<float> logits(options.all_logits ? ids.size() * vocab : vocab);
  const auto total = static_cast<int64_t>(ids.size());
  if (options.trace != nullptr) {
    options.trace->tokens = total;
    options.trace->layers.assign(
        static_cast<size_t>(config.num_hidden_layers * total * config.hidden_size), 0.0f);
    options.trace->router_ids.assign(
        static_cast<size_t>(config.moe_layer_count() * total * config.num_experts_per_token), 0);
  }
  for (int64_t done = 0; done < total;) {
    const int64_t rows = std::min(total - done, model.prefill_chunk);
    const bool last = done + rows == total;
    model::ForwardRequest request;
    if (options.all_logits) {
      request.logit_rows = std::span(model.row_numbers).first(static_cast<size_t>(rows));
      request.logits = logits.data() + static_cast<size_t>(done) * vocab;
    } else if (last) {
      request.logit_rows = std::span(model.row_numbers).subspan(static_cast<size_t>(rows - 1), 1);
      request.logits = logits.data();
    }
    if (options.trace != nullptr) {
      request.trace.layers = options.trace->layers.data() + done * config.hidden_size;
      request.trace.layer_stride = total * config.hidden_size;
      request.trace.router_ids =
          options.trace->router_ids.data() + done * config.num_experts_per_token;
      request.trace.router_stride = total * config.num_experts_per_token;
    }
    TRINE_RETURN_IF_ERROR(
        impl_->run(ids.subspan(static_cast<size_t>(done), static_cast<size_t>(rows)), request));
    done += rows;
    if (options.progress && !options.progress(done) && done < total) {
      return Status(Code::kCancelled, "cancelled after " + std::to_string(done) + " of " +
                                          std::to_string(total) +
                                          " tokens; the sequence holds those");
    }
  }
  return logits;
}

Status Sequence::Impl::run(std::span<const int32_t> ids, const model::ForwardRequest& request) {
  const std::lock_guard<std::mutex> lock(model->pass_mutex);
  model->spans.assign(1, {&state, 0, static_cast<int64_t>(ids.size())});
  model->run_pass(ids, request);
  for (size_t row = 0; row < ids.size(); ++row) {
    failure = model->row_status(static_cast<int64_t>(row));
    TRINE_RETURN_IF_ERROR(failure);
  }
  return {};
}

Result<std::vector<float>> Sequence::decode(int32_t id) {
  std::vector<float> logits;
  TRINE_RETURN_IF_ERROR(decode(id, &logits));
  return logits;
}

Status Sequence::decode(int32_t id, std::vector<float>* logits) {
  Model::Impl& model = *impl_->model;
  TRINE_RETURN_IF_ERROR(model.check_ids({&id, 1}));
  TRINE_RETURN_IF_ERROR(impl_->check_room(1));
  logits->resize(static_cast<size_t>(model.config.vocab_size));
  model::ForwardRequest request;
  request.logit_rows = std::span(model.row_numbers).first(1);
  request.logits = logits->data();
  return impl_->run({&id, 1}, request);
}

std::vector<float> Sequence::kda_state() const {
  const checkpoint::ModelConfig& config = impl_->model->config;
  const int64_t dim = config.kda_head_dim;
  const int64_t layers = config.kda_layer_count();
  std::vector<float> out(static_cast<size_t>(layers * config.kda_num_heads * dim * dim));
  for (int64_t i = 0; i < layers * config.kda_num_heads; ++i) {
    const model::KdaHeadState head =
        impl_->state.kda_head(i / config.kda_num_heads, i % config.kda_num_heads);
    impl_->model->table->kda_state({dim, position() % kernels::kKdaChunk, head.state, head.open_k,
                                    head.open_u, head.open_g, out.data() + i * dim * dim});
  }
  return out;
}

std::vector<float> Sequence::mla_rows() const {
  const checkpoint::ModelConfig& config = impl_->model->config;
  const int64_t width = config.kv_lora_rank + config.qk_rope_head_dim;
  const int64_t rows = position();
  const int64_t layers = config.mla_layer_count();
  std::vector<float> out(static_cast<size_t>(layers * rows * width));
  for (int64_t i = 0; i < layers * rows; ++i) {
    const void* row = impl_->state.latent_row(i / rows, i % rows);
    float* place = out.data() + i * width;
    if (impl_->state.latent_type() == kernels::LatentType::kF32) {
      std::copy_n(static_cast<const float*>(row), width, place);
    } else {
      impl_->model->table->from_bf16({static_cast<const uint16_t*>(row), width, place});
    }
  }
  return out;
}

}  // namespace trine
