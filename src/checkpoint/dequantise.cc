#include "checkpoint/dequantise.h"

#include <bit>
#include <cstring>

#include "base/try.h"
#include "tensor/float_formats.h"

namespace trine::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

template <typename T>
T load(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The tensors of one module for a range of its rows, in memory.
class Dequantiser {
 public:
  Dequantiser(const Linear& linear, int64_t row_begin, int64_t row_end)
      : l_(linear), begin_(row_begin), rows_(row_end - row_begin) {}

  Status load_all(const ReadBytes& read) {
    row_bytes_ = l_.codes->shape.empty() ? 0 : l_.codes->bytes / l_.codes->shape[0];
    codes_.resize(static_cast<size_t>(rows_ * row_bytes_));
    TRINE_RETURN_IF_ERROR(
        read(*l_.codes, begin_ * row_bytes_, codes_.data(), static_cast<int64_t>(codes_.size())));
    if (l_.coding == WeightCoding::kPlain) return {};
    groups_ = ceil_div(l_.in, l_.group_in);
    scale_begin_ = begin_ / l_.group_out;
    const int64_t scale_rows = ceil_div(begin_ + rows_, l_.group_out) - scale_begin_;
    scales_.resize(static_cast<size_t>(scale_rows * groups_));
    TRINE_RETURN_IF_ERROR(load_scales(read));
    if (l_.global_scale != nullptr)
      TRINE_RETURN_IF_ERROR(read_as_floats(*l_.global_scale, 0, 1, read, &global_));
    if (l_.zero_point != nullptr) {
      zero_points_.resize(static_cast<size_t>(l_.zero_point->bytes));
      TRINE_RETURN_IF_ERROR(read(*l_.zero_point, 0, zero_points_.data(), l_.zero_point->bytes));
    }
    return load_g_idx(read);
  }

  float weight(int64_t row, int64_t i) const {
    const unsigned char* codes = codes_.data() + row * row_bytes_;
    if (l_.coding == WeightCoding::kPlain)
      return element_to_float(l_.codes->dtype, codes + i * dtype_bytes(l_.codes->dtype));
    const int64_t group = group_of_input(i);
    const float scale = scales_[static_cast<size_t>(
        ((begin_ + row) / l_.group_out - scale_begin_) * groups_ + group)];
    switch (l_.coding) {
      case WeightCoding::kPlain: break;
      case WeightCoding::kMxfp4: return e2m1_to_float(nibble(codes, i)) * scale;
      case WeightCoding::kNvfp4: return e2m1_to_float(nibble(codes, i)) * (scale / global_);
      case WeightCoding::kInt4:
        return static_cast<float>(nibble(codes, i) - packed_zero(begin_ + row, group, 4)) * scale;
      case WeightCoding::kInt8Packed:
        return static_cast<float>(codes[i] - packed_zero(begin_ + row, group, 8)) * scale;
      case WeightCoding::kInt8:
        return static_cast<float>(load<int8_t>(codes + i) - plain_zero(begin_ + row, group)) *
               scale;
      case WeightCoding::kFp8:
      case WeightCoding::kMxfp8: return e4m3_to_float(codes[i]) * scale;
    }
    return 0.0f;
  }

 private:
  // The first `begin` scales of a module are skipped: rows of scales lie one after the other.
  Status load_scales(const ReadBytes& read) {
    const int64_t count = static_cast<int64_t>(scales_.size());
    const int64_t first = scale_begin_ * groups_;
    if (l_.scales->dtype != DType::kU8)
      return read_as_floats(*l_.scales, first, count, read, scales_.data());
    std::vector<uint8_t> exponents(scales_.size());
    TRINE_RETURN_IF_ERROR(read(*l_.scales, first, exponents.data(), count));
    for (size_t i = 0; i < exponents.size(); ++i) scales_[i] = e8m0_to_float(exponents[i]);
    return {};
  }

  // -1 marks groups in their natural order (compressed-tensors).
  Status load_g_idx(const ReadBytes& read) {
    if (l_.g_idx == nullptr) return {};
    g_idx_.resize(static_cast<size_t>(l_.in));
    TRINE_RETURN_IF_ERROR(read(*l_.g_idx, 0, g_idx_.data(), l_.g_idx->bytes));
    for (const int32_t group : g_idx_) {
      if (group == -1) {
        g_idx_.clear();
        return {};
      }
      if (group < 0 || group >= groups_)
        return {Code::kCorrupt, l_.g_idx->name + ": found group " + std::to_string(group) +
                                    ", expected 0 to " + std::to_string(groups_ - 1)};
    }
    return {};
  }

  int64_t group_of_input(int64_t i) const {
    return g_idx_.empty() ? i / l_.group_in : g_idx_[static_cast<size_t>(i)];
  }

  static uint8_t nibble(const unsigned char* codes, int64_t i) {
    return static_cast<uint8_t>((codes[i / 2] >> (i % 2 * 4)) & 15);
  }

  // Zero points are packed along the outputs: bits [b*(o%n), ...) of word [o/n, group], n = 32/b.
  int packed_zero(int64_t output, int64_t group, int bits) const {
    if (zero_points_.empty()) return 1 << (bits - 1);
    const int64_t per_word = 32 / bits;
    const auto word =
        load<uint32_t>(zero_points_.data() + 4 * (output / per_word * groups_ + group));
    return static_cast<int>((word >> (output % per_word * bits)) & ((1u << bits) - 1));
  }

  int plain_zero(int64_t output, int64_t group) const {
    if (zero_points_.empty()) return 0;
    return load<int8_t>(zero_points_.data() + output / l_.group_out * groups_ + group);
  }

  const Linear& l_;
  int64_t begin_;
  int64_t rows_;
  int64_t row_bytes_ = 0;
  int64_t groups_ = 1;
  int64_t scale_begin_ = 0;
  float global_ = 1.0f;
  std::vector<unsigned char> codes_;
  std::vector<float> scales_;
  std::vector<unsigned char> zero_points_;
  std::vector<int32_t> g_idx_;
};

}  // namespace

