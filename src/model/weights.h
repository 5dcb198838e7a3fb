// All weights of a model, bound by name and packed. Spec section 8 has the names; shapes are [out,
// in].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/int8_plan.h"
#include "model/packed_linear.h"
#include "platform/memory.h"
#include "platform/thread_pool.h"
#include "tensor/dtype.h"
#include "trine/status.h"

namespace trine::model {

/// KDA (spec section 5): H heads of D channels, P = H * D, W taps.
struct KdaWeights {
  PackedLinear q_proj, k_proj, v_proj;  // [P, d]
  PackedLinear f_a_proj;                // [D, d]
  PackedLinear f_b_proj;                // [P, D], a part per head
  PackedLinear b_proj;                  // [H, d]
  PackedLinear g_proj;                  // [P, d], full-rank gate
  PackedLinear g_a_proj;                // [D, d], low-rank gate
  PackedLinear g_b_proj;                // [P, D], a part per head
  PackedLinear o_proj;                  // [d, P]
  const float* q_conv1d = nullptr;      // [W, P]
  const float* k_conv1d = nullptr;      // [W, P]
  const float* v_conv1d = nullptr;      // [W, P]
  const float* a = nullptr;             // [H], exp(A_log)
  const float* dt_bias = nullptr;       // [P]
  const float* o_norm = nullptr;        // [D]
};

/// Gated MLA (spec section 6): n heads, absorbed form.
struct MlaWeights {
  PackedLinear q_proj;                    // [n (dn + dr), d], without q-LoRA
  PackedLinear q_a_proj;                  // [q_lora, d]
  PackedLinear q_b_proj;                  // [n (dn + dr), q_lora], a part per head
  PackedLinear kv_a_proj_with_mqa;        // [r + dr, d]
  PackedLinear k_absorbed;                // per head [r, dn]: kv_b_proj's key rows transposed
  PackedLinear v_up;                      // per head [dv, r]: kv_b_proj's value rows
  PackedLinear g_proj;                    // [n dv, d], empty without output gate
  PackedLinear o_proj;                    // [d, n dv]
  const float* q_a_layernorm = nullptr;   // [q_lora]
  const float* kv_a_layernorm = nullptr;  // [r]
};

/// gate, up [width, in]; down [out, width].
struct MlpWeights {
  PackedLinear gate_proj, up_proj, down_proj;
};

/// LatentMoE (spec section 7).
struct MoeWeights {
  PackedLinear gate;                               // [E, d] or, over the latent, [E, lat]
  const float* e_score_correction_bias = nullptr;  // [E]
  PackedLinear routed_expert_down_proj;            // [lat, d], empty without latent
  const float* routed_expert_norm = nullptr;       // [lat] or null
  PackedLinear routed_expert_up_proj;              // [d, lat]
  std::vector<MlpWeights> experts;                 // w1 = gate, w3 = up, w2 = down
  MlpWeights shared_experts;                       // empty when there are none
  bool router_reads_latent = false;
};

struct LayerWeights {
  const float* input_layernorm = nullptr;           // [d]
  const float* post_attention_layernorm = nullptr;  // [d]
  const float* self_attention_res =
      nullptr;                     // [d], norm weight * proj weight; null without attn-res
  const float* mlp_res = nullptr;  // [d]
  std::variant<KdaWeights, MlaWeights> attention;
  std::variant<MlpWeights, MoeWeights> ffn;
};

/// Row-major in its own type: looked up, never multiplied.
struct EmbeddingTable {
  DType dtype = DType::kBf16;
  int64_t row_bytes = 0;
  const uint8_t* data = nullptr;  // [V, d]
};

struct WeightSet {
  EmbeddingTable embed_tokens;
  std::vector<LayerWeights> layers;
  const float* output_attn_res = nullptr;  // [d] or null
  const float* norm = nullptr;             // [d]
  PackedLinear lm_head;                    // [V, d]
  bool needs_f32_rows = false;             ///< some weight (F32, F16) never takes bf16 inputs
  Int8Plan int8;                           ///< which matrices take int8 inputs
  int64_t bytes = 0;                       ///< of the arena

  Buffer arena;
  struct Plan;  ///< what is still to be read
  std::shared_ptr<Plan> plan;
};

/// Lays out every weight without reading one: shapes, formats, bytes; pointers stay null. With a
/// checkpoint whose headers are there, the formats are those of its tensors; without one the
/// release's (bf16, and MXFP4 experts in the K3 layout). With `int8` the trunk (all but the router,
/// small gates and what MLA absorbs) is laid out as int8 and the experts take int8 inputs. Errors:
/// kUnsupported, kNotFound.
Result<std::unique_ptr<WeightSet>> plan_weights(const checkpoint::ModelConfig& config,
                                                const checkpoint::Checkpoint* checkpoint,
                                                bool int8 = false);

/// Reads and packs everything that plan_weights laid out. Worker w packs the w-th share of every
/// matrix, which is the share it will multiply. `progress` is called from this thread.
Status load_weights(const checkpoint::Checkpoint& checkpoint, ThreadPool& pool,
                    const std::function<void(int64_t, int64_t)>& progress, WeightSet* weights);

}  // namespace trine::model
