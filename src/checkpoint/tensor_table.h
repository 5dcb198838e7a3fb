// All tensors of a checkpoint, sorted by name, found by name in constant time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace trine::checkpoint {

class TensorTable {
 public:
  TensorTable() = default;
  /// Sorts; of tensors with one name the first in file order is the one found.
  explicit TensorTable(std::vector<TensorInfo> tensors);

  const TensorInfo* find(std::string_view name) const;
  const std::vector<TensorInfo>& all() const { return tensors_; }
  int64_t index_of(const TensorInfo* tensor) const { return tensor - tensors_.data(); }

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<int32_t> slots_;  ///< open addressing, power of two, at most half full; -1 = free
};

}  // namespace trine::checkpoint
