// What the scheduler needs of a model: memory sizes and forward passes over spans. The real one
// sits on the engine; tests use a toy whose logits reveal any wrong state or page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "trine/status.h"

namespace trine::serving {

/// One running sequence as the executor sees it: a state slot and latent blocks that it was given.
class ExecutorSequence {
 public:
  virtual ~ExecutorSequence() = default;
  /// Block `index` holds the latent rows [index * block_tokens, + block_tokens).
  virtual void set_block(int64_t index, std::byte* data) = 0;
  virtual void set_position(int64_t position) = 0;
  virtual int64_t position() const = 0;
};

/// New tokens of one sequence in a pass.
struct Work {
  ExecutorSequence* sequence = nullptr;
  std::span<const int32_t> ids;
  float* logits =
      nullptr;  ///< [vocab] of the last id, or [ids][vocab] with all_logits; may be null
  bool all_logits = false;
  Status status;  ///< out: kNotFinite; the sequence's memory is then worthless
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual int64_t vocab_size() const = 0;
  virtual int64_t block_tokens() const = 0;  ///< rows of a latent block
  virtual int64_t block_bytes() const = 0;   ///< 0: the model keeps no latents
  /// A block is that many arrays (layers) of block_tokens rows.
  virtual int64_t block_planes() const { return 1; }
  virtual int64_t state_bytes() const = 0;  ///< 0: the model keeps no states
  virtual int64_t pass_rows() const = 0;    ///< rows of one pass at most
  /// Blocks that hold the rows of `tokens` tokens.
  int64_t blocks_of(int64_t tokens) const {
    return block_bytes() == 0 ? 0 : (tokens + block_tokens() - 1) / block_tokens();
  }
  /// Position 0 with the state that begins a sequence; `slot` is overwritten when `fresh`.
  virtual std::unique_ptr<ExecutorSequence> open(std::byte* slot, bool fresh) = 0;
  /// One pass; positions advance by the ids of each. Never fails as a whole.
  virtual void run(std::span<Work> works) = 0;
  /// Copies states and blocks, in parallel when large.
  virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
};

}  // namespace trine::serving
