#include "serving/snapshot_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/try.h"
#include "platform/sha256.h"

namespace trine::serving {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'t', 'r', 'i', 'n', 'e', 's', 'n', 'p'};
constexpr uint32_t kVersion = 1;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kDigestBytes = 64;
constexpr int64_t kTokensMax = int64_t{1} << 26;  // far more than any context
constexpr int64_t kPieceBytes = int64_t{4} << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t header_bytes = sizeof(Header);
  int64_t position = 0;
  int64_t state_bytes = 0, block_tokens = 0, block_bytes = 0, block_planes = 0;
  int64_t kind = 0;
  std::array<char, kDigestBytes> model{};   // SHA-256 of the model's hash
  std::array<char, kDigestBytes> digest{};  // SHA-256 of all before it, then the tokens
};
static_assert(sizeof(Header) == 192 && std::is_trivially_copyable_v<Header>);
constexpr int64_t kHeaderBytes = sizeof(Header);

int64_t token_bytes(std::span<const int32_t> tokens) {
  return static_cast<int64_t>(tokens.size_bytes());
}

// Bytes of one row in each plane, and in all.
int64_t plane_row_bytes(const SnapshotShape& shape) {
  return shape.block_bytes / shape.block_planes / shape.block_tokens;
}

std::array<char, kDigestBytes> to_array(const std::string& hex) {
  std::array<char, kDigestBytes> digits{};
  std::copy_n(hex.begin(), std::min(hex.size(), digits.size()), digits.begin());
  return digits;
}

std::array<char, kDigestBytes> model_digest(const std::string& model_hash) {
  Sha256 hash;
  hash.update(model_hash);
  return to_array(hash.hex());
}

std::array<char, kDigestBytes> head_digest(const Header& header, std::span<const int32_t> tokens) {
  Sha256 hash;
  hash.update(&header, offsetof(Header, digest));
  hash.update(tokens.data(), token_bytes(tokens));
  return to_array(hash.hex());
}

// Calls piece(block, offset, bytes) for each run of stored rows, in the order of the file.
template <typename Piece>
Status for_each_run(const SnapshotShape& shape, int64_t position, const Piece& piece) {
  const int64_t row_bytes = plane_row_bytes(shape);
  if (row_bytes == 0) return {};
  for (int64_t block = 0; block < shape.blocks_of(position); ++block) {
    const int64_t rows = std::min(shape.block_tokens, position - block * shape.block_tokens);
    for (int64_t plane = 0; plane < shape.block_planes; ++plane) {
      TRINE_RETURN_IF_ERROR(piece(block, plane * shape.block_tokens * row_bytes, rows * row_bytes));
    }
  }
  return {};
}

Status corrupt(const std::string& path, const std::string& found) {
  return Status(Code::kCorrupt, path + ": " + found + "; the snapshot is of no use");
}

// The header contradicts neither itself nor the size of its file.
Status check_header(const std::string& path, const Header& header, int64_t file_bytes) {
  if (header.magic != kMagic) return corrupt(path, "does not begin as snapshot files do");
  if (header.version != kVersion) {
    return Status(Code::kUnsupported, path + ": is a snapshot file of version " +
                                          std::to_string(header.version) + ", expected " +
                                          std::to_string(kVersion));
  }
  const SnapshotShape shape{.model_hash = "",
                            .state_bytes = header.state_bytes,
                            .block_tokens = header.block_tokens,
                            .block_bytes = header.block_bytes,
                            .block_planes = header.block_planes};
  if (header.header_bytes != kHeaderBytes || header.position < 1 || header.position > kTokensMax ||
      header.kind < 0 || header.kind > static_cast<int64_t>(SnapshotKind::kPreempted) ||
      !shape.check().ok()) {
    return corrupt(path, "has impossible numbers in its header");
  }
  if (shape.file_bytes(header.position) != file_bytes) {
    return corrupt(path, "has " + std::to_string(file_bytes) + " bytes, expected " +
                             std::to_string(shape.file_bytes(header.position)));
  }
  return {};
}

