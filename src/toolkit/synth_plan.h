// The tensors of a synthetic checkpoint and their shards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "checkpoint/expected.h"
#include "toolkit/synth_fill.h"
#include "toolkit/synth_shape.h"
#include "trine/status.h"

namespace trine {

/// Says how a quantisable parameter is stored.
using FormatOf = std::function<LinearFormat(const checkpoint::ExpectedTensor&)>;

/// What the config implies, layer by layer. kInvalidArgument when sizes do not divide into the
/// format's groups.
Result<std::vector<SynthTensor>> plan_from_config(const checkpoint::ModelConfig& config,
                                                  const FormatOf& format_of);

/// The tensors of one linear module [out, in].
Result<std::vector<SynthTensor>> plan_linear(const std::string& module, int64_t out, int64_t in,
                                             const LinearFormat& format);

/// The very tensors of a checkpoint (its shard headers are there): same names, types and shapes.
Result<std::vector<SynthTensor>> plan_from_checkpoint(const checkpoint::Checkpoint& source);

/// Consecutive layers share a shard up to limit_bytes; inside a shard wide types come first, then
/// names in order, as in the releases.
std::vector<std::vector<SynthTensor>> pack_shards(std::vector<SynthTensor> tensors,
                                                  int64_t limit_bytes);

}  // namespace trine
