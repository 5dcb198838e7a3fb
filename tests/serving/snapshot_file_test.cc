// One snapshot in one file: it comes back as it was, or is refused; nothing between.
#include "serving/snapshot_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <numeric>

#include "serving/snapshot_fixture.h"
#include "support/temp_dir.h"

namespace trine::serving {
namespace {

using testing::TempDir;

// Blocks of 4 tokens, 2 layers, 5 bytes a row.
const SnapshotShape& small_shape() {
  static const SnapshotShape shape{.model_hash = "a model",
                                   .state_bytes = 37,
                                   .block_tokens = 4,
                                   .block_bytes = 40,
                                   .block_planes = 2};
  return shape;
}

std::vector<int32_t> first_tokens(int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1000);
  return tokens;
}

// Opens and reads the whole; the first thing that goes wrong.
Status read_all(const std::string& path, const SnapshotShape& shape) {
  auto reader = SnapshotReader::open(path, shape);
  if (!reader.ok()) return reader.status();
  MemorySnapshot into(shape, reader->tokens(), 1);
  return reader->read(into.state, into.target());
}

TEST(SnapshotFile, ComesBackAsItWasAtEveryPosition) {
  const TempDir dir(fast_folder());
  for (int64_t position = 1; position <= 13; ++position) {
    SCOPED_TRACE(position);
    const MemorySnapshot made(small_shape(), first_tokens(position), 7);
    const std::string path = dir / std::to_string(position);
    ASSERT_TRUE(write(path, small_shape(), made).ok());
    EXPECT_EQ(std::ssize(content_of(path)), small_shape().file_bytes(position));
    const auto reader = SnapshotReader::open(path, small_shape());
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ(reader->position(), position);
    EXPECT_EQ(reader->tokens(), made.tokens);
    EXPECT_EQ(reader->kind(), SnapshotKind::kAnswerEnd);
    MemorySnapshot into(small_shape(), reader->tokens(), 8);
    const auto untouched = into.blocks;
    ASSERT_TRUE(reader->read(into.state, into.target()).ok());
    expect_same(small_shape(), made, into);
    if (position % 4 != 0) {  // the last row of the last block is past the position
      EXPECT_TRUE(std::equal(into.blocks.back().end() - 5, into.blocks.back().end(),
                             untouched.back().end() - 5));
    }
  }
}

TEST(SnapshotFile, HoldsNoRowOfOthers) {
  // The rest of a partial block belongs to who goes on from there: another conversation.
  const TempDir dir(fast_folder());
  MemorySnapshot made(small_shape(), first_tokens(6), 7);
  ASSERT_TRUE(write(dir / "a", small_shape(), made).ok());
  for (const size_t row : {2u, 3u, 6u, 7u}) {  // rows 2 and 3 of both layers
    std::fill_n(made.blocks[1].begin() + static_cast<std::ptrdiff_t>(row * 5), 5, std::byte{0x5A});
  }
  ASSERT_TRUE(write(dir / "b", small_shape(), made).ok());
  EXPECT_EQ(content_of(dir / "a"), content_of(dir / "b"));
}

TEST(SnapshotFile, ModelsWithoutStatesOrLatents) {
  const TempDir dir(fast_folder());
  const SnapshotShape no_state{.model_hash = "m", .block_tokens = 4, .block_bytes = 40};
  const SnapshotShape no_latents{.model_hash = "m", .state_bytes = 11};
  const SnapshotShape nothing{.model_hash = "m"};
  int index = 0;
  for (const SnapshotShape& shape : {no_state, no_latents, nothing}) {
    const MemorySnapshot made(shape, first_tokens(9), 7);
    const std::string path = dir / std::to_string(index++);
    ASSERT_TRUE(write(path, shape, made).ok());
    const auto reader = SnapshotReader::open(path, shape);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    MemorySnapshot into(shape, reader->tokens(), 8);
    ASSERT_TRUE(reader->read(into.state, into.target()).ok());
    expect_same(shape, made, into);
  }
}

TEST(SnapshotFile, EveryFlippedBitIsSeen) {
  const TempDir dir(fast_folder());
  const std::string path = dir / "a";
  ASSERT_TRUE(write(path, small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  const std::string whole = content_of(path);
  ASSERT_TRUE(read_all(path, small_shape()).ok());
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const Status status = read_all(dir.write("damaged", damaged), small_shape());
      // A version is believed before the rest is: it says how to read the rest.
      const bool version = at >= 8 && at < 12;
      ASSERT_EQ(status.code(), version ? Code::kUnsupported : Code::kCorrupt)
          << "byte " << at << ", bit " << bit;
      // What a scan of the folder relies on is seen without the rest.
      const bool head = at < 192 + 6 * sizeof(int32_t);
      ASSERT_EQ(SnapshotReader::open(dir / "damaged", small_shape()).ok(), !head) << at;
    }
  }
}

TEST(SnapshotFile, EveryOtherLengthIsSeen) {
  const TempDir dir(fast_folder());
  const std::string path = dir / "a";
  ASSERT_TRUE(write(path, small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  const std::string whole = content_of(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_EQ(read_all(dir.write("short", whole.substr(0, length)), small_shape()).code(),
              Code::kCorrupt)
        << length;
  }
  EXPECT_EQ(read_all(dir.write("long", whole + '\0'), small_shape()).code(), Code::kCorrupt);
}

TEST(SnapshotFile, CutWhileItIsReadIsSeen) {
  const TempDir dir(fast_folder());
  const std::string path = dir / "a";
  ASSERT_TRUE(write(path, small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  const auto reader = SnapshotReader::open(path, small_shape());
  ASSERT_TRUE(reader.ok());
  std::filesystem::resize_file(path, 230);
  MemorySnapshot into(small_shape(), reader->tokens(), 1);
  EXPECT_EQ(reader->read(into.state, into.target()).code(), Code::kCorrupt);
}

TEST(SnapshotFile, AnotherModelsSnapshotIsNotRead) {
  const TempDir dir(fast_folder());
  const std::string path = dir / "a";
  ASSERT_TRUE(write(path, small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  std::vector<SnapshotShape> others(5, small_shape());
  others[0].model_hash = "a model, with int8 inputs";
  others[1].state_bytes = 38;
  others[2].block_bytes = 80;
  others[3].block_planes = 1;
  others[4].block_tokens = 2;
  for (const SnapshotShape& other : others) {
    const auto reader = SnapshotReader::open(path, other);
    EXPECT_EQ(reader.status().code(), Code::kUnsupported) << reader.status().message();
  }
}

TEST(SnapshotFile, NumbersThatWouldNeedMoreThanAllMemoryAreRefusedUnread) {
  const TempDir dir(fast_folder());
  const std::string path = dir / "a";
  ASSERT_TRUE(write(path, small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  const std::string whole = content_of(path);
  // position, state_bytes, block_tokens, block_bytes, block_planes, kind
  for (size_t field = 16; field < 64; field += 8) {
    for (const int64_t value : {int64_t{-1}, int64_t{0}, INT64_MAX, INT64_MIN, int64_t{1} << 40}) {
      std::string damaged = whole;
      std::copy_n(reinterpret_cast<const char*>(&value), sizeof value,
                  damaged.begin() + static_cast<std::ptrdiff_t>(field));
      if (damaged == whole) continue;
      EXPECT_EQ(read_all(dir.write("damaged", damaged), small_shape()).code(), Code::kCorrupt)
          << "field at " << field << " = " << value;
    }
  }
}

TEST(SnapshotFile, WhatIsThereStaysUnlessReplacingWasAskedFor) {
  const TempDir dir(fast_folder());
  const std::string path = dir.write("a", "a letter");
  const MemorySnapshot made(small_shape(), first_tokens(6), 7);
  const Status kept = write(path, small_shape(), made);
  EXPECT_EQ(kept.code(), Code::kIo);
  EXPECT_NE(kept.message().find("File exists"), std::string::npos) << kept.message();
  EXPECT_EQ(content_of(path), "a letter");
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"}) << "no partial file stays";
  ASSERT_TRUE(write(path, small_shape(), made, PartialFile::Existing::kReplace).ok());
  EXPECT_TRUE(read_all(path, small_shape()).ok());
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"a"});
}

TEST(SnapshotFile, OthersMayNotReadWhatUsersWrote) {
  const TempDir dir(fast_folder());
  ASSERT_TRUE(write(dir / "a", small_shape(), {small_shape(), first_tokens(6), 7}).ok());
  struct stat info {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST(SnapshotFile, RefusalsNameWhatIsWrong) {
  const TempDir dir(fast_folder());
  const MemorySnapshot made(small_shape(), first_tokens(6), 7);
  EXPECT_EQ(write(dir / "no/such/folder/a", small_shape(), made).code(), Code::kNotFound);
  EXPECT_EQ(write("", small_shape(), made).code(), Code::kInvalidArgument);
  EXPECT_EQ(write(dir / "a", small_shape(), {small_shape(), {}, 7}).code(), Code::kInvalidArgument);
  SnapshotShape uneven = small_shape();
  uneven.block_bytes = 41;
  EXPECT_EQ(write(dir / "a", uneven, made).code(), Code::kInvalidArgument);
  SnapshotShape larger = small_shape();
  larger.state_bytes = 38;
  EXPECT_EQ(write(dir / "a", larger, made).code(), Code::kInvalidArgument);
  EXPECT_TRUE(names_in(dir.path()).empty());
  EXPECT_EQ(read_all(dir / "a", small_shape()).code(), Code::kNotFound);
  ASSERT_TRUE(write(dir / "a", small_shape(), made).ok());
  const auto reader = SnapshotReader::open(dir / "a", small_shape());
  std::vector<std::byte> too_small(36);
  EXPECT_EQ(reader->read(too_small, nullptr).code(), Code::kInvalidArgument);
}

TEST(SnapshotFile, AFullDiskLeavesNothingBehind) {
  const TempDir dir(fast_folder());
  const MemorySnapshot made(small_shape(), first_tokens(6), 7);
  for (const rlim_t room : {0u, 100u, 192u, 220u, 300u}) {
    const FileSizeLimit full(room);
    EXPECT_EQ(write(dir / "a", small_shape(), made).code(), Code::kIo) << room;
    EXPECT_TRUE(names_in(dir.path()).empty()) << room;
  }
  EXPECT_TRUE(write(dir / "a", small_shape(), made).ok());
}

}  // namespace
}  // namespace trine::serving
