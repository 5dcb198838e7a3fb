// The audit both ways: every parameter that the config implies is filled exactly once, every tensor
// of the files is used or named.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/linear_resolver.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/tensor_table.h"

namespace trine::checkpoint {

struct AuditInput {
  const ModelConfig& config;
  const TensorTable& table;
  const LinearResolver& resolver;
  const ShardIndex& index;                ///< not usable = absent
  const std::vector<std::string>& files;  ///< names of the shards that were read
  const std::string& index_name;
};

void audit_tensors(const AuditInput& input, Findings* findings);

}  // namespace trine::checkpoint
