// The parameters that a config implies (spec sections 1, 8 and 11): one list, used by the audit to
// find what is missing or too much, and by `synth` to write checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "tensor/dtype.h"

namespace trine::checkpoint {

enum class Role {
  kEmbedding,   ///< [vocab, hidden]
  kLmHead,      ///< [vocab, hidden]; absent when the embeddings are tied
  kLinear,      ///< [out, in]
  kExpert,      ///< [out, in] of a routed expert: what releases quantise
  kRouter,      ///< [experts, hidden], or [experts, latent]: told by the shape
  kRouterBias,  ///< e_score_correction_bias [experts]
  kNorm,        ///< [n], near 1
  kResProj,     ///< [1, hidden] of attention residuals
  kConv,        ///< [channels, 1, taps] or [channels, taps]
  kALog,        ///< [H], [128*ceil(H/128)] or [1,1,H,1]
  kDtBias,      ///< [channels]
  kVision,      ///< any shape; plain dtypes only
};

struct ExpectedTensor {
  std::string name;                    ///< full name, ".weight" included
  std::vector<int64_t> shape;          ///< as the release stores it
  DType default_dtype = DType::kBf16;  ///< as the release stores it (experts: when not quantised)
  Role role = Role::kLinear;

  /// Stored as .weight or as the tensors of any coding (weight_packed, weight_scale ...).
  bool quantisable() const;
  int64_t elements() const;
};

/// Calls visit(tensor) for each parameter in the order of layers; `config` must be free of errors.
void for_each_expected(const ModelConfig& config,
                       const std::function<void(const ExpectedTensor&)>& visit);
std::vector<ExpectedTensor> expected_parameters(const ModelConfig& config);

/// True when a tensor of this shape can be read as `expected`.
bool shape_accepted(const ModelConfig& config, const ExpectedTensor& expected,
                    const std::vector<int64_t>& shape);

/// "[12288, 1, 4]"
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace trine::checkpoint
