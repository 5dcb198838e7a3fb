#include "tensor/dtype.h"

#include <array>

namespace trine {
namespace {

struct Entry {
  DType dtype;
  const char* name;
  int64_t bytes;
};
constexpr std::array<Entry, 16> kTypes{{{DType::kBool, "BOOL", 1},
                                        {DType::kU8, "U8", 1},
                                        {DType::kI8, "I8", 1},
                                        {DType::kU16, "U16", 2},
                                        {DType::kI16, "I16", 2},
                                        {DType::kU32, "U32", 4},
                                        {DType::kI32, "I32", 4},
                                        {DType::kU64, "U64", 8},
                                        {DType::kI64, "I64", 8},
                                        {DType::kF8E4M3, "F8_E4M3", 1},
                                        {DType::kF8E5M2, "F8_E5M2", 1},
                                        {DType::kF8E8M0, "F8_E8M0", 1},
                                        {DType::kF16, "F16", 2},
                                        {DType::kBf16, "BF16", 2},
                                        {DType::kF32, "F32", 4},
                                        {DType::kF64, "F64", 8}}};

const Entry& entry(DType dtype) {
  for (const Entry& e : kTypes)
    if (e.dtype == dtype) return e;
  return kTypes[0];
}

}  // namespace

int64_t dtype_bytes(DType dtype) { return entry(dtype).bytes; }
const char* dtype_name(DType dtype) { return entry(dtype).name; }

bool parse_dtype(std::string_view name, DType* out) {
  for (const Entry& e : kTypes)
    if (name == e.name) {
      *out = e.dtype;
      return true;
    }
  return false;
}

}  // namespace trine
