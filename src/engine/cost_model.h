// What one forward pass must read and compute at least: closed forms over the config and the packed
// formats. `bench` divides by measured bandwidth and peaks to get the roof; `inspect` prints bytes
// per token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "model/weights.h"

namespace trine::engine {

/// Which peak bounds an operation.
enum class Unit {
  kF32,   ///< fp32 multiply-adds on vectors
  kBf16,  ///< 16-bit matrix unit, where the table has one and the weight's format allows it
  kInt8,  ///< integer dot products of matrices that take int8 inputs
};

/// One kind of work of a pass. roof seconds = max(bytes / bandwidth, operations / peak(unit)).
struct Cost {
  std::string
      kind;  ///< "trunk linears", "experts", "router", "lm_head", "kda state", "mla latents", ...
  Unit unit = Unit::kF32;
  double bytes = 0;       ///< read from memory (state: read, plus written once per chunk of 16)
  double operations = 0;  ///< 2 per multiply-add
};

/// `rows` new tokens for each of `sequences` sequences that have seen `depth` tokens.
struct PassShape {
  int64_t sequences = 1;
  int64_t rows = 1;
  int64_t depth = 0;
  int64_t logit_rows = 1;  ///< rows of lm_head, all sequences together
};

struct PassCost {
  std::vector<Cost> costs;
  double bytes() const;
  double operations() const;
};

/// Distinct experts that `rows` tokens meet when each picks `picked` of `experts` at random.
double expected_experts(int64_t experts, int64_t picked, int64_t rows);

/// One pass. `bf16_inputs`: matmuls run on the 16-bit unit (fast precision on a level that has
/// one).
PassCost pass_cost(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                   const PassShape& shape, bool bf16_inputs);

/// A prompt of `tokens` at `depth`, in passes of `chunk` rows, logits of the last row only.
PassCost prefill_cost(const checkpoint::ModelConfig& config, const model::WeightSet& weights,
                      int64_t tokens, int64_t depth, int64_t chunk, bool bf16_inputs);

}  // namespace trine::engine
