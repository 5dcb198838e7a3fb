// Inside of Model and Sequence.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "engine/memory_plan.h"
#include "kernels/table.h"
#include "model/context.h"
#include "model/forward.h"
#include "model/sequence_state.h"
#include "model/weights.h"
#include "model/workspace.h"
#include "platform/cpu.h"
#include "platform/thread_pool.h"
#include "trine/model.h"

namespace trine {

struct Model::Impl {
  /// Decides sizes, or refuses, before a weight is read.
  using Planner = std::function<Result<engine::LoadPlan>(const Impl&, const model::WeightSet&,
                                                         const engine::PlanRequest&)>;
  static Result<std::shared_ptr<Impl>> load(const std::string& folder, const LoadOptions& options,
                                            const Planner& planner);

  std::string folder;
  checkpoint::ModelConfig config;
  Isa isa{};
  const kernels::KernelTable* table = nullptr;
  Precision precision = Precision::kFast;
  bool bf16_inputs = false;
  MemoryPlan plan;
  int64_t context = 0;
  int64_t prefill_chunk = 0;
  int64_t sequences_max = 1;
  std::unique_ptr<ThreadPool> pool;
  int threads_loaded = 1;  ///< the workspace has scratch for so many
  bool pin_threads = false;
  std::unique_ptr<model::WeightSet> weights;
  std::atomic<int64_t> sequences_alive{0};

  // One pass at a time:
  std::mutex pass_mutex;
  std::unique_ptr<model::Workspace> workspace;
  std::vector<model::Span> spans;    ///< reserved for pass rows
  std::vector<int32_t> row_numbers;  ///< 0, 1, 2, ...
  std::vector<float> paged_logits;   ///< of a mixed pass, before they go to their owners

  model::Context pass_context() const {
    return {*pool, *table, config, bf16_inputs, weights->int8};
  }
  int64_t pass_rows() const { return workspace->rows(); }

  kernels::LatentType latent_type() const {
    return precision == Precision::kExact ? kernels::LatentType::kF32 : kernels::LatentType::kBf16;
  }
  Status check_ids(std::span<const int32_t> ids) const;
  /// Runs the spans that lie in `spans` (pass_mutex is held) and advances their sequences.
  void run_pass(std::span<const int32_t> ids, const model::ForwardRequest& request);
  /// kNotFinite naming the first layer where row `row` of the last pass went wrong.
  Status row_status(int64_t row) const;
};

struct Sequence::Impl {
  std::shared_ptr<Model::Impl> model;
  model::SequenceState state;
  Status failure;  ///< why it must be reset

  Impl(std::shared_ptr<Model::Impl> owner, model::SequenceState initial)
      : model(std::move(owner)), state(std::move(initial)) {}
  ~Impl() { model->sequences_alive.fetch_sub(1); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Failed before, or not enough context for `rows` more.
  Status check_room(int64_t rows) const;
  /// One pass over this sequence alone.
  Status run(std::span<const int32_t> ids, const model::ForwardRequest& request);
};

}  // namespace trine