Status check_shape(const std::string& path, const Header& header, const SnapshotShape& shape) {
  if (header.model != model_digest(shape.model_hash)) {
    return Status(Code::kUnsupported,
                  path + ": is a snapshot of another model, precision or " + "instruction set");
  }
  if (header.state_bytes == shape.state_bytes && header.block_tokens == shape.block_tokens &&
      header.block_bytes == shape.block_bytes && header.block_planes == shape.block_planes) {
    return {};
  }
  return Status(Code::kUnsupported, path + ": has a state of " +
                                        std::to_string(header.state_bytes) + " B and blocks of " +
                                        std::to_string(header.block_bytes) + " B, expected " +
                                        std::to_string(shape.state_bytes) + " B and " +
                                        std::to_string(shape.block_bytes) + " B");
}

}  // namespace

Status SnapshotShape::check() const {
  if (state_bytes >= 0 && block_tokens > 0 && block_bytes >= 0 && block_planes > 0 &&
      block_bytes % block_planes == 0 && block_bytes / block_planes % block_tokens == 0) {
    return {};
  }
  return Status(Code::kInvalidArgument,
                "snapshot shape: found states of " + std::to_string(state_bytes) +
                    " B, blocks of " + std::to_string(block_bytes) + " B as " +
                    std::to_string(block_planes) + " planes of " + std::to_string(block_tokens) +
                    " rows; expected blocks that divide evenly");
}

Status SnapshotShape::check_content(std::span<const int32_t> tokens,
                                    std::span<const std::byte> state) const {
  const auto position = static_cast<int64_t>(tokens.size());
  const auto bytes = static_cast<int64_t>(state.size());
  if (position >= 1 && position <= kTokensMax && bytes == state_bytes) return {};
  return Status(Code::kInvalidArgument, "snapshot: found " + std::to_string(position) +
                                            " tokens and a state of " + std::to_string(bytes) +
                                            " B, expected 1 to " + std::to_string(kTokensMax) +
                                            " tokens and " + std::to_string(state_bytes) + " B");
}

int64_t SnapshotShape::file_bytes(int64_t position) const {
  int64_t per_token = 0, total = 0;
  if (__builtin_add_overflow(block_bytes / block_tokens, int64_t{sizeof(int32_t)}, &per_token) ||
      __builtin_mul_overflow(per_token, position, &total) ||
      __builtin_add_overflow(total, state_bytes, &total) ||
      __builtin_add_overflow(total, kHeaderBytes + kDigestBytes, &total)) {
    return kNever;
  }
  return total;
}

Status write_snapshot_file(const std::string& path, const SnapshotShape& shape,
                           std::span<const int32_t> tokens, SnapshotKind kind,
                           std::span<const std::byte> state, const BlockSource& blocks,
                           PartialFile::Existing existing) {
  TRINE_RETURN_IF_ERROR(shape.check());
  TRINE_RETURN_IF_ERROR(shape.check_content(tokens, state).with_context(path));
  const auto position = static_cast<int64_t>(tokens.size());
  Header header;
  header.position = position;
  header.state_bytes = shape.state_bytes;
  header.block_tokens = shape.block_tokens;
  header.block_bytes = shape.block_bytes;
  header.block_planes = shape.block_planes;
  header.kind = static_cast<int64_t>(kind);
  header.model = model_digest(shape.model_hash);
  header.digest = head_digest(header, tokens);

  TRINE_ASSIGN_OR_RETURN(PartialFile file, PartialFile::create(path));
  Sha256 hash;
  const auto put = [&](const void* data, int64_t bytes) {
    hash.update(data, bytes);
    return file.write(data, bytes);
  };
  TRINE_RETURN_IF_ERROR(put(&header, kHeaderBytes));
  TRINE_RETURN_IF_ERROR(put(tokens.data(), token_bytes(tokens)));
  TRINE_RETURN_IF_ERROR(put(state.data(), shape.state_bytes));
  int64_t current = -1;
  const std::byte* block_data = nullptr;
  TRINE_RETURN_IF_ERROR(
      for_each_run(shape, position, [&](int64_t block, int64_t offset, int64_t bytes) {
        if (block != current) block_data = blocks(current = block);
        return put(block_data + offset, bytes);
      }));
  const std::string digest = hash.hex();
  if (digest.size() != kDigestBytes) return Status(Code::kInternal, "libcrypto has no SHA-256");
  TRINE_RETURN_IF_ERROR(file.write(digest.data(), kDigestBytes));
  return file.commit(existing);
}

