// A writer of safetensors files for tests; shares no code with the reader.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace trine::testing {

struct RawTensor {
  std::string dtype;  ///< as spelled in the header
  std::vector<int64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

/// One safetensors file; tensors lie in the order of their names.
std::string safetensors_file(const RawTensors& tensors);
/// u64 length, `header` as it is, then `data`.
std::string safetensors_raw(const std::string& header, const std::string& data);
RawTensor float_tensor(DType dtype, std::vector<int64_t> shape, const std::vector<float>& values);

/// The value that remains after storing it.
float stored(DType dtype, float value);
template <typename T>
void append_bytes(std::string* out, T value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  out->append(bytes, sizeof value);
}

}  // namespace trine::testing
