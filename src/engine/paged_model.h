// A door for the server: a loaded model without sequences of its own, and passes over any mixture
// of spans whose states and latent blocks the caller manages.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/config.h"
#include "engine/memory_plan.h"
#include "model/sequence_state.h"
#include "trine/model.h"

namespace trine {

/// New tokens of one sequence in a pass. Ids must be in range, blocks set, contexts large enough.
struct PagedWork {
  model::SequenceState* state = nullptr;
  std::span<const int32_t> ids;
  float* logits =
      nullptr;  ///< [vocab] of the last id, or [ids][vocab] with all_logits; may be null
  bool all_logits = false;
  Status status;  ///< out: kNotFinite
};

struct PagedModel {
  /// Decides context and rows of a pass from the plan's terms, or refuses, before a weight is read.
  /// `activation_bytes(rows, context)` is the closed form of a pass.
  struct Terms {
    const checkpoint::ModelConfig& config;
    int64_t weight_bytes = 0, state_bytes = 0, block_bytes = 0, block_tokens = 0;
    int64_t prefill_chunk = 0;
    int64_t available_bytes = 0;
    std::function<int64_t(int64_t rows, int64_t context)> activation_bytes;
  };
  struct Sizes {
    int64_t context = 0, prefill_chunk = 0, pass_rows = 0;
    MemoryPlan memory;
  };
  using Planner = std::function<Result<Sizes>(const Terms&)>;

  static Result<PagedModel> load(const std::string& folder, const LoadOptions& options,
                                 const Planner& planner);

  const checkpoint::ModelConfig& config() const;
  int64_t state_bytes() const;
  int64_t block_bytes() const;
  static constexpr int64_t block_tokens() { return kernels::kMlaPageRows; }
  int64_t pass_rows() const;
  /// A sequence over `state`; position 0.
  model::SequenceState sequence(std::byte* state) const;
  /// All rows of `works` (at most pass_rows) in one pass; positions advance.
  void run(std::span<PagedWork> works) const;
  /// Runs passes with fewer threads than were loaded (selfcheck), or again with all.
  void use_threads(int threads) const;
  /// memcpy by all threads.
  void copy(std::byte* to, const std::byte* from, int64_t bytes) const;
  /// memset by all threads: places pages on the nodes of the threads.
  void fill(std::byte* to, int value, int64_t bytes) const;

  Model model;

 private:
  explicit PagedModel(std::shared_ptr<Model::Impl> impl);
};

}  // namespace trine
