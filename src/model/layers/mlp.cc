// Dense gated MLP (spec section 2).
#include "model/layers/mlp.h"

namespace trine::model {

void mlp(const Pass& pass, const MlpWeights& w, const Rows& x, const MlpBuffers& buffers,
         float* out) {
  const int64_t rows = pass.batch.rows;
  pass.products.add(
      {.w = w.gate_proj.view, .up = w.up_proj.view, .x = x, .m = rows, .y = buffers.h});
  pass.products.run(pass.context, pass.scratch);
  const int64_t width = pass.context.config.hidden_size;
  pass.context.quantise(buffers.h, rows, buffers.h.stride);
  pass.products.add(
      {.w = w.down_proj.view, .x = buffers.h, .m = rows, .y = {.f32 = out, .stride = width}});
  pass.products.run(pass.context, pass.scratch);
}

}  // namespace trine::model
