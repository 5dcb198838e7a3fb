// Declares the kernels other than matmul in the namespace of a level.

void rms_norm(const RmsNormArgs& args);
void attn_res(const AttnResArgs& args);
void l2_norm(const L2NormArgs& args);
void softmax(const SoftmaxArgs& args);
void add(const AddArgs& args);
void weighted_sum(const WeightedSumArgs& args);
void to_bf16(const ToBf16Args& args);
void from_bf16(const FromBf16Args& args);
bool all_finite(const AllFiniteArgs& args);

void short_conv_silu(const ShortConvArgs& args);
void kda_gate_bounded(const KdaGateArgs& args);
void kda_gate_softplus(const KdaGateArgs& args);
void situ(const SituArgs& args);
void silu_mul(const SiluArgs& args);
void sigmoid_mul(const SigmoidMulArgs& args);
void sigmoid(const SigmoidArgs& args);

void kda(const KdaArgs& args);
void kda_state(const KdaStateArgs& args);

void mla(const MlaArgs& args);
void mla_merge(const MlaMergeArgs& args);
void mla_finish(const MlaFinishArgs& args);
