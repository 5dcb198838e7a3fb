// Names and sizes as the safetensors format gives them.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace trine {
namespace {

TEST(DType, NamesAndSizesAreThoseOfSafetensors) {
  const struct {
    const char* name;
    DType dtype;
    int64_t bytes;
  } cases[] = {{"BOOL", DType::kBool, 1},      {"U8", DType::kU8, 1},
               {"I8", DType::kI8, 1},          {"U16", DType::kU16, 2},
               {"I16", DType::kI16, 2},        {"U32", DType::kU32, 4},
               {"I32", DType::kI32, 4},        {"U64", DType::kU64, 8},
               {"I64", DType::kI64, 8},        {"F8_E4M3", DType::kF8E4M3, 1},
               {"F8_E5M2", DType::kF8E5M2, 1}, {"F8_E8M0", DType::kF8E8M0, 1},
               {"F16", DType::kF16, 2},        {"BF16", DType::kBf16, 2},
               {"F32", DType::kF32, 4},        {"F64", DType::kF64, 8}};
  for (const auto& c : cases) {
    DType dtype = DType::kBool;
    ASSERT_TRUE(parse_dtype(c.name, &dtype)) << c.name;
    EXPECT_EQ(dtype, c.dtype) << c.name;
    EXPECT_EQ(dtype_bytes(dtype), c.bytes) << c.name;
    EXPECT_STREQ(dtype_name(dtype), c.name);
  }
}

TEST(DType, OtherSpellingsAreNoTypes) {
  DType dtype = DType::kF32;
  for (const char* name : {"", "f32", "F32 ", "BFLOAT16", "F4", "F8_E4M3FN", "C64"}) {
    EXPECT_FALSE(parse_dtype(name, &dtype)) << name;
  }
  EXPECT_EQ(dtype, DType::kF32);
}

}  // namespace
}  // namespace trine
