// Reads all scales, norms and other small tensors and names the numbers that cannot be right.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/dequantise.h"
#include "checkpoint/linear_resolver.h"
#include "checkpoint/tensor_table.h"

namespace trine::checkpoint {

/// NaN and infinite scales (E8M0 code 255, F8 NaN codes), a zero global scale, non-finite numbers
/// in tensors that are no matrices, weight_shape that differs from the codes, group numbers out of
/// range. A scale of 0 is allowed (a group of zeros), so is a negative one (some quantisers write
/// them, and its meaning is clear). Matrices are not read: that would be the whole checkpoint.
void scan_values(const TensorTable& table, const LinearResolver& resolver,
                 const std::vector<std::string>& files, const ReadBytes& read, Findings* findings);

}  // namespace trine::checkpoint
