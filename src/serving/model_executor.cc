// Work in the scheduler's terms to passes of the engine.
#include "serving/model_executor.h"

#include <algorithm>

namespace trine::serving {
namespace {

struct ModelSequence : ExecutorSequence {
  explicit ModelSequence(model::SequenceState initial) : state(std::move(initial)) {}
  void set_block(int64_t index, std::byte* data) override { state.set_block(index, data); }
  void set_position(int64_t position) override { state.set_position(position); }
  int64_t position() const override { return state.position(); }
  model::SequenceState state;
};

}  // namespace

ModelExecutor::ModelExecutor(PagedModel model) : paged_(std::move(model)) {}

int64_t ModelExecutor::vocab_size() const { return paged_.model.vocab_size(); }
int64_t ModelExecutor::block_tokens() const { return PagedModel::block_tokens(); }
int64_t ModelExecutor::block_bytes() const { return paged_.block_bytes(); }
int64_t ModelExecutor::block_planes() const {
  return std::max<int64_t>(1, paged_.config().mla_layer_count());
}
int64_t ModelExecutor::state_bytes() const { return paged_.state_bytes(); }
int64_t ModelExecutor::pass_rows() const { return paged_.pass_rows(); }

std::unique_ptr<ExecutorSequence> ModelExecutor::open(std::byte* slot, bool fresh) {
  if (fresh) paged_.fill(slot, 0, paged_.state_bytes());
  return std::make_unique<ModelSequence>(paged_.sequence(slot));
}

void ModelExecutor::run(std::span<Work> works) {
  works_.clear();
  for (const Work& work : works) {
    works_.push_back({&static_cast<ModelSequence&>(*work.sequence).state, work.ids, work.logits,
                      work.all_logits, Status()});
  }
  paged_.run(works_);
  for (size_t i = 0; i < works.size(); ++i) works[i].status = std::move(works_[i].status);
}

void ModelExecutor::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  paged_.copy(to, from, bytes);
}

}  // namespace trine::serving
