// The forward pass (spec sections 3 and 4) over a batch of spans.
#pragma once

#include <cstdint>
#include <span>

#include "model/pass.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace trine::model {

/// Where to put what a trace wants, at the place of the batch's first row. Null pointers: not
/// wanted.
struct TraceSink {
  float* layers = nullptr;  ///< residual after layer l, row r: [l * layer_stride + r * d]
  int64_t layer_stride = 0;
  int32_t* router_ids = nullptr;  ///< m-th MoE layer, row r: [m * router_stride + r * k]
  int64_t router_stride = 0;
};

/// PassBuffers::bad_layer: the row was finite, or the embedding row was not; else the layer, and
/// the number of layers stands for the final norm and lm_head.
constexpr int32_t kAllFinite = INT32_MAX;
constexpr int32_t kBadEmbedding = -1;

struct ForwardRequest {
  std::span<const int32_t> logit_rows;  ///< rows of the batch whose logits are wanted
  float* logits = nullptr;              ///< [logit_rows][V]
  TraceSink trace;
};

/// Runs the rows of `batch` (at most workspace.rows()) through the model and updates the sequences'
/// states; the caller advances their positions. Ids must be in range and contexts large enough.
void forward(const Context& context, const WeightSet& weights, const Batch& batch,
             const ForwardRequest& request, Workspace* workspace);

}  // namespace trine::model
