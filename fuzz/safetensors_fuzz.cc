// A safetensors header from anywhere: either it is refused by name, or its tensors cover the data
// exactly once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors.h"

using trine::checkpoint::Findings;
using trine::checkpoint::TensorInfo;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

// The first two bytes are the size of the data that follow the header.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const int64_t data_bytes = data[0] | (data[1] << 8);
  const std::string_view header(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::vector<TensorInfo> tensors;
  Findings findings;
  trine::checkpoint::parse_shard_header(header, data_bytes, "file", 0, &tensors, &findings);
  require(findings.size() <= static_cast<size_t>(trine::checkpoint::kFindingsMax) + 1);
  require(tensors.size() <= size);  // memory is bounded by the text
  for (const auto& finding : findings)
    require(!finding.kind.empty() && !finding.to_string().empty());
  if (!findings.empty()) return 0;
  const int64_t begin = 8 + static_cast<int64_t>(header.size());
  int64_t sum = 0;
  for (const TensorInfo& tensor : tensors) {
    require(tensor.offset >= begin && tensor.bytes >= 0);
    require(tensor.offset + tensor.bytes <= begin + data_bytes);
    require(tensor.elements() * trine::dtype_bytes(tensor.dtype) == tensor.bytes);
    sum += tensor.bytes;
  }
  require(sum == data_bytes);
  return 0;
}
