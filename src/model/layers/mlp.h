// Dense gated MLP layer (spec section 2).
#pragma once

#include "model/pass.h"
#include "model/weights.h"

namespace trine::model {

struct MlpBuffers {
  Rows h;  ///< [rows][intermediate_size]

  MlpBuffers(Carver& carver, const BufferShape& shape)
      : h(shape.rows_of(carver, shape.rows, shape.config.intermediate_size, false)) {}
};

/// out [rows][d] = act(x Wg^T, x Wu^T) Wd^T.
void mlp(const Pass& pass, const MlpWeights& w, const Rows& x, const MlpBuffers& buffers,
         float* out);

}  // namespace trine::model
