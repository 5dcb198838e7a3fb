// Passes over memory of others, and its planning.
#include "engine/paged_model.h"

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "engine/model_impl.h"

namespace trine {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  ///< bytes that one task copies

/// fn(begin, bytes) for pieces of a block, by all threads when there are several.
template <typename Fn>
void for_pieces(ThreadPool& pool, int64_t bytes, const Fn& fn) {
  const int64_t pieces = (bytes + kPiece - 1) / kPiece;
  if (pieces <= 1) {
    if (bytes > 0) fn(0, bytes);
    return;
  }
  pool.parallel_for(pieces, [&](int64_t piece, int) {
    fn(piece * kPiece, std::min(kPiece, bytes - piece * kPiece));
  });
}

}  // namespace

PagedModel::PagedModel(std::shared_ptr<Model::Impl> impl) : model(Model(std::move(impl))) {}

Result<PagedModel> PagedModel::load(const std::string& folder, const LoadOptions& options,
                                    const Planner& planner) {
  const Model::Impl::Planner decide =
      [&](const Model::Impl& impl, const model::WeightSet& weights,
          const engine::PlanRequest& request) -> Result<engine::LoadPlan> {
    const Terms terms{
        .config = impl.config,
        .weight_bytes = weights.bytes,
        .state_bytes = model::SequenceState::state_bytes(impl.config),
        .block_bytes = model::SequenceState::block_bytes(impl.config, impl.latent_type()),
        .block_tokens = block_tokens(),
        .prefill_chunk = request.prefill_chunk,
        .available_bytes = request.available_bytes,
        .activation_bytes = [&](int64_t rows, int64_t context) {
          return engine::activation_bytes(impl.config, weights, request, rows, context);
        }};
    TRINE_ASSIGN_OR_RETURN(const Sizes sizes, planner(terms));
    return engine::LoadPlan{.memory = sizes.memory,
                            .context = sizes.context,
                            .prefill_chunk = sizes.prefill_chunk,
                            .pass_rows = sizes.pass_rows};
  };
  TRINE_ASSIGN_OR_RETURN(std::shared_ptr<Model::Impl> impl,
                         Model::Impl::load(folder, options, decide));
  return PagedModel(std::move(impl));
}

const checkpoint::ModelConfig& PagedModel::config() const { return model.impl_->config; }
int64_t PagedModel::state_bytes() const {
  return model::SequenceState::state_bytes(model.impl_->config);
}
int64_t PagedModel::block_bytes() const {
  return model::SequenceState::block_bytes(model.impl_->config, model.impl_->latent_type());
}
int64_t PagedModel::pass_rows() const { return model.impl_->pass_rows(); }

model::SequenceState PagedModel::sequence(std::byte* state) const {
  const Model::Impl& impl = *model.impl_;
  return model::SequenceState::over(impl.config, impl.context, impl.latent_type(), state);
}

void PagedModel::run(std::span<PagedWork> works) const {
  Model::Impl& impl = *model.impl_;
  const std::lock_guard<std::mutex> lock(impl.pass_mutex);
  const auto vocab = static_cast<size_t>(impl.config.vocab_size);

  impl.spans.clear();
  std::vector<int32_t> ids, logit_rows;
  for (const PagedWork& work : works) {
    const auto row = static_cast<int64_t>(ids.size());
    const auto rows = static_cast<int64_t>(work.ids.size());
    impl.spans.push_back({work.state, row, rows});
    ids.insert(ids.end(), work.ids.begin(), work.ids.end());
    if (work.logits == nullptr) continue;
    for (int64_t r = work.all_logits ? 0 : rows - 1; r < rows; ++r)
      logit_rows.push_back(static_cast<int32_t>(row + r));
  }
  // One block for all, so that lm_head runs once; then to where each wants its own.
  std::vector<float>& logits = impl.paged_logits;
  logits.resize(std::max(logits.size(), logit_rows.size() * vocab));
  impl.run_pass(ids, {.logit_rows = logit_rows, .logits = logits.data(), .trace = {}});

  const float* next = logits.data();
  int64_t row = 0;
  for (PagedWork& work : works) {
    const auto rows = static_cast<int64_t>(work.ids.size());
    work.status = Status();
    for (int64_t r = 0; r < rows && work.status.ok(); ++r) work.status = impl.row_status(row + r);
    row += rows;
    if (work.logits == nullptr) continue;
    const size_t values = (work.all_logits ? work.ids.size() : 1) * vocab;
    std::copy_n(next, values, work.logits);
    next += values;
  }
}

void PagedModel::use_threads(int threads) const {
  Model::Impl& impl = *model.impl_;
  const std::lock_guard<std::mutex> lock(impl.pass_mutex);
  impl.pool = std::make_unique<ThreadPool>(ThreadPool::Options{
      .threads = std::clamp(threads, 1, impl.threads_loaded), .pin = impl.pin_threads});
}

void PagedModel::copy(std::byte* to, const std::byte* from, int64_t bytes) const {
  const std::lock_guard<std::mutex> lock(model.impl_->pass_mutex);
  for_pieces(*model.impl_->pool, bytes, [&](int64_t begin, int64_t count) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(count));
  });
}

void PagedModel::fill(std::byte* to, int value, int64_t bytes) const {
  const std::lock_guard<std::mutex> lock(model.impl_->pass_mutex);
  for_pieces(*model.impl_->pool, bytes, [&](int64_t begin, int64_t count) {
    std::memset(to + begin, value, static_cast<size_t>(count));
  });
}

}  // namespace trine