float element_to_float(DType dtype, const unsigned char* bytes) {
  switch (dtype) {
    case DType::kF32: return load<float>(bytes);
    case DType::kF16: return f16_to_float(load<uint16_t>(bytes));
    case DType::kBf16: return bf16_to_float(load<uint16_t>(bytes));
    case DType::kF8E4M3: return e4m3_to_float(*bytes);
    case DType::kF8E5M2: return e5m2_to_float(*bytes);
    case DType::kF8E8M0: return e8m0_to_float(*bytes);
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
    case DType::kU16:
    case DType::kI16:
    case DType::kU32:
    case DType::kI32:
    case DType::kU64:
    case DType::kI64:
    case DType::kF64: break;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

Status read_as_floats(const TensorInfo& tensor, int64_t begin, int64_t count, const ReadBytes& read,
                      float* out) {
  const int64_t size = dtype_bytes(tensor.dtype);
  std::vector<unsigned char> bytes(static_cast<size_t>(count * size));
  TRINE_RETURN_IF_ERROR(
      read(tensor, begin * size, bytes.data(), static_cast<int64_t>(bytes.size())));
  for (int64_t i = 0; i < count; ++i)
    out[i] = element_to_float(tensor.dtype, bytes.data() + i * size);
  return {};
}

Status dequantise(const Linear& linear, int64_t row_begin, int64_t row_end, const ReadBytes& read,
                  float* out) {
  if (row_begin < 0 || row_begin > row_end || row_end > linear.out)
    return {Code::kInvalidArgument, linear.name + ": rows " + std::to_string(row_begin) + " to " +
                                        std::to_string(row_end) + " of " +
                                        std::to_string(linear.out)};
  if (row_begin == row_end) return {};
  Dequantiser source(linear, row_begin, row_end);
  TRINE_RETURN_IF_ERROR(source.load_all(read));
  for (int64_t row = 0; row < row_end - row_begin; ++row)
    for (int64_t i = 0; i < linear.in; ++i) *out++ = source.weight(row, i);
  return {};
}

}  // namespace trine::checkpoint
