#include "serving/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/try.h"

namespace trine::serving {
namespace {

constexpr int64_t kTransferBytesMax = int64_t{1} << 30;

Status system_error(const std::string& path, const std::string& what, int error) {
  const char* reason = ::strerrordesc_np(error);
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  return Status(code, path + ": " + what + ": " +
                          (reason != nullptr ? reason : "error " + std::to_string(error)));
}

// Renames without replacing. File systems that lack the flag get a check before instead: whoever
// else writes there writes under names of their own.
int rename_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat info {};
  if (::lstat(to.c_str(), &info) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// So that the new name survives a power cut; not every file system can, and none must.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Result<PartialFile> PartialFile::create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Status(Code::kInvalidArgument, "a file name is empty or contains a NUL byte");
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string partial =
        path + "." + std::to_string(::getpid()) + "." + std::to_string(attempt) + kSuffix;
    const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) return PartialFile(path, std::move(partial), fd);
    if (errno != EEXIST && errno != EINTR) return system_error(path, "cannot create", errno);
  }
  return system_error(path, "cannot create", EEXIST);
}

PartialFile::~PartialFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      fd_(std::exchange(other.fd_, -1)) {}

Status PartialFile::write(const void* data, int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, from, static_cast<size_t>(std::min(bytes, kTransferBytesMax)));
    if (n < 0 && errno != EINTR) return system_error(path_, "cannot write", errno);
    if (n <= 0) continue;
    from += n;
    bytes -= n;
  }
  return {};
}

Status PartialFile::commit(Existing existing) {
  if (::fsync(fd_) != 0 && errno != EINVAL) return system_error(path_, "cannot sync", errno);
  int error = 0;
  if (existing == Existing::kKeep) {
    error = rename_new(partial_, path_);
  } else if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) return system_error(path_, "cannot be the name of what was written", error);
  ::close(std::exchange(fd_, -1));
  sync_folder_of(path_);
  return {};
}

}  // namespace trine::serving
