// Findings as text: one line each, whatever the files contain.
#include "checkpoint/finding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace trine::checkpoint {
namespace {

TEST(Finding, EscapesControlCharactersOfEveryField) {
  Finding finding;
  finding.file = "a\nb";
  finding.tensor = "\x1b[31mred";
  finding.found = "tab\tbell\x07";
  finding.expected = std::string("nul\0", 4) + "\x7f";
  finding.action = "csi \xC2\x9B, return \r";
  EXPECT_EQ(finding.to_string(),
            "a\\nb: \\x1b[31mred: found tab\\tbell\\x07, expected nul\\x00\\x7f; "
            "csi \\xc2\\x9b, return \\r");
  const std::string lines = summarise({finding, finding}, Severity::kNote, 5);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_EQ(lines.find('\x1b'), std::string::npos);
}

TEST(Finding, KeepsReadableTextOfAnyLanguage) {
  EXPECT_EQ(printable("gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD a\\b \xC2\xA0"),
            "gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD a\\b \xC2\xA0");
}

}  // namespace
}  // namespace trine::checkpoint
