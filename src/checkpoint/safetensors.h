// One safetensors file: its header, checked against the file's size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "platform/file.h"

namespace trine::checkpoint {

/// The header limit of the format's reference implementation.
constexpr int64_t kHeaderBytesMax = 100'000'000;

/// What of a header could not be taken, so that it is not reported again as missing.
struct HeaderLosses {
  std::vector<std::string> refused;  ///< tensors whose entries were refused, each with a finding
  bool unread = false;               ///< the file may hold tensors whose names were never seen
};

/// Reads the header of `file` and appends its tensors with absolute offsets to `tensors`.
/// Everything wrong becomes a finding under the name `label`; tensors whose entry can be understood
/// are appended even then, so that one mistake does not show up as thousands of missing tensors.
void read_shard_header(const File& file, const std::string& label, int32_t file_index,
                       std::vector<TensorInfo>* tensors, Findings* findings,
                       HeaderLosses* losses = nullptr);

/// The same from memory: `header` is the JSON text, `data_bytes` what follows it in the file.
void parse_shard_header(std::string_view header, int64_t data_bytes, const std::string& label,
                        int32_t file_index, std::vector<TensorInfo>* tensors, Findings* findings,
                        HeaderLosses* losses = nullptr);

}  // namespace trine::checkpoint
