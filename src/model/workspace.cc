// The layout of a pass's buffers.
#include "model/workspace.h"

#include "base/try.h"

namespace trine::model {

using checkpoint::ModelConfig;

namespace {

constexpr int64_t kPrivateGap = 256;  // between two workers' blocks: no shared cache lines

int64_t worker_bytes(const BufferShape& shape) {
  const ModelConfig& config = shape.config;
  int64_t bytes = MatmulScratch::bytes(shape.int8);
  bytes = std::max(bytes, kernels::kAttnResValuesMax * static_cast<int64_t>(sizeof(const float*)));
  if (config.kda_layer_count() > 0) bytes = std::max(bytes, KdaBuffers::worker_bytes(config));
  if (config.mla_layer_count() > 0) bytes = std::max(bytes, MlaBuffers::worker_bytes(config));
  if (config.moe_layer_count() > 0) bytes = std::max(bytes, MoeBuffers::worker_bytes(config));
  return round_up(bytes, 64) + kPrivateGap;
}

}  // namespace

int64_t residual_count(const ModelConfig& config) {
  if (!config.attn_res_block_size) return 1;
  return (config.num_hidden_layers + *config.attn_res_block_size - 1) /
             *config.attn_res_block_size +
         1;
}

PassBuffers::PassBuffers(Carver& carver, const BufferShape& shape) {
  const ModelConfig& config = shape.config;
  residuals = carver.take<float>(residual_count(config) * shape.rows * config.hidden_size);
  x = shape.rows_of(carver, shape.rows, config.hidden_size, true, BufferShape::Readers::kBoth);
  out = carver.take<float>(shape.rows * config.hidden_size);
  span_of_row = carver.take<int32_t>(shape.rows);
  bad_layer = carver.take<int32_t>(shape.rows);
  worker_bytes = trine::model::worker_bytes(shape);
  workers = carver.take<std::byte>(worker_bytes * shape.threads);
  const int64_t shared = carver.mark();
  if (config.kda_layer_count() > 0) kda.emplace(carver, shape);
  carver.rewind(shared);
  if (config.mla_layer_count() > 0) mla.emplace(carver, shape);
  carver.rewind(shared);
  if (config.moe_layer_count() > 0) moe.emplace(carver, shape);
  carver.rewind(shared);
  if (config.moe_layer_count() < config.num_hidden_layers) mlp.emplace(carver, shape);
}

int64_t Workspace::bytes(const BufferShape& shape) {
  Carver carver(nullptr);
  const PassBuffers buffers(carver, shape);
  return carver.bytes();
}

Workspace::Workspace(const BufferShape& shape)
    : products_(MoeBuffers::jobs_max(shape.config) + 8), rows_(shape.rows) {}

Result<Workspace> Workspace::create(const BufferShape& shape) {
  Workspace workspace(shape);
  TRINE_ASSIGN_OR_RETURN(workspace.block_, Buffer::allocate(bytes(shape)));
  Carver carver(workspace.block_.data());
  workspace.buffers_.emplace(carver, shape);
  return workspace;
}

}  // namespace trine::model
