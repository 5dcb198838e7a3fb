// Every coding as floats, one weight at a time: the specification of all packed layouts (spec
// section 8, compressed-tensors, OCP Microscaling). Not fast, not meant to be.
#pragma once

#include <functional>

#include "checkpoint/checkpoint.h"

namespace trine::checkpoint {

using ReadBytes =
    std::function<Status(const TensorInfo&, int64_t offset, void* out, int64_t bytes)>;

/// Elements [begin, begin + count) of a float tensor.
Status read_as_floats(const TensorInfo& tensor, int64_t begin, int64_t count, const ReadBytes& read,
                      float* out);
/// One stored element (F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0).
float element_to_float(DType dtype, const unsigned char* bytes);

Status dequantise(const Linear& linear, int64_t row_begin, int64_t row_end, const ReadBytes& read,
                  float* out);

}  // namespace trine::checkpoint
