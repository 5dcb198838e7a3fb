// SplitMix64 against the published first outputs of seed 1234567.
#include "base/splitmix.h"

#include <gtest/gtest.h>

namespace trine {
namespace {

TEST(SplitMix, GivesThePublishedSequence) {
  uint64_t state = 1234567;
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(splitmix(state += kSplitMixStep), expected);
  }
}

}  // namespace
}  // namespace trine
