// Writes one safetensors file whose tensors are known before their data: header first, then any
// part of any tensor by position, so that nothing large is held in memory. The file appears under
// its name only when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/dtype.h"
#include "trine/status.h"

namespace trine::toolkit {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t bytes() const;
};

class SafetensorsWriter {
 public:
  using Metadata = std::vector<std::pair<std::string, std::string>>;

  /// The file that writing to `path` creates or replaces: symbolic links are followed. Refused when
  /// it is a folder, a device or a pipe: tensors are written by position, in any order.
  static Result<std::string> target_of(const std::string& path);
  /// Lays the tensors out in the given order and writes the header (blank-padded to 8 bytes).
  static Result<SafetensorsWriter> create(const std::string& path, std::vector<TensorSpec> tensors,
                                          const Metadata& metadata);
  /// Removes the unfinished file.
  ~SafetensorsWriter();
  SafetensorsWriter(SafetensorsWriter&& other) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  SafetensorsWriter(const SafetensorsWriter&) = delete;

  /// Writes `bytes` at `byte_offset` of tensor number `index`; not beyond its end.
  Status write(int64_t index, int64_t byte_offset, const void* data, int64_t bytes);
  /// Gives the file its name. kInternal if some tensor was not written in full.
  Status finish();

 private:
  SafetensorsWriter(std::string path, std::string partial, int fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(fd) {}

  std::string path_;
  std::string partial_;  ///< its name until it is complete
  int fd_ = -1;
  std::vector<TensorSpec> tensors_;
  std::vector<int64_t> offsets_;  ///< of the first byte in the file
  std::vector<int64_t> written_;  ///< bytes per tensor
};

}  // namespace trine::toolkit
