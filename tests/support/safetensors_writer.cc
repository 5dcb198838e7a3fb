#include "support/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "tensor/float_formats.h"

namespace trine::testing {
namespace {

uint16_t float_to_f16(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::abs(value);
  if (magnitude < std::ldexp(1.0f, -14))
    return static_cast<uint16_t>(sign |
                                 static_cast<uint16_t>(std::lrint(std::ldexp(magnitude, 24))));
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);                       // [0.5, 1)
  const auto mantissa = static_cast<int>(std::lrint(std::ldexp(fraction, 11)));  // 1024..2048
  return static_cast<uint16_t>(sign | (((exponent + 13) << 10) + mantissa));
}

/// Nearest code; the magnitudes of codes 0, 1, 2 ... ascend in both formats.
uint8_t nearest_f8(float value, float (*decode)(uint8_t)) {
  const float magnitude = std::abs(value);
  int low = 0;
  int high = 127;  // decode(high) is taken as above
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const float candidate = decode(static_cast<uint8_t>(middle));
    (std::isfinite(candidate) && candidate <= magnitude ? low : high) = middle;
  }
  const float above = decode(static_cast<uint8_t>(high));
  const bool up =
      std::isfinite(above) && above - magnitude < magnitude - decode(static_cast<uint8_t>(low));
  return static_cast<uint8_t>((up ? high : low) | (std::signbit(value) ? 0x80 : 0));
}

void append_element(std::string* out, DType dtype, float value) {
  switch (dtype) {
    case DType::kF32: return append_bytes(out, value);
    case DType::kBf16: return append_bytes(out, float_to_bf16(value));
    case DType::kF16: return append_bytes(out, float_to_f16(value));
    case DType::kF8E4M3: return append_bytes(out, nearest_f8(value, e4m3_to_float));
    case DType::kF8E5M2: return append_bytes(out, nearest_f8(value, e5m2_to_float));
    default: ADD_FAILURE() << "no float type"; return;
  }
}

}  // namespace

float stored(DType dtype, float value) {
  switch (dtype) {
    case DType::kBf16: return bf16_to_float(float_to_bf16(value));
    case DType::kF16: return f16_to_float(float_to_f16(value));
    case DType::kF8E4M3: return e4m3_to_float(nearest_f8(value, e4m3_to_float));
    case DType::kF8E5M2: return e5m2_to_float(nearest_f8(value, e5m2_to_float));
    default: return value;
  }
}

std::string safetensors_raw(const std::string& header, const std::string& data) {
  std::string file;
  append_bytes(&file, static_cast<uint64_t>(header.size()));
  return file + header + data;
}

std::string safetensors_file(const RawTensors& tensors) {
  json::Value header = json::Value::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    json::Value entry = json::Value::object();
    entry.set("dtype", tensor.dtype);
    json::Value shape = json::Value::array();
    for (const int64_t dim : tensor.shape) shape.push(dim);
    entry.set("shape", std::move(shape));
    json::Value offsets = json::Value::array();
    offsets.push(static_cast<int64_t>(data.size()));
    data += tensor.bytes;
    offsets.push(static_cast<int64_t>(data.size()));
    entry.set("data_offsets", std::move(offsets));
    header.as_object().emplace_back(name, std::move(entry));
  }
  std::string text = json::dump(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  return safetensors_raw(text, data);
}

RawTensor float_tensor(DType dtype, std::vector<int64_t> shape, const std::vector<float>& values) {
  RawTensor tensor{dtype_name(dtype), std::move(shape), {}};
  for (const float value : values) append_element(&tensor.bytes, dtype, value);
  return tensor;
}

}  // namespace trine::testing
