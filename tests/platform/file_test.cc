// Reads by position, limits, and every kind of refusal.
#include "platform/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "support/temp_dir.h"

namespace trine {
namespace {

using testing::TempDir;

TEST(File, ReadsByPositionFromSeveralThreads) {
  const TempDir dir;
  std::string content;
  for (int i = 0; i < 100000; ++i) content += static_cast<char>(i * 7 + i / 256);
  const File file = File::open(dir.write("data", content)).value();
  EXPECT_EQ(file.size(), 100000);
  file.will_need(0, file.size());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t offset = t * 10; offset + 1000 < content.size(); offset += 997) {
        std::string part(1000, '\0');
        if (!file.read_at(static_cast<int64_t>(offset), part.data(), 1000).ok() ||
            part != content.substr(offset, 1000)) {
          ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(File, ShortFileIsCorruptAndSaysWhereItEnds) {
  const TempDir dir;
  const File file = File::open(dir.write("data", "0123456789")).value();
  char out[16];
  EXPECT_TRUE(file.read_at(0, out, 10).ok());
  EXPECT_TRUE(file.read_at(10, out, 0).ok());
  for (const int64_t offset : {int64_t{4}, int64_t{10}, int64_t{1} << 40}) {
    const Status status = file.read_at(offset, out, 16);
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find("data: ends at byte"), std::string::npos) << status.message();
  }
}

TEST(File, AbsurdRangesAreInvalid) {
  const TempDir dir;
  const File file = File::open(dir.write("data", "0123456789")).value();
  char out[16];
  EXPECT_EQ(file.read_at(-1, out, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(file.read_at(0, out, -1).code(), Code::kInvalidArgument);
  EXPECT_EQ(file.read_at(INT64_MAX, out, 2).code(), Code::kInvalidArgument);
  EXPECT_EQ(File().read_at(0, out, 1).code(), Code::kInvalidArgument);
}

TEST(File, WhatIsNoRegularFileIsRefused) {
  const TempDir dir;
  EXPECT_EQ(File::open(dir / "absent").status().code(), Code::kNotFound);
  EXPECT_EQ(File::open(dir.write("plain", "x") + "/below").status().code(), Code::kNotFound);
  EXPECT_EQ(File::open(dir.path()).status().code(), Code::kIo);
  EXPECT_EQ(File::open("/dev/null").status().code(), Code::kIo);
  EXPECT_EQ(File::open("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(File::open(std::string("plain\0x", 7)).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(File::open(dir / "fifo").status().code(), Code::kIo);  // and does not hang
}

TEST(File, MovesOwnership) {
  const TempDir dir;
  File a = File::open(dir.write("a", "aaaa")).value();
  File b = File::open(dir.write("b", "bb")).value();
  b = std::move(a);
  char out[4];
  EXPECT_EQ(b.size(), 4);
  EXPECT_TRUE(b.read_at(0, out, 4).ok());
  EXPECT_EQ(out[0], 'a');
}

TEST(ReadFile, ReturnsEveryByte) {
  const TempDir dir;
  const std::string content("a\0b\r\n\xff", 6);
  EXPECT_EQ(*read_file(dir.write("x", content), 6), content);
  EXPECT_EQ(*read_file(dir.write("empty", ""), 0), "");
  const std::string large(1 << 20, 'q');
  EXPECT_EQ(*read_file(dir.write("large", large), 1 << 20), large);
}

TEST(ReadFile, FilesThatClaimNoSizeAreReadToTheirEnd) {
  const Result<std::string> status = read_file("/proc/self/status", 1 << 20);
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("VmRSS"), std::string::npos);
}

TEST(ReadFile, TheLimitHolds) {
  const TempDir dir;
  const Result<std::string> large = read_file(dir.write("x", "1234567"), 6);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.status().code(), Code::kInvalidArgument);
  EXPECT_NE(large.status().message().find("7 bytes, expected at most 6"), std::string::npos);
  EXPECT_EQ(read_file("/proc/self/status", 10).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(read_file("/dev/zero", 100000).status().code(), Code::kInvalidArgument);
}

TEST(ReadFile, ErrorsNameTheFile) {
  const TempDir dir;
  const Result<std::string> absent = read_file(dir / "absent", 10);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.status().code(), Code::kNotFound);
  EXPECT_NE(absent.status().message().find(dir / "absent"), std::string::npos);
  EXPECT_EQ(read_file(dir.path(), 10).status().code(), Code::kIo);
}

TEST(WriteFile, ReplacesWholeAndLeavesNothingBeside) {
  const TempDir dir;
  ASSERT_TRUE(write_file(dir / "x", "first").ok());
  ASSERT_TRUE(write_file(dir / "x", std::string("se\0cond", 7)).ok());
  EXPECT_EQ(*read_file(dir / "x", 100), std::string("se\0cond", 7));
  const std::filesystem::directory_iterator entries(dir.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(WriteFile, FollowsALinkAndKeepsTheMode) {
  const TempDir dir;
  const std::string target = dir.write("target", "old");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  std::filesystem::create_symlink(target, dir / "link");
  ASSERT_TRUE(write_file(dir / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(*read_file(target, 10), "new");
  struct stat info {};
  ASSERT_EQ(::stat(target.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(WriteFile, DevicesAreWrittenInPlace) {
  EXPECT_TRUE(write_file("/dev/null", "gone").ok());
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
}

TEST(WriteFile, FailuresLeaveTheOldContent) {
  const TempDir dir;
  EXPECT_EQ(write_file(dir / "no/such/folder", "x").code(), Code::kNotFound);
  EXPECT_EQ(write_file(dir.path(), "x").code(), Code::kIo);
  EXPECT_EQ(write_file("", "x").code(), Code::kInvalidArgument);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(write_file("/dev/full", "x").code(), Code::kIo);
  }
}

}  // namespace
}  // namespace trine
