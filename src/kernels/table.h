// One table of function pointers per ISA level. A missing kernel is inherited from the next lower
// level.
#pragma once

#include "kernels/args.h"
#include "kernels/fp4_int8_args.h"

namespace trine {
// platform/cpu.h. Declared here alone, as files of an ISA level may not see inline functions of
// C++.
enum class Isa;
}  // namespace trine

namespace trine::kernels {

struct KernelTable {
  /// True when fast precision rounds matmul inputs to bf16 at this level (it has a 16-bit matrix
  /// unit).
  bool bf16_inputs;
  /// Names for people ("avx2 fma f32 6x16"), shown by inspect and bench.
  const char* matmul_f32_name;
  const char* matmul_bf16_name;

  void (*matmul_f32)(const MatmulArgs&);
  void (*matmul_bf16)(const MatmulArgs&);

  /// True when this level has an integer dot product, so that int8 inputs gain speed.
  bool int8_inputs;
  const char* matmul_i8_name;
  void (*quantise_rows)(const QuantiseRowsArgs&);
  void (*matmul_i8)(const MatmulI8Args&);
  void (*int8_from_fp4)(const Int8FromFp4Args&);

  void (*rms_norm)(const RmsNormArgs&);
  void (*attn_res)(const AttnResArgs&);
  void (*short_conv_silu)(const ShortConvArgs&);
  void (*l2_norm)(const L2NormArgs&);
  void (*kda_gate_bounded)(const KdaGateArgs&);
  void (*kda_gate_softplus)(const KdaGateArgs&);
  void (*situ)(const SituArgs&);
  void (*silu_mul)(const SiluArgs&);
  void (*sigmoid_mul)(const SigmoidMulArgs&);
  void (*sigmoid)(const SigmoidArgs&);
  void (*softmax)(const SoftmaxArgs&);
  void (*add)(const AddArgs&);
  void (*weighted_sum)(const WeightedSumArgs&);
  void (*to_bf16)(const ToBf16Args&);
  void (*from_bf16)(const FromBf16Args&);
  bool (*all_finite)(const AllFiniteArgs&);

  void (*kda)(const KdaArgs&);
  void (*kda_state)(const KdaStateArgs&);
  void (*mla)(const MlaArgs&);
  void (*mla_merge)(const MlaMergeArgs&);
  void (*mla_finish)(const MlaFinishArgs&);
};

/// The table of a level. The level must be supported by this CPU (platform/cpu.h).
const KernelTable& kernel_table(Isa isa);

}  // namespace trine::kernels
