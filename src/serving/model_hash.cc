// Samples of the weights, in the order of the shards' names.
#include "serving/model_hash.h"

#include <algorithm>

#include "base/try.h"
#include "checkpoint/folder.h"
#include "platform/file.h"
#include "platform/sha256.h"

namespace trine::serving {
namespace {

constexpr int64_t kSampleBytes = 4096;
constexpr int64_t kSamples = 64;
constexpr int64_t kEndBytes = int64_t{64} << 10;  ///< the header of most shards
constexpr int64_t kConfigBytesMax = int64_t{16} << 20;
constexpr char kFormat[] = "trine states 1";

Status add_piece(const File& file, int64_t at, int64_t bytes, Sha256* sum) {
  std::vector<unsigned char> piece(static_cast<size_t>(bytes));
  TRINE_RETURN_IF_ERROR(file.read_at(at, piece.data(), bytes));
  sum->update(piece.data(), bytes);
  return {};
}

Status add_shard(const std::string& path, Sha256* sum) {
  TRINE_ASSIGN_OR_RETURN(const File file, File::open(path));
  const int64_t size = file.size();
  sum->update("size " + std::to_string(size));
  const int64_t end = std::min(size, kEndBytes);
  TRINE_RETURN_IF_ERROR(add_piece(file, 0, end, sum));
  TRINE_RETURN_IF_ERROR(add_piece(file, size - end, end, sum));
  for (int64_t i = 1; i <= kSamples; ++i) {
    const int64_t at = size / (kSamples + 1) * i;
    TRINE_RETURN_IF_ERROR(add_piece(file, at, std::min(kSampleBytes, size - at), sum));
  }
  return {};
}

}  // namespace

Result<std::string> model_hash(const std::string& folder, const PagedModel& model,
                               const LoadOptions& options) {
  Sha256 sum;
  sum.update(std::string(kFormat) + "\n" + model.model.isa() + "\n" + model.model.kernels() + "\n" +
             (options.precision == Precision::kExact ? "exact" : "fast") + "\n");
  checkpoint::Findings findings;
  TRINE_ASSIGN_OR_RETURN(const checkpoint::Folder files,
                         checkpoint::list_folder(folder, &findings));
  TRINE_ASSIGN_OR_RETURN(const std::string config, files.read("config.json", kConfigBytesMax));
  sum.update(config);
  for (const std::string& name : files.shards) {
    sum.update("\n" + name + "\n");
    TRINE_RETURN_IF_ERROR(add_shard(files.file(name), &sum));
  }
  std::string hex = sum.hex();
  if (hex.empty()) return Status(Code::kInternal, "sha256 is not available in libcrypto");
  return hex;
}

}  // namespace trine::serving
