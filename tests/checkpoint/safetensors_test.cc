// Hostile safetensors headers: each refused with its kind, none trusted, none fatal.
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "support/finding_checks.h"
#include "support/safetensors_writer.h"
#include "support/temp_dir.h"

namespace trine::testing {
namespace {

using checkpoint::Findings;
using checkpoint::TensorInfo;

struct Case {
  std::string name;
  std::string header;
  int64_t data_bytes;
  std::string kind;  ///< of the error; empty = accepted
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

const std::string kA = entry("a", "F32", "[2]", "[0,8]");
const std::string kB = entry("b", "U8", "[4]", "[8,12]");
const std::string kBoth = "{" + kA + "," + kB + "}";

std::vector<Case> whole_cases() {
  return {
      {"Whole", kBoth, 12, ""},
      {"WholeInAnotherOrder", "{" + kB + "," + kA + "}", 12, ""},
      {"Empty", "{}", 0, ""},
      {"Padded", kBoth + "   ", 12, ""},
      {"Metadata", R"({"__metadata__":{"format":"pt"},)" + kA + "}", 8, ""},
      {"Scalar", "{" + entry("s", "F32", "[]", "[0,4]") + "}", 4, ""},
      {"EmptyTensor",
       "{" + entry("e", "F32", "[0,5]", "[0,0]") + "," + entry("f", "U8", "[1]", "[0,1]") + "}", 1,
       ""},
      {"EscapedName", "{" + entry("\\u0061\\n\\ud83d\\ude00", "U8", "[1]", "[0,1]") + "}", 1, ""},
  };
}

std::vector<Case> json_cases() {
  std::string deep = "{\"x\":";
  for (int i = 0; i < 5000; ++i) deep += "[";
  std::string deep_extra = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"extra":)";
  for (int i = 0; i < 100'000; ++i) deep_extra += "{\"k\":";
  return {
      {"Nothing", "", 0, "header-json"},
      {"NoObject", "[]", 0, "header-json"},
      {"Unfinished", kBoth.substr(0, kBoth.size() - 1), 12, "header-json"},
      {"CutInTheMiddle", kBoth.substr(0, 30), 12, "header-json"},
      {"TextAfter", kBoth + "x", 12, "header-json"},
      {"TrailingComma", "{" + kA + ",}", 8, "header-json"},
      {"Comment", "{/**/" + kA + "}", 8, "header-json"},
      {"NulInside", kBoth + std::string(1, '\0'), 12, "header-json"},
      {"BadUtf8", "{" + entry("\xff", "U8", "[1]", "[0,1]") + "}", 1, "header-json"},
      {"OverlongUtf8", "{" + entry("\xc0\xaf", "U8", "[1]", "[0,1]") + "}", 1, "header-json"},
      {"LoneSurrogate", "{" + entry("\\ud800", "U8", "[1]", "[0,1]") + "}", 1, "header-json"},
      {"ControlCharacter", "{" + entry("a\nb", "U8", "[1]", "[0,1]") + "}", 1, "header-json"},
      {"Deep", deep, 0, "header-json"},
      {"DeepInsideAnEntry", deep_extra, 0, "header-json"},
  };
}

std::vector<Case> entry_cases() {
  return {
      {"NegativeDimension", "{" + entry("a", "U8", "[-1]", "[0,1]") + "}", 1, "header-json"},
      {"FractionalDimension", "{" + entry("a", "U8", "[1.5]", "[0,1]") + "}", 1, "header-json"},
      {"ExponentDimension", "{" + entry("a", "U8", "[1e0]", "[0,1]") + "}", 1, "header-json"},
      {"HugeNumber", "{" + entry("a", "U8", "[99999999999999999999]", "[0,1]") + "}", 1,
       "header-json"},
      {"TextDimension", "{" + entry("a", "U8", "[\"1\"]", "[0,1]") + "}", 1, "header-json"},
      {"Overflow", "{" + entry("a", "F32", "[4611686018427387904,4]", "[0,4]") + "}", 4,
       "shape-absurd"},
      {"ManyDimensions",
       "{" + entry("a", "U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1,
       "shape-absurd"},
      {"OffsetsNearTheEnd",
       "{" + entry("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") + "}", 4,
       "shape-absurd"},
      {"ShapeAndBytesDiffer", "{" + entry("a", "F32", "[3]", "[0,8]") + "}", 8, "shape-bytes"},
      {"BackwardOffsets", "{" + entry("a", "U8", "[4]", "[4,0]") + "}", 4, "offsets-out-of-order"},
      {"OneOffset", "{" + entry("a", "U8", "[4]", "[4]") + "}", 4, "header-entry"},
      {"ThreeOffsets", "{" + entry("a", "U8", "[4]", "[0,4,4]") + "}", 4, "header-entry"},
      {"NoDtype", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "header-entry"},
      {"NoShape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "header-entry"},
      {"UnknownKey", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":0}})", 1,
       "header-entry"},
      {"EntryIsNoObject", R"({"a":7})", 0, "header-entry"},
      {"ShapeTwice", R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1,
       "duplicate-key"},
      {"UnknownDtype", "{" + entry("a", "F4", "[2]", "[0,1]") + "}", 1, "dtype-unknown"},
      {"MetadataOfNumbers", R"({"__metadata__":{"n":1},)" + kA + "}", 8, "header-metadata"},
      {"MetadataIsNoObject", R"({"__metadata__":[],)" + kA + "}", 8, "header-metadata"},
      {"Overlap", "{" + kA + "," + entry("b", "U8", "[4]", "[4,8]") + "}", 8, "offsets-overlap"},
      {"SameBytesTwice", "{" + kA + "," + entry("b", "F32", "[2]", "[0,8]") + "}", 8,
       "offsets-overlap"},
      {"Hole", "{" + kA + "," + entry("b", "U8", "[4]", "[9,13]") + "}", 13, "offsets-hole"},
      {"HoleAtTheStart", "{" + entry("b", "U8", "[4]", "[1,5]") + "}", 5, "offsets-hole"},
      {"Truncated", kBoth, 11, "truncated"},
      {"NoDataAtAll", kBoth, 0, "truncated"},
      {"TrailingBytes", kBoth, 13, "trailing-bytes"},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = whole_cases();
  for (const auto& part : {json_cases(), entry_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

class Header : public ::testing::TestWithParam<Case> {};

TEST_P(Header, IsAcceptedOrRefusedWithItsKind) {
  const Case& c = GetParam();
  std::vector<TensorInfo> tensors;
  Findings findings;
  checkpoint::parse_shard_header(c.header, c.data_bytes, "file", 0, &tensors, &findings);
  if (c.kind.empty()) {
    EXPECT_TRUE(findings.empty()) << all_findings(findings);
  } else {
    EXPECT_EQ(count_findings(findings, c.kind), 1) << all_findings(findings);
    // A deep value stands under a key that is wrong by itself.
    EXPECT_EQ(findings.size(), c.name.starts_with("Deep") ? 2u : 1u) << all_findings(findings);
    expect_explained(findings);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& c) { return c.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Header, ::testing::ValuesIn(cases()), case_name);

TEST(Header, SaysHowManyBytesOfADownloadAreMissing) {
  std::vector<TensorInfo> tensors;
  Findings findings;
  checkpoint::parse_shard_header("{" + entry("a", "U8", "[10000]", "[0,10000]") + "}", 5904,
                                 "m.safetensors", 0, &tensors, &findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].to_string().find("4096 bytes are missing"), std::string::npos)
      << findings[0].to_string();
  EXPECT_NE(findings[0].to_string().find("incomplete download"), std::string::npos);
}

TEST(Header, ListsEveryMistakeAndNotTheFirstOnly) {
  std::vector<TensorInfo> tensors;
  Findings findings;
  const std::string header =
      "{" + entry("a", "F9", "[1]", "[0,1]") + "," + entry("b", "U8", "[2]", "[1,2]") + "," +
      entry("c", "U8", "[1]", "[3,2]") + "," + entry("d", "U8", "[1]", "[2,3]") + "}";
  checkpoint::parse_shard_header(header, 3, "file", 0, &tensors, &findings);
  EXPECT_EQ(count_findings(findings, "dtype-unknown", "a"), 1);
  EXPECT_EQ(count_findings(findings, "shape-bytes", "b"), 1);
  EXPECT_EQ(count_findings(findings, "offsets-out-of-order", "c"), 1);
  EXPECT_EQ(tensors.size(), 1u);
}

struct FileCase {
  std::string name;
  std::string content;
  std::string kind;
};

void PrintTo(const FileCase& c, std::ostream* out) { *out << c.name; }

class ShardFile : public ::testing::TestWithParam<FileCase> {};

std::string length_and(uint64_t length, const std::string& rest) {
  std::string file;
  append_bytes(&file, length);
  return file + rest;
}

TEST_P(ShardFile, IsRefusedBeforeMemoryIsTaken) {
  TempDir folder;
  const std::string path = folder.write("m.safetensors", GetParam().content);
  Result<File> file = File::open(path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  std::vector<TensorInfo> tensors;
  Findings findings;
  checkpoint::read_shard_header(*file, "m.safetensors", 0, &tensors, &findings);
  EXPECT_EQ(count_findings(findings, GetParam().kind), 1) << all_findings(findings);
  expect_explained(findings);
}

std::string file_case_name(const ::testing::TestParamInfo<FileCase>& c) { return c.param.name; }
INSTANTIATE_TEST_SUITE_P(
    All, ShardFile,
    ::testing::Values(
        FileCase{"Empty", "", "truncated"}, FileCase{"SevenBytes", "1234567", "truncated"},
        FileCase{"HeaderBeyondTheFile", length_and(1000, "{}"), "header-length"},
        FileCase{"HeaderOfAllBits", length_and(~uint64_t{0}, "{}"), "header-length"},
        FileCase{"HeaderOf2To63", length_and(uint64_t{1} << 63, "{}"), "header-length"},
        FileCase{"HeaderOfAGigabyte", length_and(1 << 30, "{}"), "header-length"},
        FileCase{"HeaderOfNothing", length_and(0, ""), "header-json"},
        FileCase{"HtmlErrorPage", "<!DOCTYPE html><html>", "header-length"},
        FileCase{"GitLfsPointer", "version https://git-lfs.github.com/spec/v1\n", "lfs-pointer"}),
    file_case_name);

}  // namespace
}  // namespace trine::testing
