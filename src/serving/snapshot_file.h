// One snapshot in one file: what the file tier of the prefix cache keeps, and what a saved session
// is. Little endian:
//
//   header   192 bytes: magic, version, position, sizes, kind, hash of the model, and the SHA-256
//            of the header and the tokens
//   tokens   int32 [position]
//   state    as it lay in the slot
//   rows     latent rows [0, position) of each block, plane by plane; rows past it are not stored
//   digest   SHA-256 of everything before, 64 hex digits
//
// The header's own digest lets a folder be scanned by its headers and tokens alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "platform/file.h"
#include "serving/partial_file.h"
#include "serving/prefix_cache.h"
#include "trine/status.h"

namespace trine::serving {

/// What the snapshots of one model have in common; those of another shape are not interchangeable.
struct SnapshotShape {
  std::string model_hash;
  int64_t state_bytes = 0;
  int64_t block_tokens = 64;
  int64_t block_bytes = 0;
  int64_t block_planes = 1;  ///< a block is that many arrays (layers) of block_tokens rows

  int64_t blocks_of(int64_t position) const { return (position + block_tokens - 1) / block_tokens; }
  /// kInvalidArgument where block_bytes does not divide into planes of rows, or a size is negative.
  Status check() const;
  /// kInvalidArgument where that is no snapshot of this shape.
  Status check_content(std::span<const int32_t> tokens, std::span<const std::byte> state) const;
  /// Of the file of a snapshot; INT64_MAX where that is no number of bytes.
  int64_t file_bytes(int64_t position) const;
};

/// Where the data of block `index` lies; called in ascending order, once each.
using BlockSource = std::function<const std::byte*(int64_t index)>;
using BlockTarget = std::function<std::byte*(int64_t index)>;

/// Writes beside, syncs and renames. kInvalidArgument, or kIo / kNotFound with the reason; then no
/// file of that name has appeared or changed.
Status write_snapshot_file(const std::string& path, const SnapshotShape& shape,
                           std::span<const int32_t> tokens, SnapshotKind kind,
                           std::span<const std::byte> state, const BlockSource& blocks,
                           PartialFile::Existing existing);

/// A snapshot file whose header and tokens are known to be whole.
class SnapshotReader {
 public:
  /// kNotFound, kIo; kCorrupt: damaged, or no snapshot; kUnsupported: whole, but of another version
  /// or another model than `shape`'s.
  static Result<SnapshotReader> open(const std::string& path, const SnapshotShape& shape);

  int64_t position() const { return static_cast<int64_t>(tokens_.size()); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  SnapshotKind kind() const { return kind_; }
  int64_t file_bytes() const { return file_.size(); }
  /// Reads state and rows and compares the digest at the end. kCorrupt or kIo: what was filled in
  /// is worthless.
  Status read(std::span<std::byte> state, const BlockTarget& blocks) const;

 private:
  SnapshotReader() = default;

  File file_;
  SnapshotShape shape_;
  std::string head_;  ///< the header's bytes
  std::vector<int32_t> tokens_;
  SnapshotKind kind_ = SnapshotKind::kSpacing;
};

}  // namespace trine::serving
