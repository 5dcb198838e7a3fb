// A file that is written beside its final name and appears under it whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "trine/status.h"

namespace trine::serving {

class PartialFile {
 public:
  static constexpr const char* kSuffix = ".partial";
  enum class Existing { kKeep, kReplace };

  /// Creates `path`.PID.N.partial, for this user alone (0600).
  static Result<PartialFile> create(const std::string& path);
  /// Removes the partial file unless it was committed.
  ~PartialFile();
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  Status write(const void* data, int64_t bytes);
  /// Syncs file and folder, and renames. With kKeep a file of that name stays as it is, and the
  /// commit fails (kIo).
  Status commit(Existing existing);

 private:
  PartialFile(std::string path, std::string partial, int fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(fd) {}

  std::string path_, partial_;
  int fd_ = -1;
};

}  // namespace trine::serving
