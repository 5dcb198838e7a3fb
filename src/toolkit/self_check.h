// Small checks that run on the spot: kernels of the level in use against plain double arithmetic,
// and a tiny twin of a model alone against the same twin in a batch. `inspect` backs its table with
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "kernels/args.h"
#include "kernels/table.h"
#include "platform/cpu.h"

namespace trine {

struct SelfCheck {
  bool passed = false;
  double error = 0;  ///< largest difference over the largest value of the specification
  double tolerance = 0;
  std::string level;   ///< ISA level whose kernel ran ("avx2" when a higher one inherits it)
  std::string detail;  ///< what was compared, or why it failed
};

/// One operator on seeded data.
struct OperatorCheck {
  SelfCheck specification;  ///< the level's kernel against double arithmetic
  SelfCheck twin;           ///< the level's kernel against the scalar one
};

OperatorCheck check_kda(const checkpoint::ModelConfig& config, Isa isa);
OperatorCheck check_mla(const checkpoint::ModelConfig& config, Isa isa);
OperatorCheck check_attn_res(const checkpoint::ModelConfig& config, Isa isa);
OperatorCheck check_router(const checkpoint::ModelConfig& config, Isa isa);
OperatorCheck check_activation(const checkpoint::ModelConfig& config, Isa isa);

/// How a matrix is packed for the kernels.
struct PackedFormat {
  kernels::WeightFormat format = kernels::WeightFormat::kBf16;
  kernels::ScaleKind scale = kernels::ScaleKind::kNone;
  int64_t group = 0;         ///< inputs per scale; 0 = one scale per output, or none
  bool int8_inputs = false;  ///< multiplied with rows rounded to int8
  bool operator<(const PackedFormat& other) const;
};
/// "MXFP4", "BF16", "INT4 per 128", "MXFP4 with int8 inputs".
std::string format_label(const PackedFormat& format);

struct FormatCheck {
  SelfCheck specification;  ///< matmul against unpack_weight in double
  SelfCheck twin;           ///< against the scalar matmul
  SelfCheck rows;           ///< one row and many rows: the same bits
  std::string kernel;       ///< name of the matmul that fast precision uses
};
FormatCheck check_format(const PackedFormat& format, Isa isa);

/// A tiny model with the mechanisms of `config` and experts in `expert_format`: decoded alone, in a
/// batch, and prefilled in other chunks; the logits must be the same bits.
SelfCheck check_batching(const checkpoint::ModelConfig& config, const std::string& expert_format,
                         Isa isa, bool int8_inputs);

}  // namespace trine
