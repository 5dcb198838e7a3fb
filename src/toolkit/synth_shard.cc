// A shard is cut into chunks of about 1 MiB; workers fill and write batches of them side by side.
#include "toolkit/synth_shard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "base/try.h"

namespace trine {
namespace {

constexpr int64_t kChunkBytes = int64_t{1}
                                << 20;  // pieces start at multiples of 64 in their tensor
constexpr int64_t kChunksPerBatch = 64;

class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {}
  ~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  /// errno of the first failure, 0 when all was written.
  int write_at(int64_t offset, const void* data, int64_t bytes) const {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::pwrite(fd_, from, static_cast<size_t>(bytes), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : ENOSPC;
      from += n;
      offset += n;
      bytes -= n;
    }
    return 0;
  }
  int set_size(int64_t bytes) const { return ::ftruncate(fd_, bytes) == 0 ? 0 : errno; }
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result == 0 ? 0 : errno;
  }
  Status error(int number) const {
    return Status(Code::kIo, path_ + ": cannot write: " + std::strerror(number));
  }

 private:
  std::string path_;
  int fd_;
};

struct Piece {
  size_t tensor = 0;
  int64_t begin = 0;
  int64_t bytes = 0;
};
struct Chunk {
  int64_t offset = 0;  ///< from the start of the data
  int64_t bytes = 0;
  std::vector<Piece> pieces;
};

std::vector<Chunk> cut(const std::vector<SynthTensor>& tensors) {
  std::vector<Chunk> chunks(1);
  for (size_t t = 0; t < tensors.size(); ++t) {
    const int64_t total = tensors[t].bytes();
    for (int64_t begin = 0; begin < total;) {
      if (chunks.back().bytes >= kChunkBytes) {
        Chunk next;
        next.offset = chunks.back().offset + chunks.back().bytes;
        chunks.push_back(std::move(next));
      }
      Chunk& chunk = chunks.back();
      const int64_t room = (kChunkBytes - chunk.bytes + 63) / 64 * 64;
      const int64_t bytes = std::min(total - begin, room);
      chunk.pieces.push_back({t, begin, bytes});
      chunk.bytes += bytes;
      begin += bytes;
    }
  }
  return chunks;
}

std::string header_json(const std::vector<SynthTensor>& tensors, int64_t* data_bytes) {
  std::string text = R"({"__metadata__":{"format":"pt"})";
  int64_t offset = 0;
  for (const SynthTensor& tensor : tensors) {
    text += "," + json::quote(tensor.name) + R"(:{"dtype":")" + dtype_name(tensor.dtype) +
            R"(","shape":[)";
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      text += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    text += R"(],"data_offsets":[)" + std::to_string(offset) + "," +
            std::to_string(offset + tensor.bytes()) + "]}";
    offset += tensor.bytes();
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  *data_bytes = offset;
  return text;
}

}  // namespace

Status write_shard(const ShardJob& job, SynthFiller* filler, ThreadPool* pool) {
  const std::vector<SynthTensor>& tensors = *job.tensors;
  OutputFile file(job.path);
  if (!file.is_open()) return file.error(errno);
  int64_t data_bytes = 0;
  const std::string header = header_json(tensors, &data_bytes);
  const auto length = static_cast<uint64_t>(header.size());
  const int64_t data_begin = 8 + static_cast<int64_t>(header.size());
  int failure = file.write_at(0, &length, 8);
  if (failure == 0) failure = file.write_at(8, header.data(), static_cast<int64_t>(header.size()));
  if (failure == 0) failure = file.set_size(data_begin + data_bytes);
  if (failure != 0) return file.error(failure);
  if (job.sparse) {
    if (job.written) job.written(data_bytes);
    return Status();
  }
  std::vector<SynthFiller::Recipe> recipes;
  recipes.reserve(tensors.size());
  for (const SynthTensor& tensor : tensors) recipes.push_back(filler->prepare(tensor));
  const std::vector<Chunk> chunks = cut(tensors);
  std::vector<std::vector<uint8_t>> buffers(static_cast<size_t>(pool->threads()));
  for (auto& buffer : buffers) buffer.resize(static_cast<size_t>(kChunkBytes + 64));
  std::atomic<int> first_failure{0};
  const auto count = static_cast<int64_t>(chunks.size());
  for (int64_t first = 0; first < count && first_failure == 0; first += kChunksPerBatch) {
    const int64_t batch = std::min(kChunksPerBatch, count - first);
    pool->parallel_for(batch, [&](int64_t task, int worker) {
      const Chunk& chunk = chunks[static_cast<size_t>(first + task)];
      uint8_t* out = buffers[static_cast<size_t>(worker)].data();
      int64_t at = 0;
      for (const Piece& piece : chunk.pieces) {
        SynthFiller::fill(recipes[piece.tensor], piece.begin, piece.bytes, out + at);
        at += piece.bytes;
      }
      const int number = file.write_at(data_begin + chunk.offset, out, chunk.bytes);
      if (number != 0) first_failure = number;
    });
    int64_t done = 0;
    for (int64_t i = first; i < first + batch; ++i) done += chunks[static_cast<size_t>(i)].bytes;
    if (job.written) job.written(done);
  }
  failure = first_failure;
  if (failure == 0) failure = file.close();
  return failure == 0 ? Status() : file.error(failure);
}

}  // namespace trine
