// From a config or a checkpoint to a list of tensors, from the list to shards.
#include "toolkit/synth_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/try.h"

namespace trine {
namespace {

using checkpoint::Linear;
using checkpoint::TensorInfo;
using checkpoint::WeightCoding;

/// Appends the tensors of one linear module in its format.
class LinearWriter {
 public:
  explicit LinearWriter(std::vector<SynthTensor>* out) : out_(out) {}

  Status add(const std::string& module, int64_t out, int64_t in, const LinearFormat& format) {
    format_ = format;
    module_ = module;
    rows_ = out;
    in_ = in;
    const std::string& f = format_.format;
    if (f == "bf16") return add_plain();
    if (f == "mxfp4-pack-quantized") return add_mxfp4();
    if (f == "nvfp4-pack-quantized") return add_nvfp4();
    if (f == "pack-quantized") return add_packed_int();
    if (f == "float-quantized") return add_fp8();
    if (f == "int-quantized") return add_int8();
    if (f == "mxfp8-quantized") return add_mxfp8();
    return Status(Code::kInvalidArgument, "shape: format '" + f + "' is unknown");
  }

 private:
  SynthTensor& put(const char* suffix, DType dtype, std::vector<int64_t> shape, SynthRole role) {
    SynthTensor tensor;
    tensor.name = module_ + suffix;
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    tensor.role = role;
    tensor.in = in_;
    tensor.out = rows_;
    out_->push_back(std::move(tensor));
    return out_->back();
  }

  Status needs(int64_t divisor, const char* why) const {
    if (in_ % divisor == 0) return Status();
    return Status(Code::kInvalidArgument, "shape: " + module_ + ": " + std::to_string(in_) +
                                              " inputs, but " + format_.format +
                                              " needs a multiple of " + std::to_string(divisor) +
                                              " (" + why + ")");
  }

  Status add_plain() {
    // The same weights as the MXFP4 twin where that exists, so that the two can be compared.
    const bool twin = in_ % 32 == 0;
    put(".weight", DType::kBf16, {rows_, in_}, twin ? SynthRole::kDequantised : SynthRole::kFloat);
    return Status();
  }
  Status add_mxfp4() {
    TRINE_RETURN_IF_ERROR(needs(32, "inputs per scale"));
    put(".weight_packed", DType::kU8, {rows_, in_ / 2}, SynthRole::kE2m1Codes).group = 32;
    put(".weight_scale", DType::kU8, {rows_, in_ / 32}, SynthRole::kE8m0ForE2m1).group = 32;
    return Status();
  }
  Status add_nvfp4() {
    TRINE_RETURN_IF_ERROR(needs(16, "inputs per scale"));
    put(".weight_packed", DType::kU8, {rows_, in_ / 2}, SynthRole::kE2m1Codes).group = 16;
    put(".weight_scale", DType::kF8E4M3, {rows_, in_ / 16}, SynthRole::kE4m3Scale).group = 16;
    put(".weight_global_scale", DType::kF32, {1}, SynthRole::kGlobalScale);
    return Status();
  }
  Status add_packed_int() {
    const int64_t per_word = 32 / format_.num_bits;
    const int64_t group = format_.group_size == 0 ? in_ : format_.group_size;
    TRINE_RETURN_IF_ERROR(needs(per_word, "codes per word"));
    TRINE_RETURN_IF_ERROR(needs(group, "inputs per scale"));
    const bool nibbles = format_.num_bits == 4;
    put(".weight_packed", DType::kI32, {rows_, in_ / per_word},
        nibbles ? SynthRole::kInt4Codes : SynthRole::kUint8Codes);
    put(".weight_scale", DType::kBf16, {rows_, in_ / group}, SynthRole::kFloatScale).code_spread =
        nibbles ? kInt4Spread : kInt8Spread;
    put(".weight_shape", DType::kI64, {2}, SynthRole::kWeightShape);
    return Status();
  }
  Status add_fp8() {
    put(".weight", DType::kF8E4M3, {rows_, in_}, SynthRole::kE4m3Codes);
    std::vector<int64_t> shape{rows_, 1};
    if (format_.strategy == "tensor") shape = {1};
    if (format_.strategy == "block") shape = {(rows_ + 127) / 128, (in_ + 127) / 128};
    put(".weight_scale", DType::kBf16, std::move(shape), SynthRole::kFloatScale).code_spread =
        kE4m3Spread;
    return Status();
  }
  Status add_int8() {
    put(".weight", DType::kI8, {rows_, in_}, SynthRole::kInt8Codes);
    put(".weight_scale", DType::kBf16, {rows_, 1}, SynthRole::kFloatScale).code_spread =
        kInt8Spread;
    return Status();
  }
  Status add_mxfp8() {
    TRINE_RETURN_IF_ERROR(needs(32, "inputs per scale"));
    put(".weight", DType::kF8E4M3, {rows_, in_}, SynthRole::kE4m3Codes).group = 32;
    put(".weight_scale", DType::kU8, {rows_, in_ / 32}, SynthRole::kE8m0ForE4m3).group = 32;
    return Status();
  }

