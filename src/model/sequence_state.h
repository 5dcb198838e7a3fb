// What one sequence keeps between passes: KDA states with the open rows of their chunk,
// short-convolution windows, latent pages (spec sections 5 and 6). In memory of its own, touched as
// the sequence grows, or in memory that the caller manages and shares between sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint/config.h"
#include "kernels/args.h"
#include "platform/memory.h"
#include "trine/status.h"

namespace trine::model {

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// One head's part of a KDA layer, layouts of kernels::KdaArgs.
struct KdaHeadState {
  float* state;
  float* open_k;
  float* open_u;
  float* open_g;
};

class SequenceState {
 public:
  /// With memory of its own for `context` tokens.
  static Result<SequenceState> create(const checkpoint::ModelConfig& config, int64_t context,
                                      kernels::LatentType latent_type);
  /// Over `state` (state_bytes, 64-byte aligned; zeros begin a sequence) and the blocks of
  /// set_block, which must be there before rows of theirs are computed.
  static SequenceState over(const checkpoint::ModelConfig& config, int64_t context,
                            kernels::LatentType latent_type, std::byte* state);

  /// Closed forms of the two blocks.
  static int64_t state_bytes(const checkpoint::ModelConfig& config);
  static int64_t latent_bytes(const checkpoint::ModelConfig& config, int64_t context,
                              kernels::LatentType type);
  /// kMlaPageRows tokens of all MLA layers: what set_block takes.
  static int64_t block_bytes(const checkpoint::ModelConfig& config, kernels::LatentType type);
  /// Values between two latent rows, padding included.
  static int64_t latent_stride(const checkpoint::ModelConfig& config);

  int64_t position() const { return position_; }
  void advance(int64_t rows) { position_ += rows; }
  /// The state must be that of `position` tokens.
  void set_position(int64_t position) { position_ = position; }
  /// Latent rows [block * kMlaPageRows, + kMlaPageRows) of all layers live at `data`.
  void set_block(int64_t block, std::byte* data);
  int64_t context() const { return context_; }
  void reset();

  /// `kda` and `mla` count the layers of their kind from 0.
  KdaHeadState kda_head(int64_t kda, int64_t head) const;
  /// Last taps-1 raw rows of q (0), k (1) or v (2), oldest first: [taps - 1][P].
  float* conv_window(int64_t kda, int64_t which) const;
  const void* const* latent_pages(int64_t mla) const { return pages_.data() + mla * page_count_; }
  /// The latent row of an absolute position.
  void* latent_row(int64_t mla, int64_t position) const;
  kernels::LatentType latent_type() const { return latent_type_; }

 private:
  SequenceState() = default;
  float* floats() const { return reinterpret_cast<float*>(state_); }

  Buffer own_state_;
  Buffer own_latent_;
  std::byte* state_ = nullptr;
  std::vector<const void*> pages_;  ///< [mla layers][page_count_]
  int64_t page_count_ = 0;
  int64_t latent_row_bytes_ = 0;
  int64_t page_bytes_ = 0;
  int64_t mla_layers_ = 0;
  int64_t head_floats_ = 0;  ///< state, open rows and sums of one head
  int64_t state_floats_ = 0;
  int64_t open_floats_ = 0;
  int64_t heads_ = 0;
  int64_t window_floats_ = 0;  ///< of one of q, k, v
  int64_t layer_floats_ = 0;
  int64_t position_ = 0;
  int64_t context_ = 0;
  kernels::LatentType latent_type_ = kernels::LatentType::kF32;
};

}  // namespace trine::model
