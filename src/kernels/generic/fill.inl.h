// Enters the kernels of the namespace it is included in into a table.

inline void fill(KernelTable& table) {
  table.rms_norm = rms_norm;
  table.attn_res = attn_res;
  table.short_conv_silu = short_conv_silu;
  table.l2_norm = l2_norm;
  table.kda_gate_bounded = kda_gate_bounded;
  table.kda_gate_softplus = kda_gate_softplus;
  table.situ = situ;
  table.silu_mul = silu_mul;
  table.sigmoid_mul = sigmoid_mul;
  table.sigmoid = sigmoid;
  table.softmax = softmax;
  table.add = add;
  table.weighted_sum = weighted_sum;
  table.to_bf16 = to_bf16;
  table.from_bf16 = from_bf16;
  table.all_finite = all_finite;
  table.kda = kda;
  table.kda_state = kda_state;
  table.mla = mla;
  table.mla_merge = mla_merge;
  table.mla_finish = mla_finish;
}
