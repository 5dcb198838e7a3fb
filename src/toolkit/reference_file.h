// Reading what another run or engine wrote (safetensors), a range of values at a time, as floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "platform/file.h"
#include "trine/status.h"

namespace trine::toolkit {

class ReferenceFile {
 public:
  static Result<ReferenceFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// Null when there is no such tensor.
  const checkpoint::TensorInfo* find(const std::string& name) const;
  /// The tensor; kCorrupt unless it has this shape, kInvalidArgument when it is absent.
  Result<const checkpoint::TensorInfo*> require(const std::string& name,
                                                const std::vector<int64_t>& shape) const;
  /// Elements [first, first + count) as floats, from any float or integer type.
  Result<std::vector<float>> read(const checkpoint::TensorInfo& tensor, int64_t first,
                                  int64_t count) const;
  /// "ids" of the metadata; kInvalidArgument when the file carries none.
  Result<std::vector<int32_t>> ids() const;

 private:
  ReferenceFile() = default;

  File file_;
  std::vector<checkpoint::TensorInfo> tensors_;
  std::string ids_text_;
};

}  // namespace trine::toolkit
