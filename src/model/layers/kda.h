// KDA layer (spec section 5).
#pragma once

#include "model/pass.h"
#include "model/weights.h"

namespace trine::model {

struct KdaBuffers {
  float* q;     ///< [rows][P] raw projections
  float* k;     ///< [rows][P]
  float* v;     ///< [rows][P]
  float* gate;  ///< [rows][P], full-rank output gate
  Rows f_a;     ///< [rows][D]
  Rows g_a;     ///< [rows][D], low-rank output gate
  float* b;     ///< [rows][H]
  Rows o;       ///< [rows][P], normed and gated

  KdaBuffers(Carver& carver, const BufferShape& shape);
  static int64_t worker_bytes(const checkpoint::ModelConfig& config);
};

/// out [rows][d] = KDA(x) of the `index`-th KDA layer; advances its states and windows.
void kda(const Pass& pass, const KdaWeights& w, int64_t index, const Rows& x,
         const KdaBuffers& buffers, float* out);

}  // namespace trine::model
