// A snapshot file from anywhere: refused, or exactly as long as its numbers say and read into
// buffers of exactly the model's sizes. Checksums keep random bytes out of the reader, so each
// input is tried a second time with its checksums made right.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "platform/sha256.h"
#include "serving/snapshot_file.h"

namespace {

using trine::serving::SnapshotReader;
using trine::serving::SnapshotShape;

constexpr size_t kDigestAt = 128, kHeaderBytes = 192, kDigestBytes = 64;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string sha256(const std::string& bytes) {
  trine::Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string with_right_checksums(std::string file, const SnapshotShape& shape) {
  if (file.size() < kHeaderBytes + kDigestBytes) return file;
  file.replace(64, kDigestBytes, sha256(shape.model_hash));
  uint64_t position = 0;
  std::memcpy(&position, file.data() + 16, sizeof position);
  if (position > (file.size() - kHeaderBytes - kDigestBytes) / sizeof(int32_t)) return file;
  file.replace(kDigestAt, kDigestBytes,
               sha256(file.substr(0, kDigestAt) + file.substr(kHeaderBytes, position * 4)));
  const size_t end = file.size() - kDigestBytes;
  return file.replace(end, kDigestBytes, sha256(file.substr(0, end)));
}

// True when the whole file was accepted.
bool try_file(const std::string& bytes, const SnapshotShape& shape) {
  const int fd = ::memfd_create("snapshot", MFD_CLOEXEC);
  require(fd >= 0);
  require(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto reader = SnapshotReader::open("/proc/self/fd/" + std::to_string(fd), shape);
  ::close(fd);
  if (!reader.ok()) {
    require(!reader.status().message().empty());
    return false;
  }
  const int64_t position = reader->position();
  require(position > 0 && position == std::ssize(reader->tokens()));
  require(shape.file_bytes(position) == std::ssize(bytes));
  std::vector<std::byte> state(static_cast<size_t>(shape.state_bytes));
  std::vector<std::vector<std::byte>> blocks(static_cast<size_t>(shape.blocks_of(position)));
  int64_t next = 0;
  const trine::Status status = reader->read(state, [&](int64_t index) {
    require(index == next++ && index < std::ssize(blocks));
    auto& block = blocks[static_cast<size_t>(index)];
    block.resize(static_cast<size_t>(shape.block_bytes));
    return block.data();
  });
  require(!status.ok() || next == std::ssize(blocks));
  return status.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const SnapshotShape shape{.model_hash = "fuzz",
                                   .state_bytes = 16,
                                   .block_tokens = 4,
                                   .block_bytes = 24,
                                   .block_planes = 2};
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const bool accepted = try_file(bytes, shape);
  const std::string right = with_right_checksums(bytes, shape);
  require(try_file(right, shape) || !accepted);
  require(!accepted || right == bytes);
  return 0;
}
