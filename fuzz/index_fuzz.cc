// An index from anywhere: never a name outside the folder, entries sorted and inside the list of
// files.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checkpoint/shard_index.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  trine::checkpoint::Findings findings;
  const trine::checkpoint::ShardIndex index =
      trine::checkpoint::parse_index(text, "index.json", &findings);
  require(index.usable || !findings.empty());
  require(index.entries.size() <= size && index.files.size() <= size);
  for (const std::string& file : index.files) {
    require(file.find('/') == std::string::npos && file != ".." && file != ".");
    require(file.find('\0') == std::string::npos && file.ends_with(".safetensors"));
  }
  for (size_t i = 0; i < index.entries.size(); ++i) {
    const auto& entry = index.entries[i];
    require(entry.file >= 0 && static_cast<size_t>(entry.file) < index.files.size());
    require(i == 0 || index.entries[i - 1].tensor <= entry.tensor);
    require(index.find(entry.tensor) != nullptr);
  }
  return 0;
}
