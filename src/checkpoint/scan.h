// Reads all scales, norms and other small tensors and names the numbers that cannot be right.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/dequantise.h"
#include "checkpoint/linear_resolver.h"
#include "checkpoint/tensor_table.h"

namespace trine::checkpoint {

/// What weight_shape has to say, by config.json.
struct ShapeClaim {
  const TensorInfo* tensor = nullptr;
  LinearResolver::Size size;
};

struct ScanInput {
  const TensorTable& table;
  const LinearResolver& resolver;
  const std::vector<Checkpoint::FileInfo>& files;
  const std::vector<ShapeClaim>& claims;
  const ReadBytes& read;
};

/// NaN and infinite scales (E8M0 code 255, F8 NaN codes), a zero global scale, non-finite numbers
/// in tensors that are no matrices, weight_shape that differs from the config, group numbers out of
/// range. A scale of 0 is allowed (a group of zeros), so is a negative one (some quantisers write
/// them, and its meaning is clear). Matrices are not read: that would be the whole checkpoint.
void scan_values(const ScanInput& input, Findings* findings);

}  // namespace trine::checkpoint
