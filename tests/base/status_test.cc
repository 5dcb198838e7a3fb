// Status, Result and the early-return macros.
#include "trine/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "base/try.h"

namespace trine {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Status(Code::kInvalidArgument, std::to_string(value) + " is odd");
  return value / 2;
}

Result<int> quarter(int value) {
  TRINE_ASSIGN_OR_RETURN(const int once, half(value));
  TRINE_ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

Status check_quarter(int value) {
  TRINE_RETURN_IF_ERROR(quarter(value).status());
  return Status();
}

TEST(Status, SuccessIsTheDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.to_string(), "ok");
  EXPECT_TRUE(status.with_context("here").ok());
  EXPECT_EQ(status.with_context("here").message(), "");
}

TEST(Status, ContextIsPutInFront) {
  const Status status =
      Status(Code::kCorrupt, "ends early").with_context("shard 3").with_context("model");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(), "model: shard 3: ends early");
  EXPECT_EQ(status.to_string(), "corrupt: model: shard 3: ends early");
}

TEST(Status, EveryCodeHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Code code : {Code::kOk, Code::kInvalidArgument, Code::kNotFound, Code::kCorrupt,
                          Code::kUnsupported, Code::kOutOfMemory, Code::kIo, Code::kCancelled,
                          Code::kBusy, Code::kNotFinite, Code::kInternal}) {
    EXPECT_TRUE(names.insert(code_name(code)).second) << code_name(code);
  }
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(Result, HoldsAValueOrTheReason) {
  const Result<int> good = half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 4);
  EXPECT_TRUE(good.status().ok());
  const Result<int> bad = half(7);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "7 is odd");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> owned = std::move(made).value();
  EXPECT_EQ(*owned, 5);
}

TEST(Try, MacrosReturnTheFirstFailure) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  EXPECT_TRUE(check_quarter(4).ok());
  EXPECT_EQ(check_quarter(5).message(), "5 is odd");
}

TEST(CheckDeathTest, ContradictionNamesTheCondition) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(TRINE_CHECK(1 + 1 == 3), "1 \\+ 1 == 3");
}

}  // namespace
}  // namespace trine
