// Files by position with pread: no shared offset, so threads may read one file at once.
#include "platform/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/try.h"

namespace trine {
namespace {

// Linux transfers at most 2^31 - 4096 bytes in one call.
constexpr int64_t kTransferBytesMax = int64_t{1} << 30;

Status system_error(const std::string& path, const std::string& what, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  const char* reason = ::strerrordesc_np(error);  // never localised, safe in every thread
  return Status(code, path + ": " + what + ": " +
                          (reason != nullptr ? reason : "error " + std::to_string(error)));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Closes now; the errno of a failure, else 0.
  int close() {
    const int result = ::close(std::exchange(fd_, -1));
    return result == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

int open_retrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// A path with a NUL inside would silently name another file.
Status check_path(const std::string& path) {
  if (path.empty()) return Status(Code::kInvalidArgument, "a file name is empty");
  if (path.find('\0') != std::string::npos) {
    return Status(Code::kInvalidArgument, "a file name contains a NUL byte");
  }
  return Status();
}

Status write_all(int fd, const std::string& path, const std::string& content) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n =
        ::write(fd, content.data() + done,
                std::min(content.size() - done, static_cast<size_t>(kTransferBytesMax)));
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error(path, "cannot write", errno);
    }
    done += static_cast<size_t>(n);
  }
  return Status();
}

// Where a link leads, so that writing replaces the file and not the link.
std::string final_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  return resolved ? std::string(resolved.get()) : path;
}

Status write_in_place(const std::string& path, const std::string& content) {
  Descriptor fd(open_retrying(path, O_WRONLY));
  if (fd.get() < 0) return system_error(path, "cannot open for writing", errno);
  TRINE_RETURN_IF_ERROR(write_all(fd.get(), path, content));
  const int error = fd.close();
  return error == 0 ? Status() : system_error(path, "cannot finish writing", error);
}

Status fill_temporary(int fd_value, const std::string& path, const std::string& content) {
  Descriptor fd(fd_value);
  TRINE_RETURN_IF_ERROR(write_all(fd.get(), path, content));
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return system_error(path, "cannot sync", errno);
  const int error = fd.close();
  return error == 0 ? Status() : system_error(path, "cannot finish writing", error);
}

}  // namespace

Result<File> File::open(const std::string& path) {
  TRINE_RETURN_IF_ERROR(check_path(path));
  // O_NONBLOCK: opening a FIFO nobody writes to must not hang; regular files ignore it.
  Descriptor fd(open_retrying(path, O_RDONLY | O_NONBLOCK));
  if (fd.get() < 0) return system_error(path, "cannot open", errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error(path, "cannot stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return Status(Code::kIo, path + ": is " +
                                 (S_ISDIR(info.st_mode) ? "a directory" : "a device or pipe") +
                                 ", expected a regular file");
  }
  File file;
  file.fd_ = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (file.fd_ < 0) return system_error(path, "cannot open", errno);
  file.size_ = info.st_size;
  file.path_ = path;
  return file;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

Status File::read_at(int64_t offset, void* out, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > INT64_MAX - bytes) {
    return Status(Code::kInvalidArgument, path_ + ": cannot read " + std::to_string(bytes) +
                                              " bytes at offset " + std::to_string(offset));
  }
  if (fd_ < 0) return Status(Code::kInvalidArgument, "read from a file that is not open");
  auto* target = static_cast<std::byte*>(out);
  int64_t done = 0;
  while (done < bytes) {
    const int64_t wanted = std::min(bytes - done, kTransferBytesMax);
    const ssize_t n = ::pread(fd_, target + done, static_cast<size_t>(wanted), offset + done);
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error(path_, "cannot read at offset " + std::to_string(offset + done), errno);
    }
    if (n == 0) {
      return Status(Code::kCorrupt, path_ + ": ends at byte " + std::to_string(offset + done) +
                                        ", expected data up to byte " +
                                        std::to_string(offset + bytes) +
                                        "; the file is truncated, fetch it again");
    }
    done += n;
  }
  return Status();
}

void File::will_need(int64_t offset, int64_t bytes) const {
  if (fd_ >= 0) ::posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

Result<std::string> read_file(const std::string& path, int64_t bytes_max) {
  TRINE_RETURN_IF_ERROR(check_path(path));
  Descriptor fd(open_retrying(path, O_RDONLY));
  if (fd.get() < 0) return system_error(path, "cannot open", errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error(path, "cannot stat", errno);
  const auto too_large = [&](const std::string& found) {
    return Status(Code::kInvalidArgument, path + ": has " + found + " bytes, expected at most " +
                                              std::to_string(bytes_max));
  };
  if (S_ISREG(info.st_mode) && info.st_size > bytes_max) {
    return too_large(std::to_string(info.st_size));
  }
  // Read to the end rather than to st_size: files of /proc and pipes say 0.
  std::string content;
  size_t step = S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : 4096;
  step = std::clamp<size_t>(step, 4096, static_cast<size_t>(kTransferBytesMax));
  for (;;) {
    const size_t done = content.size();
    content.resize(done + step);
    const ssize_t n = ::read(fd.get(), content.data() + done, step);
    const int error = errno;
    content.resize(done + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n < 0 && error != EINTR) return system_error(path, "cannot read", error);
    if (n == 0) return content;
    if (static_cast<int64_t>(content.size()) > bytes_max) return too_large("more");
    step = std::clamp<size_t>(content.size(), 4096, size_t{1} << 24);
  }
}

Status write_file(const std::string& path, const std::string& content) {
  TRINE_RETURN_IF_ERROR(check_path(path));
  const std::string target = final_path(path);
  struct stat info {};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return system_error(path, "cannot write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) return write_in_place(target, content);  // /dev/stdout
  std::string temporary;
  int fd = -1;
  for (int attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    temporary = target + ".partial." + std::to_string(::getpid()) + "." + std::to_string(attempt);
    fd = open_retrying(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 && errno != EEXIST) return system_error(path, "cannot create", errno);
  }
  if (fd < 0) return system_error(path, "cannot create", EEXIST);
  if (exists && ::fchmod(fd, info.st_mode & 07777) != 0) {
    // The mode of the replaced file is a courtesy; some file systems have none to set.
  }
  Status status = fill_temporary(fd, target, content);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = system_error(path, "cannot rename " + temporary, errno);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace trine
