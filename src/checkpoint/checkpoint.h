// A checkpoint folder: config, index, shards, the audit both ways, and tensors by name.
//
// open() reads headers only. Weights are read by position (no mapping, so that resident memory is
// the packed copy alone).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/finding.h"
#include "tensor/dtype.h"
#include "trine/status.h"

namespace trine::checkpoint {

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int32_t file = 0;    ///< index into files()
  int64_t offset = 0;  ///< of the first byte in the file
  int64_t bytes = 0;
  int64_t elements() const;
};

/// How the weights of one linear module are stored (spec section 8; compressed-tensors formats).
enum class WeightCoding { kPlain, kMxfp4, kNvfp4, kInt4, kInt8Packed, kInt8, kFp8, kMxfp8 };

/// One linear module resolved to its tensors. Value of weight [o, i]:
///   kPlain:      weight (F32, F16, BF16, F8_E4M3, F8_E5M2)
///   kMxfp4:      e2m1 * 2^(scale-127), one scale byte per 32 inputs
///   kNvfp4:      e2m1 * (e4m3 scale / global_scale), one scale per 16 inputs
///   kInt4:       (u - 8 [or - zero point]) * scale          8 nibbles per I32, low first
///   kInt8Packed: (u - 128) * scale                          4 bytes per I32, low first
///   kInt8:       I8 * scale
///   kFp8:        F8_E4M3 * scale (weight_scale; weight_scale_inv means the same factor)
///   kMxfp8:      F8_E4M3 * 2^(scale-127), one scale byte per 32 inputs
struct Linear {
  std::string name;  ///< module path, without ".weight"
  int64_t out = 0;
  int64_t in = 0;
  WeightCoding coding = WeightCoding::kPlain;
  const TensorInfo* codes = nullptr;
  const TensorInfo* scales = nullptr;        ///< null for kPlain
  const TensorInfo* global_scale = nullptr;  ///< kNvfp4
  /// Asymmetric kInt4 / kInt8Packed: I32 words packed along the outputs, [out / (32 / bits),
  /// groups]. kInt8: I8, shaped as the scales. Null: 8, 128, 0.
  const TensorInfo* zero_point = nullptr;
  const TensorInfo* g_idx = nullptr;  ///< activation order: group of each input
  int64_t group_in = 0;               ///< inputs per scale; `in` = one scale per output row
  int64_t group_out =
      1;  ///< outputs per scale (128 in 128x128 blocks; `out` for one scale per tensor)
};

struct OpenOptions {
  bool scan_scales = true;  ///< read all scale tensors and refuse NaN / infinite ones
};

class Checkpoint {
 public:
  /// Reads config, index and shard headers and audits them. A folder or a config.json that cannot
  /// be read at all is a Status; everything else wrong inside it is a finding. Never returns
  /// half-checked: callers that want the weights must ask require_whole().
  static Result<Checkpoint> open(const std::string& folder, const OpenOptions& options = {});
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  const std::string& folder() const;
  const ModelConfig& config() const;
  const Findings& findings() const;
  /// config() says what the tensors should be: no error blames it.
  bool config_usable() const;
  /// False when no shard is there at all ("not downloaded yet").
  bool has_weights() const;
  bool scales_scanned() const;
  /// kCorrupt with the error findings in the message (20 of a kind; `inspect` lists them all), kIo
  /// when all of them blame the system, kNotFound when there are no weights; else ok.
  Status require_whole() const;

  struct FileInfo {
    std::string name;
    int64_t bytes = 0;
  };
  const std::vector<FileInfo>& files() const;
  const std::vector<TensorInfo>& tensors() const;  ///< sorted by name
  const TensorInfo* find(std::string_view name) const;

  /// The linear module `name` (without ".weight"). kNotFound if it has no tensors.
  Result<Linear> linear(const std::string& name) const;
  /// Raw bytes of a tensor; thread-safe.
  Status read(const TensorInfo& tensor, int64_t byte_offset, void* out, int64_t bytes) const;
  /// A whole float tensor (F32, F16, BF16, F8) as floats: `count` must equal its elements.
  Status read_floats(const std::string& name, float* out, int64_t count) const;
  /// Rows [row_begin, row_end) of a linear module, de-quantised exactly to float, row-major
  /// [rows][in]. Scalar and clear: the specification of every packed format, and the path for rare
  /// codings.
  Status dequantise_rows(const Linear& linear, int64_t row_begin, int64_t row_end,
                         float* out) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::checkpoint
