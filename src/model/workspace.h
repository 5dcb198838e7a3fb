// All buffers of a forward pass in one block, allocated once. Its size is the closed form of a
// pass's activation memory: attention and FFN buffers share their memory, as do the kinds of
// layers.
#pragma once

#include <algorithm>
#include <optional>

#include "model/layers/kda.h"
#include "model/layers/mla.h"
#include "model/layers/mlp.h"
#include "model/layers/moe.h"
#include "platform/memory.h"

namespace trine::model {

struct PassBuffers {
  float* residuals;      ///< [blocks + 1][rows][d]: attention-residual blocks, then the running sum
  Rows x;                ///< [rows][d]: normed input of a sublayer
  float* out;            ///< [rows][d]: output of a sublayer
  int32_t* span_of_row;  ///< [rows]
  int32_t* bad_layer;    ///< [rows]: first layer with a value that is not finite
  std::byte* workers;    ///< [threads][worker_bytes]
  int64_t worker_bytes;
  std::optional<KdaBuffers> kda;
  std::optional<MlaBuffers> mla;
  std::optional<MlpBuffers> mlp;
  std::optional<MoeBuffers> moe;

  PassBuffers(Carver& carver, const BufferShape& shape);
};

/// Residual arrays of a pass: one per attention-residual block and the running sum.
int64_t residual_count(const checkpoint::ModelConfig& config);

class Workspace {
 public:
  static int64_t bytes(const BufferShape& shape);
  static Result<Workspace> create(const BufferShape& shape);

  const PassBuffers& buffers() const { return *buffers_; }
  WorkerScratch scratch() const { return {buffers_->workers, buffers_->worker_bytes}; }
  MatmulList& products() { return products_; }
  int64_t rows() const { return rows_; }

 private:
  explicit Workspace(const BufferShape& shape);
  Buffer block_;
  std::optional<PassBuffers> buffers_;
  MatmulList products_;
  int64_t rows_;
};

}  // namespace trine::model
