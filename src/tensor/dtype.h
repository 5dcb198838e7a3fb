// Element types of safetensors files.
#pragma once

#include <cstdint>
#include <string_view>

namespace trine {

enum class DType {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF16,
  kBf16,
  kF32,
  kF64
};

/// Bytes of one element.
int64_t dtype_bytes(DType dtype);
/// The safetensors spelling: "BF16", "F8_E4M3".
const char* dtype_name(DType dtype);
/// False when there is no such type.
bool parse_dtype(std::string_view name, DType* out);

}  // namespace trine