Result<SnapshotReader> SnapshotReader::open(const std::string& path, const SnapshotShape& shape) {
  SnapshotReader reader;
  TRINE_ASSIGN_OR_RETURN(reader.file_, File::open(path));
  if (reader.file_.size() < kHeaderBytes) {
    return corrupt(path, "has " + std::to_string(reader.file_.size()) +
                             " bytes, expected at least " + std::to_string(kHeaderBytes));
  }
  reader.head_.resize(static_cast<size_t>(kHeaderBytes));
  TRINE_RETURN_IF_ERROR(reader.file_.read_at(0, reader.head_.data(), kHeaderBytes));
  Header header;
  std::memcpy(&header, reader.head_.data(), sizeof header);
  TRINE_RETURN_IF_ERROR(check_header(path, header, reader.file_.size()));
  reader.tokens_.resize(static_cast<size_t>(header.position));
  TRINE_RETURN_IF_ERROR(
      reader.file_.read_at(kHeaderBytes, reader.tokens_.data(), token_bytes(reader.tokens_)));
  if (header.digest != head_digest(header, reader.tokens_)) {
    return corrupt(path, "header and tokens do not match their checksum");
  }
  TRINE_RETURN_IF_ERROR(check_shape(path, header, shape));
  reader.shape_ = shape;
  reader.kind_ = static_cast<SnapshotKind>(header.kind);
  return reader;
}

Status SnapshotReader::read(std::span<std::byte> state, const BlockTarget& blocks) const {
  if (static_cast<int64_t>(state.size()) != shape_.state_bytes) {
    return Status(Code::kInvalidArgument, file_.path() + ": the buffer has " +
                                              std::to_string(state.size()) + " B, expected " +
                                              std::to_string(shape_.state_bytes) + " B");
  }
  Sha256 hash;
  hash.update(head_);
  hash.update(tokens_.data(), token_bytes(tokens_));
  int64_t at = kHeaderBytes + token_bytes(tokens_);
  const auto get = [&](std::byte* to, int64_t bytes) -> Status {
    while (bytes > 0) {  // in pieces that the hash finds in the processor's cache
      const int64_t piece = std::min(bytes, kPieceBytes);
      TRINE_RETURN_IF_ERROR(file_.read_at(at, to, piece));
      hash.update(to, piece);
      at += piece;
      to += piece;
      bytes -= piece;
    }
    return {};
  };
  TRINE_RETURN_IF_ERROR(get(state.data(), shape_.state_bytes));
  int64_t current = -1;
  std::byte* block_data = nullptr;
  TRINE_RETURN_IF_ERROR(
      for_each_run(shape_, position(), [&](int64_t block, int64_t offset, int64_t bytes) {
        if (block != current) block_data = blocks(current = block);
        return get(block_data + offset, bytes);
      }));
  std::string stored(static_cast<size_t>(kDigestBytes), '\0');
  TRINE_RETURN_IF_ERROR(file_.read_at(at, stored.data(), kDigestBytes));
  if (stored == hash.hex()) return {};
  return corrupt(file_.path(), "does not match its checksum");
}

}  // namespace trine::serving
