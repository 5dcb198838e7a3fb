// SHA-256 against the standard.
#include "platform/sha256.h"

#include <gtest/gtest.h>

namespace trine {
namespace {

// Examples of FIPS 180-2.
TEST(Sha256, GivesTheStandardsExamples) {
  Sha256 abc;
  abc.update("abc");
  EXPECT_EQ(abc.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 empty;
  EXPECT_EQ(empty.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, DoesNotDependOnHowItsInputIsCut) {
  const std::string text(1000, 'x');
  Sha256 whole, pieces;
  whole.update(text);
  for (size_t at = 0; at < text.size(); at += 37) pieces.update(text.substr(at, 37));
  EXPECT_EQ(whole.hex(), pieces.hex());
}

}  // namespace
}  // namespace trine
