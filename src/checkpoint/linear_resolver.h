// From the tensors of one linear module to its coding (spec section 8 and compressed-tensors).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/quant_config.h"
#include "checkpoint/tensor_table.h"

namespace trine::checkpoint {

/// Tensors of a module beside its weight; null when absent.
struct LinearParts {
  const TensorInfo* weight = nullptr;
  const TensorInfo* packed = nullptr;
  const TensorInfo* scale = nullptr;
  const TensorInfo* scale_inv = nullptr;
  const TensorInfo* global_scale = nullptr;
  const TensorInfo* shape = nullptr;
  const TensorInfo* zero_point = nullptr;
  const TensorInfo* g_idx = nullptr;

  bool none() const { return weight == nullptr && packed == nullptr && scale == nullptr; }
  /// Those that are there.
  std::vector<const TensorInfo*> all() const;
};
LinearParts find_linear_parts(const TensorTable& table, const std::string& module);

class LinearResolver {
 public:
  /// `read` gives the bytes of a small tensor (weight_shape).
  using Read = std::function<Status(const TensorInfo&, void* out, int64_t bytes)>;
  LinearResolver(const QuantConfig* quant, const std::vector<std::string>* files, Read read)
      : quant_(quant), files_(files), read_(std::move(read)) {}

  /// What the config says about a module's size; 0 = not known (then weight_shape is read).
  struct Size {
    int64_t out = 0;
    int64_t in = 0;
  };
  /// Fills `linear` and says true, or appends what is wrong. The parts must not be none().
  bool resolve(const std::string& module, const LinearParts& parts, Size size, Linear* linear,
               Findings* findings) const;
  const QuantConfig& quant() const { return *quant_; }
  /// Size written in weight_shape.
  Status read_weight_shape(const TensorInfo& tensor, Size* size) const;

 private:
  class Attempt;
  const QuantConfig* quant_;
  const std::vector<std::string>* files_;
  Read read_;
};

bool is_plain_float(DType dtype);

}  // namespace trine::checkpoint
