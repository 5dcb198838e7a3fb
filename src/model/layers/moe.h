// LatentMoE layer (spec section 7).
#pragma once

#include "model/pass.h"
#include "model/weights.h"

namespace trine::model {

struct MoeBuffers {
  float* logits;      ///< [rows][E]
  int32_t* ids;       ///< [rows][k], ascending
  float* weights;     ///< [rows][k]
  int32_t* place;     ///< [rows][k]: the pair's row among the rows sorted by expert
  int32_t* row_of;    ///< [rows * k]: the batch row of a sorted row
  int32_t* first;     ///< [E + 1]: sorted rows of an expert
  Rows z;             ///< [rows][lat], experts' input; unused without latent
  Rows h;             ///< [rows * k][moe_intermediate_size]
  float* y;           ///< [rows * k][lat]
  Rows sum;           ///< [rows][lat], weighted and normed
  Rows shared;        ///< [rows][shared width]
  float* shared_out;  ///< [rows][d]

  MoeBuffers(Carver& carver, const BufferShape& shape);
  static int64_t worker_bytes(const checkpoint::ModelConfig& config);
  /// Products that run at once.
  static int64_t jobs_max(const checkpoint::ModelConfig& config) { return config.num_experts + 4; }
};

/// out [rows][d] = the routed part of MoE(x); the shared part, if there is one, is left in
/// shared_out.
void moe(const Pass& pass, const MoeWeights& w, const Rows& x, const MoeBuffers& buffers,
         float* out);

}  // namespace trine::model
