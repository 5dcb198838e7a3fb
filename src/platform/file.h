// Files read by position, and small files read or replaced whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trine/status.h"

namespace trine {

/// A file open for reading; read_at may be called from several threads at once.
class File {
 public:
  File() = default;
  static Result<File> open(const std::string& path);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  /// Reads exactly `bytes` at `offset`; kCorrupt ("ends at ...") when the file is shorter.
  Status read_at(int64_t offset, void* out, int64_t bytes) const;
  /// Asks the kernel to read ahead this range.
  void will_need(int64_t offset, int64_t bytes) const;

 private:
  int fd_ = -1;
  int64_t size_ = 0;
  std::string path_;
};

/// The whole file, refused above bytes_max.
Result<std::string> read_file(const std::string& path, int64_t bytes_max);
/// Writes through a temporary name and renames, so that a reader never sees half a file.
Status write_file(const std::string& path, const std::string& content);

}  // namespace trine
