// Snapshots with content that differs in every byte's place, and files as strings.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "serving/snapshot_file.h"

namespace trine::serving {

/// Where files are synced in no time: these tests write thousands.
inline std::filesystem::path fast_folder() {
  const char* const memory = "/dev/shm";
  return ::access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

/// A snapshot in memory as slots and blocks hold it, the rows past its position included.
struct MemorySnapshot {
  MemorySnapshot(const SnapshotShape& shape, std::vector<int32_t> ids, uint32_t seed)
      : tokens(std::move(ids)), state(static_cast<size_t>(shape.state_bytes)) {
    std::mt19937 random(seed);
    const auto fill = [&random](std::vector<std::byte>& bytes) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
    };
    fill(state);
    blocks.resize(static_cast<size_t>(shape.blocks_of(std::ssize(tokens))));
    for (auto& block : blocks) {
      block.resize(static_cast<size_t>(shape.block_bytes));
      fill(block);
    }
  }

  BlockSource source() const {
    return [this](int64_t index) { return blocks.at(static_cast<size_t>(index)).data(); };
  }
  BlockTarget target() {
    return [this](int64_t index) { return blocks.at(static_cast<size_t>(index)).data(); };
  }

  std::vector<int32_t> tokens;
  std::vector<std::byte> state;
  std::vector<std::vector<std::byte>> blocks;
};

inline Status write(const std::string& path, const SnapshotShape& shape,
                    const MemorySnapshot& snapshot,
                    PartialFile::Existing existing = PartialFile::Existing::kKeep) {
  return write_snapshot_file(path, shape, snapshot.tokens, SnapshotKind::kAnswerEnd, snapshot.state,
                             snapshot.source(), existing);
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    names.push_back(file.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Writes beyond that many bytes of a file fail, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// State and the rows of [0, position) are equal; what lies past them is nobody's business.
inline void expect_same(const SnapshotShape& shape, const MemorySnapshot& a,
                        const MemorySnapshot& b) {
  EXPECT_EQ(a.state, b.state);
  const int64_t plane = shape.block_bytes / shape.block_planes;
  const int64_t row = plane / shape.block_tokens;
  for (int64_t token = 0; token < std::ssize(a.tokens); ++token) {
    const auto block = static_cast<size_t>(token / shape.block_tokens);
    for (int64_t p = 0; p < shape.block_planes; ++p) {
      const int64_t at = p * plane + token % shape.block_tokens * row;
      ASSERT_TRUE(std::equal(a.blocks[block].begin() + at, a.blocks[block].begin() + at + row,
                             b.blocks[block].begin() + at))
          << "token " << token << ", plane " << p;
    }
  }
}

}  // namespace trine::serving
