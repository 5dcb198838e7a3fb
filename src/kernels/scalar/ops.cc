// Enters the scalar kernels other than matmul into the table.
#include "kernels/scalar/ops.h"

#include "kernels/levels.h"

namespace trine::kernels {

void fill_scalar_ops(KernelTable& table) {
  table.rms_norm = scalar::rms_norm;
  table.attn_res = scalar::attn_res;
  table.short_conv_silu = scalar::short_conv_silu;
  table.l2_norm = scalar::l2_norm;
  table.kda_gate_bounded = scalar::kda_gate_bounded;
  table.kda_gate_softplus = scalar::kda_gate_softplus;
  table.situ = scalar::situ;
  table.silu_mul = scalar::silu_mul;
  table.sigmoid_mul = scalar::sigmoid_mul;
  table.sigmoid = scalar::sigmoid;
  table.softmax = scalar::softmax;
  table.add = scalar::add;
  table.weighted_sum = scalar::weighted_sum;
  table.to_bf16 = scalar::to_bf16;
  table.from_bf16 = scalar::from_bf16;
  table.all_finite = scalar::all_finite;
  table.kda = scalar::kda;
  table.kda_state = scalar::kda_state;
  table.mla = scalar::mla;
  table.mla_merge = scalar::mla_merge;
  table.mla_finish = scalar::mla_finish;
}

}  // namespace trine::kernels
