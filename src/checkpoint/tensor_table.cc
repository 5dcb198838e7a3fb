#include "checkpoint/tensor_table.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace trine::checkpoint {

TensorTable::TensorTable(std::vector<TensorInfo> tensors) : tensors_(std::move(tensors)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.name, a.file, a.offset) < std::tie(b.name, b.file, b.offset);
  });
  size_t size = 16;
  while (size < 2 * tensors_.size()) size *= 2;
  slots_.assign(size, -1);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (i > 0 && tensors_[i].name == tensors_[i - 1].name) continue;
    size_t slot = std::hash<std::string_view>()(tensors_[i].name) & (size - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<int32_t>(i);
  }
}

const TensorInfo* TensorTable::find(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>()(name) & mask;
  for (; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const TensorInfo& tensor = tensors_[static_cast<size_t>(slots_[slot])];
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace trine::checkpoint
