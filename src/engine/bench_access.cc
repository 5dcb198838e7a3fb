// Latent rows repeated up to a depth.
#include "engine/bench_access.h"

#include <cstring>

#include "engine/model_impl.h"
#include "kernels/args.h"

namespace trine {

Status BenchAccess::skip_to(Sequence* sequence, int64_t position) {
  model::SequenceState& state = sequence->impl_->state;
  const int64_t held = state.position();
  if (held == 0 || position < held || position > state.context() ||
      (position - held) % kernels::kKdaChunk != 0)
    return {Code::kInvalidArgument, "cannot skip from token " + std::to_string(held) + " to " +
                                        std::to_string(position) + " of a context of " +
                                        std::to_string(state.context())};
  const checkpoint::ModelConfig& config = sequence->impl_->model->config;
  const int64_t element_bytes = state.latent_type() == kernels::LatentType::kF32 ? 4 : 2;
  const auto row_bytes =
      static_cast<size_t>(model::SequenceState::latent_stride(config) * element_bytes);
  for (int64_t layer = 0; layer < config.mla_layer_count(); ++layer)
    for (int64_t row = held; row < position; ++row)
      std::memcpy(state.latent_row(layer, row), state.latent_row(layer, row % held), row_bytes);
  state.advance(position - held);
  return {};
}

}  // namespace trine
