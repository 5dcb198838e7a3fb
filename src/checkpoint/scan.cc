#include "checkpoint/scan.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include "checkpoint/expected.h"
#include "checkpoint/obstacle.h"
#include "platform/thread_pool.h"

namespace trine::checkpoint {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;
constexpr int kThreadsMax = 16;
constexpr int64_t kBatch = 64;  ///< tensors per task: many are tiny

enum class What { kNothing, kFinite, kExponents, kDivisor, kGroups };

What what_to_check(const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  const bool scale = name.ends_with(".weight_scale") || name.ends_with(".weight_scale_inv");
  if (scale && (tensor.dtype == DType::kU8 || tensor.dtype == DType::kF8E8M0))
    return What::kExponents;
  if (name.ends_with(".weight_global_scale")) return What::kDivisor;
  if (name.ends_with(".weight_g_idx")) return What::kGroups;
  if (!is_plain_float(tensor.dtype)) return What::kNothing;
  const bool matrix = tensor.shape.size() == 2 && tensor.shape[0] > 1;
  return scale || !matrix || name.ends_with("_conv1d.weight") ? What::kFinite : What::kNothing;
}

class Scan {
 public:
  explicit Scan(const ScanInput& input) : in_(input) {}

  void run(Findings* findings) {
    std::vector<const TensorInfo*> work;
    for (const TensorInfo& tensor : in_.table.all())
      if (what_to_check(tensor) != What::kNothing && inside_file(tensor)) work.push_back(&tensor);
    // In the order of the disk.
    std::sort(work.begin(), work.end(), [](const TensorInfo* a, const TensorInfo* b) {
      return a->file != b->file ? a->file < b->file : a->offset < b->offset;
    });
    const auto count = static_cast<int64_t>(work.size());
    const int threads = static_cast<int>(std::clamp<int64_t>(
        std::min<int64_t>(static_cast<int64_t>(std::thread::hardware_concurrency()),
                          count / kBatch),
        1, kThreadsMax));
    ThreadPool pool({.threads = threads});
    pool.parallel_for((count + kBatch - 1) / kBatch, [&](int64_t batch, int /*worker*/) {
      for (int64_t i = batch * kBatch; i < std::min(count, (batch + 1) * kBatch); ++i)
        check(*work[static_cast<size_t>(i)]);
    });
    for (const ShapeClaim& claim : in_.claims) check_shape(claim);
    std::sort(found_.begin(), found_.end(),
              [](const Finding& a, const Finding& b) { return a.tensor < b.tensor; });
    for (Finding& finding : found_) add_finding(findings, std::move(finding));
  }

 private:
  void add(const char* kind, const TensorInfo& tensor, std::string found, std::string expected) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<int64_t>(found_.size()) > kFindingsMax) return;
    found_.push_back({.kind = kind,
                      .file = in_.files[static_cast<size_t>(tensor.file)].name,
                      .tensor = tensor.name,
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .action = "the file is damaged or was converted wrongly: get it again"});
  }

  void add_unread(const TensorInfo& tensor, const Status& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    found_.push_back(obstacle(in_.files[static_cast<size_t>(tensor.file)].name, "", why));
    found_.back().tensor = tensor.name;
  }

  void check(const TensorInfo& tensor) {
    switch (what_to_check(tensor)) {
      case What::kNothing: return;
      case What::kGroups: return check_groups(tensor);
      case What::kFinite:
      case What::kExponents:
      case What::kDivisor: return check_numbers(tensor);
    }
  }

  /// Not of a truncated file: that is a finding already.
  bool inside_file(const TensorInfo& tensor) const {
    return tensor.offset + tensor.bytes <= in_.files[static_cast<size_t>(tensor.file)].bytes;
  }

  // One finding per tensor: the first wrong number and how many there are.
  void check_numbers(const TensorInfo& tensor) {
    const What what = what_to_check(tensor);
    const DType dtype = what == What::kExponents ? DType::kF8E8M0 : tensor.dtype;
    const int64_t size = dtype_bytes(dtype);
    const int64_t count = tensor.bytes / size;
    std::vector<unsigned char> bytes(static_cast<size_t>(std::min(tensor.bytes, kChunkBytes)));
    int64_t wrong = 0;
    int64_t first = 0;
    float value = 0;
    for (int64_t begin = 0; begin < count; begin += kChunkBytes / size) {
      const int64_t n = std::min(count - begin, kChunkBytes / size);
      if (Status s = in_.read(tensor, begin * size, bytes.data(), n * size); !s.ok())
        return add_unread(tensor, s);
      for (int64_t i = 0; i < n; ++i) {
        const float v = element_to_float(dtype, bytes.data() + i * size);
        if (std::isfinite(v) && (what != What::kDivisor || v != 0.0f)) continue;
        if (wrong++ > 0) continue;
        first = begin + i;
        value = v;
      }
    }
    if (wrong == 0) return;
    const bool scale =
        what != What::kFinite || tensor.name.find(".weight_scale") != std::string::npos;
    add(scale ? "scale-value" : "value-not-finite", tensor,
        (std::isnan(value) ? std::string("NaN") : std::to_string(value)) + " at element " +
            std::to_string(first) + ", " + std::to_string(wrong) + " such of " +
            std::to_string(count),
        what == What::kDivisor ? "a finite number that is not 0" : "finite numbers");
  }

  static std::string module_of(const TensorInfo& tensor) {
    return tensor.name.substr(0, tensor.name.rfind(".weight_"));
  }

  void check_shape(const ShapeClaim& claim) {
    if (!inside_file(*claim.tensor)) return;
    LinearResolver::Size size;
    const Status status = in_.resolver.read_weight_shape(*claim.tensor, &size);
    if (!status.ok())
      add("shape", *claim.tensor, status.message(), "two positive numbers: out, in");
    else if (size.out != claim.size.out || size.in != claim.size.in)
      add("shape", *claim.tensor, "the size " + shape_text({size.out, size.in}),
          shape_text({claim.size.out, claim.size.in}));
  }

  void check_groups(const TensorInfo& tensor) {
    const TensorInfo* scale = in_.table.find(module_of(tensor) + ".weight_scale");
    if (scale == nullptr || scale->shape.size() != 2 || tensor.dtype != DType::kI32) return;
    std::vector<int32_t> groups(static_cast<size_t>(tensor.elements()));
    if (Status s = in_.read(tensor, 0, groups.data(), tensor.bytes); !s.ok())
      return add_unread(tensor, s);
    if (std::find(groups.begin(), groups.end(), -1) != groups.end()) return;  // natural order
    for (size_t i = 0; i < groups.size(); ++i)
      if (groups[i] < 0 || groups[i] >= scale->shape[1])
        return add("group-index", tensor,
                   std::to_string(groups[i]) + " at element " + std::to_string(i),
                   "0 to " + std::to_string(scale->shape[1] - 1));
  }

  const ScanInput& in_;
  std::mutex mutex_;
  Findings found_;
};

}  // namespace

void scan_values(const ScanInput& input, Findings* findings) { Scan(input).run(findings); }

}  // namespace trine::checkpoint
