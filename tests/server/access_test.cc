// Keys: how they are read, compared and counted; ids and histograms beside them.
#include "server/access.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "server/ids.h"
#include "server/metrics.h"

namespace trine::server {
namespace {

TEST(Keys, AreLinesWithoutRemarks) {
  const auto keys = parse_keys("# remark\n\n one-1 \r\ntwo\n", "keys.txt");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(*keys, (std::vector<std::string>{"one-1", "two"}));
}

TEST(Keys, ThatCannotBeSentAreRefusedByLineAndNotByText) {
  for (const char* text : {"ok\nwith blank\n", "ok\nt\xC3\xA4g\n"}) {
    const auto keys = parse_keys(text, "keys.txt");
    ASSERT_FALSE(keys.ok());
    EXPECT_NE(keys.status().message().find("keys.txt: line 2"), std::string::npos);
    EXPECT_EQ(keys.status().message().find("blank"), std::string::npos);
  }
  EXPECT_FALSE(parse_keys("# nothing\n", "keys.txt").ok());
}

TEST(Keys, AreEqualOnlyWhenTheyAreTheSame) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcabc", "xbc"})
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  EXPECT_FALSE(equal_in_constant_time("abcabc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("x", ""));
}

TEST(Clients, MayRunAsManyRequestsAsTheyMay) {
  Access access({}, 2);
  auto first = access.begin("a");
  auto second = access.begin("a");
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(access.begin("a"), nullptr);
  EXPECT_NE(access.begin("b"), nullptr);
  first.reset();
  EXPECT_NE(access.begin("a"), nullptr);
}

TEST(Ids, AreNeverTheSame) {
  IdMaker ids;
  std::set<std::string> seen;
  for (int i = 0; i < 10000; ++i) {
    const std::string id = ids.next("call_");
    EXPECT_EQ(id.size(), 5u + 24u);
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(Histograms, CountCumulatively) {
  Histogram histogram({1, 2.5});
  for (const double value : {0.5, 1.0, 2.0, 7.0}) histogram.observe(value);
  std::string text;
  histogram.write("x_seconds", "Help.", &text);
  EXPECT_EQ(text,
            "# HELP x_seconds Help.\n# TYPE x_seconds histogram\n"
            "x_seconds_bucket{le=\"1\"} 2\nx_seconds_bucket{le=\"2.5\"} 3\n"
            "x_seconds_bucket{le=\"+Inf\"} 4\nx_seconds_sum 10.5\nx_seconds_count 4\n");
}

}  // namespace
}  // namespace trine::server