  LinearFormat format_;
  std::vector<SynthTensor>* out_;
  std::string module_;
  int64_t rows_ = 0;
  int64_t in_ = 0;
};

SynthRole code_role(const Linear& linear) {
  switch (linear.coding) {
    case WeightCoding::kMxfp4:
    case WeightCoding::kNvfp4: return SynthRole::kE2m1Codes;
    case WeightCoding::kInt4: return SynthRole::kInt4Codes;
    case WeightCoding::kInt8Packed: return SynthRole::kUint8Codes;
    case WeightCoding::kInt8: return SynthRole::kInt8Codes;
    case WeightCoding::kFp8:
    case WeightCoding::kMxfp8: return SynthRole::kE4m3Codes;
    case WeightCoding::kPlain: return SynthRole::kFloat;
  }
  return SynthRole::kFloat;
}

SynthRole scale_role(const Linear& linear) {
  switch (linear.coding) {
    case WeightCoding::kMxfp4: return SynthRole::kE8m0ForE2m1;
    case WeightCoding::kMxfp8: return SynthRole::kE8m0ForE4m3;
    case WeightCoding::kNvfp4: return SynthRole::kE4m3Scale;
    default: return SynthRole::kFloatScale;
  }
}

double code_spread(WeightCoding coding) {
  switch (coding) {
    case WeightCoding::kInt4: return kInt4Spread;
    case WeightCoding::kInt8Packed:
    case WeightCoding::kInt8: return kInt8Spread;
    case WeightCoding::kFp8:
    case WeightCoding::kMxfp8: return kE4m3Spread;
    default: return 1;
  }
}

SynthTensor like_tensor(const checkpoint::Checkpoint& source, const TensorInfo& info) {
  SynthTensor tensor;
  tensor.name = info.name;
  tensor.dtype = info.dtype;
  tensor.shape = info.shape;
  const size_t dot = info.name.rfind('.');
  if (dot == std::string::npos || !std::string_view(info.name).substr(dot).starts_with(".weight"))
    return tensor;
  const auto linear = source.linear(info.name.substr(0, dot));
  if (!linear.ok() || linear->coding == WeightCoding::kPlain) return tensor;
  tensor.in = linear->in;
  tensor.out = linear->out;
  tensor.group = linear->group_in;
  tensor.code_spread = code_spread(linear->coding);
  if (linear->codes == &info)
    tensor.role = code_role(*linear);
  else if (linear->scales == &info)
    tensor.role = scale_role(*linear);
  else if (linear->global_scale == &info)
    tensor.role = SynthRole::kGlobalScale;
  else if (linear->zero_point == &info)
    tensor.role = SynthRole::kZeroPoint;
  else if (linear->g_idx == &info)
    tensor.role = SynthRole::kGroupIndex;
  else
    tensor.role = SynthRole::kWeightShape;
  return tensor;
}

constexpr int64_t kTail = std::numeric_limits<int64_t>::max();

/// Number after "layers." or "blocks.", or kTail for the tensors outside layers.
int64_t layer_of(const std::string& name) {
  const size_t at = name.find(".layers.");
  if (at == std::string::npos) return kTail;
  int64_t layer = 0;
  for (size_t i = at + 8; i < name.size() && name[i] >= '0' && name[i] <= '9' && layer < 1000000;
       ++i)
    layer = layer * 10 + (name[i] - '0');
  return layer;
}

}  // namespace

Result<std::vector<SynthTensor>> plan_from_config(const checkpoint::ModelConfig& config,
                                                  const FormatOf& format_of) {
  std::vector<SynthTensor> tensors;
  LinearWriter writer(&tensors);
  Status status;
  checkpoint::for_each_expected(config, [&](const checkpoint::ExpectedTensor& expected) {
    if (!status.ok()) return;
    if (expected.quantisable()) {
      const LinearFormat format = format_of(expected);
      // Plain experts go through the writer too: they hold the weights of their MXFP4 twin.
      if (format.format != "bf16" || expected.role == checkpoint::Role::kExpert) {
        const std::string module = expected.name.substr(0, expected.name.rfind('.'));
        status = writer.add(module, expected.shape[0], expected.shape[1], format);
        return;
      }
    }
    SynthTensor tensor;
    tensor.name = expected.name;
    tensor.dtype = expected.default_dtype;
    tensor.shape = expected.shape;
    tensors.push_back(std::move(tensor));
  });
  TRINE_RETURN_IF_ERROR(status);
  return tensors;
}

Result<std::vector<SynthTensor>> plan_linear(const std::string& module, int64_t out, int64_t in,
                                             const LinearFormat& format) {
  std::vector<SynthTensor> tensors;
  TRINE_RETURN_IF_ERROR(LinearWriter(&tensors).add(module, out, in, format));
  return tensors;
}

Result<std::vector<SynthTensor>> plan_from_checkpoint(const checkpoint::Checkpoint& source) {
  std::vector<SynthTensor> tensors;
  tensors.reserve(source.tensors().size());
  for (const TensorInfo& info : source.tensors()) tensors.push_back(like_tensor(source, info));
  std::stable_sort(tensors.begin(), tensors.end(), [](const SynthTensor& a, const SynthTensor& b) {
    return layer_of(a.name) < layer_of(b.name);
  });
  return tensors;
}

std::vector<std::vector<SynthTensor>> pack_shards(std::vector<SynthTensor> tensors,
                                                  int64_t limit_bytes) {
  std::vector<std::vector<SynthTensor>> shards(1);
  int64_t used = 0;
  for (size_t begin = 0; begin < tensors.size();) {
    const int64_t layer = layer_of(tensors[begin].name);
    size_t end = begin;
    int64_t layer_bytes = 0;
    for (; end < tensors.size() && layer_of(tensors[end].name) == layer; ++end)
      layer_bytes += tensors[end].bytes();
    // A layer stays whole if a shard can hold it.
    if (used > 0 && layer_bytes <= limit_bytes && used + layer_bytes > limit_bytes) {
      shards.emplace_back();
      used = 0;
    }
    for (; begin < end; ++begin) {
      const int64_t bytes = tensors[begin].bytes();
      if (used > 0 && used + bytes > limit_bytes) {
        shards.emplace_back();
        used = 0;
      }
      used += bytes;
      shards.back().push_back(std::move(tensors[begin]));
    }
  }
  for (auto& shard : shards)
    std::sort(shard.begin(), shard.end(), [](const SynthTensor& a, const SynthTensor& b) {
      const int64_t wide_a = dtype_bytes(a.dtype);
      const int64_t wide_b = dtype_bytes(b.dtype);
      return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
    });
  return shards;
}

}  // namespace trine
