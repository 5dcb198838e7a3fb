// sha256 of files, and what a hub cache says they should be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trine/status.h"

namespace trine {

struct FileChecksum {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;    ///< hex
  std::string expected;  ///< name of the blob the file links to, when that is a sha256; else empty
  bool matches() const { return expected.empty() || expected == sha256; }
};

Result<std::string> sha256_file(const std::string& path);

/// All regular files of a folder (links followed), sorted by name.
Result<std::vector<FileChecksum>> checksum_folder(const std::string& folder);

}  // namespace trine
