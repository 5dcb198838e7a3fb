// Parameters of a model by group and format: in all, and active for one token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "trine/status.h"

namespace trine {

struct ParameterGroup {
  std::string part;    ///< "attention", "residual", "ffn", "ends", "vision"
  std::string group;   ///< "KDA", "routed experts", ...
  std::string format;  ///< "BF16", "MXFP4", ...; "absent" when the tensors are missing
  int64_t parameters = 0;
  int64_t active =
      0;  ///< read for one token: all of a matrix, one row of the embedding, k of E experts
  int64_t bytes = 0;  ///< as stored, scales included
};

struct ParameterCount {
  std::vector<ParameterGroup> groups;  ///< in the order of the model
  int64_t parameters = 0;
  int64_t active = 0;
  int64_t bytes = 0;

  json::Value to_json() const;
};

/// With weights, what is stored; without, what index and config declare. Errors: a
/// quantization_config that cannot be read (weights absent).
Result<ParameterCount> count_parameters(const checkpoint::Checkpoint& checkpoint);

}  // namespace trine
