// Streaming safetensors output.
#include "toolkit/safetensors_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/json.h"
#include "base/try.h"

namespace trine::toolkit {
namespace {

Status io_error(const std::string& path, const char* what) {
  return Status(Code::kIo, path + ": cannot " + what + ": " + std::strerror(errno) +
                               "; check the folder, its rights and the space left");
}

Status write_all(int fd, const std::string& path, int64_t offset, const void* data, int64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd, from, static_cast<size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error(path, "write");
    from += n;
    offset += n;
    bytes -= n;
  }
  return Status();
}

std::string header_text(const std::vector<TensorSpec>& tensors,
                        const SafetensorsWriter::Metadata& metadata) {
  json::Value root = json::Value::object();
  if (!metadata.empty()) {
    json::Value meta = json::Value::object();
    for (const auto& [key, value] : metadata) meta.set(key, value);
    root.set("__metadata__", std::move(meta));
  }
  int64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    json::Value shape = json::Value::array();
    for (const int64_t n : tensor.shape) shape.push(n);
    json::Value range = json::Value::array();
    range.push(offset);
    offset += tensor.bytes();
    range.push(offset);
    json::Value entry = json::Value::object();
    entry.set("dtype", dtype_name(tensor.dtype));
    entry.set("shape", std::move(shape));
    entry.set("data_offsets", std::move(range));
    root.set(tensor.name, std::move(entry));
  }
  std::string text = json::dump(root);
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// Unique, so that two writers of one file do not write into each other's.
std::string partial_name(const std::string& path) {
  static std::atomic<int64_t> count{0};
  return path + "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".partial";
}

}  // namespace

int64_t TensorSpec::bytes() const {
  int64_t count = dtype_bytes(dtype);
  for (const int64_t n : shape) count *= n;
  return count;
}

Result<std::string> SafetensorsWriter::target_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kLinksMax = 40;  // as the kernel has it
  fs::path target = path;
  std::error_code error;
  // By hand: a link whose target does not exist yet is followed as well.
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    const fs::path link = fs::read_symlink(target, error);
    if (error || links == kLinksMax) {
      return Status(Code::kIo, path + ": cannot follow the symbolic link; name the file itself");
    }
    target = target.parent_path() / link;
  }
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const char* what = S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket";
    return Status(Code::kInvalidArgument,
                  path + ": is " + what + ", expected a regular file or a new name");
  }
  return target.string();
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path,
                                                    std::vector<TensorSpec> tensors,
                                                    const Metadata& metadata) {
  TRINE_ASSIGN_OR_RETURN(const std::string target, target_of(path));
  const std::string partial = partial_name(target);
  const int fd = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return io_error(partial, "create");
  SafetensorsWriter writer(target, partial, fd);

  const std::string header = header_text(tensors, metadata);
  char length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  TRINE_RETURN_IF_ERROR(write_all(fd, partial, 0, length, 8));
  const auto header_bytes = static_cast<int64_t>(header.size());
  TRINE_RETURN_IF_ERROR(write_all(fd, partial, 8, header.data(), header_bytes));

  int64_t offset = 8 + header_bytes;
  for (const TensorSpec& tensor : tensors) {
    writer.offsets_.push_back(offset);
    offset += tensor.bytes();
  }
  writer.written_.assign(tensors.size(), 0);
  writer.tensors_ = std::move(tensors);
  // Reserve the room now: a full disk is better met before hours of computing than after.
  if (const int error = ::posix_fallocate(fd, 0, offset); error != 0 && error != EOPNOTSUPP) {
    errno = error;
    return io_error(partial, "reserve the space");
  }
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      fd_(std::exchange(other.fd_, -1)),
      tensors_(std::move(other.tensors_)),
      offsets_(std::move(other.offsets_)),
      written_(std::move(other.written_)) {}

Status SafetensorsWriter::write(int64_t index, int64_t byte_offset, const void* data,
                                int64_t bytes) {
  if (index < 0 || index >= static_cast<int64_t>(tensors_.size())) {
    return Status(Code::kInternal, path_ + ": no tensor number " + std::to_string(index));
  }
  const auto i = static_cast<size_t>(index);
  const int64_t size = tensors_[i].bytes();
  if (byte_offset < 0 || bytes < 0 || byte_offset > size - bytes) {
    return Status(Code::kInternal, path_ + ": " + tensors_[i].name + ": write of " +
                                       std::to_string(bytes) + " bytes at " +
                                       std::to_string(byte_offset) + " leaves its " +
                                       std::to_string(size) + " bytes");
  }
  written_[i] += bytes;
  return write_all(fd_, partial_, offsets_[i] + byte_offset, data, bytes);
}

Status SafetensorsWriter::finish() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (written_[i] == tensors_[i].bytes()) continue;
    return Status(Code::kInternal, path_ + ": " + tensors_[i].name + ": " +
                                       std::to_string(written_[i]) + " bytes written, expected " +
                                       std::to_string(tensors_[i].bytes()));
  }
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 || ::rename(partial_.c_str(), path_.c_str()) != 0) {
    Status status = io_error(path_, "finish");
    ::unlink(partial_.c_str());
    return status;
  }
  return Status();
}

}  // namespace trine::toolkit
