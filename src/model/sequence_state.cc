// Layout of a sequence's two blocks. Page i of all MLA layers lie side by side, so that memory is
// touched in the order in which the sequence grows.
#include "model/sequence_state.h"

#include <cstring>

#include "base/try.h"

namespace trine::model {

using checkpoint::ModelConfig;
using kernels::kKdaChunk;
using kernels::kMlaPageRows;
using kernels::LatentType;

namespace {

int64_t element_bytes(LatentType type) { return type == LatentType::kF32 ? 4 : 2; }

int64_t head_floats(int64_t head_dim) {
  const int64_t stride = round_up(head_dim, 16);
  return head_dim * stride + 2 * kKdaChunk * stride + stride;
}

int64_t window_floats(const ModelConfig& config) {
  return round_up((config.short_conv_kernel_size - 1) * config.kda_num_heads * config.kda_head_dim,
                  16);
}

int64_t page_bytes(const ModelConfig& config, LatentType type) {
  return kMlaPageRows * SequenceState::latent_stride(config) * element_bytes(type);
}

}  // namespace

int64_t SequenceState::latent_stride(const ModelConfig& config) {
  return round_up(config.kv_lora_rank + config.qk_rope_head_dim, 32);
}

int64_t SequenceState::state_bytes(const ModelConfig& config) {
  const int64_t layer =
      config.kda_num_heads * head_floats(config.kda_head_dim) + 3 * window_floats(config);
  return config.kda_layer_count() * layer * 4;
}

int64_t SequenceState::latent_bytes(const ModelConfig& config, int64_t context, LatentType type) {
  return round_up(context, kMlaPageRows) / kMlaPageRows * block_bytes(config, type);
}

int64_t SequenceState::block_bytes(const ModelConfig& config, LatentType type) {
  return config.mla_layer_count() * page_bytes(config, type);
}

SequenceState SequenceState::over(const ModelConfig& config, int64_t context,
                                  LatentType latent_type, std::byte* state) {
  SequenceState s;
  const int64_t stride = round_up(config.kda_head_dim, 16);
  s.state_ = state;
  s.context_ = context;
  s.latent_type_ = latent_type;
  s.heads_ = config.kda_num_heads;
  s.state_floats_ = config.kda_head_dim * stride;
  s.open_floats_ = kKdaChunk * stride;
  s.head_floats_ = head_floats(config.kda_head_dim);
  s.window_floats_ = window_floats(config);
  s.layer_floats_ = s.heads_ * s.head_floats_ + 3 * s.window_floats_;
  s.mla_layers_ = config.mla_layer_count();
  s.page_bytes_ = page_bytes(config, latent_type);
  s.latent_row_bytes_ = s.page_bytes_ / kMlaPageRows;
  s.page_count_ = round_up(context, kMlaPageRows) / kMlaPageRows;
  s.pages_.resize(static_cast<size_t>(s.mla_layers_ * s.page_count_));
  return s;
}

Result<SequenceState> SequenceState::create(const ModelConfig& config, int64_t context,
                                            LatentType latent_type) {
  TRINE_ASSIGN_OR_RETURN(Buffer state, Buffer::allocate(state_bytes(config)));
  TRINE_ASSIGN_OR_RETURN(Buffer latent,
                         Buffer::allocate(latent_bytes(config, context, latent_type)));
  SequenceState s = over(config, context, latent_type, state.data());
  for (int64_t page = 0; page < s.page_count_; ++page)
    s.set_block(page, latent.data() + page * block_bytes(config, latent_type));
  s.own_state_ = std::move(state);
  s.own_latent_ = std::move(latent);
  return s;
}

void SequenceState::set_block(int64_t block, std::byte* data) {
  for (int64_t layer = 0; layer < mla_layers_; ++layer)
    pages_[static_cast<size_t>(layer * page_count_ + block)] = data + layer * page_bytes_;
}

void SequenceState::reset() {
  if (own_state_.size() > 0) std::memset(state_, 0, static_cast<size_t>(own_state_.size()));
  position_ = 0;
}

KdaHeadState SequenceState::kda_head(int64_t kda, int64_t head) const {
  float* base = floats() + kda * layer_floats_ + head * head_floats_;
  float* open = base + state_floats_;
  return {base, open, open + open_floats_, open + 2 * open_floats_};
}

float* SequenceState::conv_window(int64_t kda, int64_t which) const {
  return floats() + kda * layer_floats_ + heads_ * head_floats_ + which * window_floats_;
}

void* SequenceState::latent_row(int64_t mla, int64_t position) const {
  const void* page = latent_pages(mla)[position / kMlaPageRows];
  return static_cast<std::byte*>(const_cast<void*>(page)) +
         (position % kMlaPageRows) * latent_row_bytes_;
}

}  // namespace trine::model
