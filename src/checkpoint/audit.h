// The audit both ways: every parameter that the config implies is filled exactly once, every tensor
// of the files is used or named.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/linear_resolver.h"
#include "checkpoint/scan.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/tensor_table.h"

namespace trine::checkpoint {

/// What was already reported and must not be reported again as missing.
struct KnownLosses {
  std::set<std::string, std::less<>> refused;  ///< tensors
  std::set<std::string, std::less<>> unread;   ///< files whose header is not, or not wholly, known
  bool any() const { return !refused.empty() || !unread.empty(); }
};

struct AuditInput {
  const ModelConfig& config;
  const TensorTable& table;
  const LinearResolver& resolver;
  const ShardIndex& index;                ///< not usable = absent
  const std::vector<std::string>& files;  ///< names of the shards that were read
  const std::string& index_name;
  const KnownLosses& losses;
};

/// Appends to `claims` what each weight_shape has to say.
void audit_tensors(const AuditInput& input, std::vector<ShapeClaim>* claims, Findings* findings);
/// The names alone, before any weight is downloaded.
void audit_index_names(const ModelConfig& config, const QuantConfig& quant, const ShardIndex& index,
                       const std::string& index_name, Findings* findings);

}  // namespace trine::checkpoint
