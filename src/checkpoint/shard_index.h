// model.safetensors.index.json: which file holds which tensor. Read as a stream, believed in
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/finding.h"

namespace trine::checkpoint {

struct ShardIndex {
  struct Entry {
    std::string tensor;
    int32_t file = 0;  ///< index into files
  };
  bool usable = false;  ///< JSON with a weight_map; names that may not be opened are left out
  std::vector<Entry> entries;      ///< sorted by tensor
  std::vector<std::string> files;  ///< in order of first mention
  std::optional<int64_t> total_size;

  const Entry* find(std::string_view tensor) const;
};

/// `file` is the index's own name, for findings.
ShardIndex parse_index(std::string_view text, const std::string& file, Findings* findings);

/// A plain file name that stays inside its folder: no separators, not "." or "..", not hidden, no
/// control characters.
bool is_plain_file_name(std::string_view name);

}  // namespace trine::checkpoint
