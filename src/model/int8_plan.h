// The opt-in int8 path: what buffers and kernels have to know about the weights that take it.
#pragma once

#include <cstdint>

namespace trine::model {

/// k per scale of int8 inputs and of the weights they meet.
constexpr int64_t kInt8Group = 128;

struct Int8Plan {
  int64_t group = 0;  ///< k per scale; 0: no matrix takes int8 inputs
  bool whole = true;  ///< every matrix that was asked to take them does
  int64_t fp4_k = 0;  ///< padded k of the widest MXFP4 matrix among them
};

}  // namespace trine::model
