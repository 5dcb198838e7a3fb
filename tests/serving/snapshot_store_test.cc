// A folder of snapshots: found again after a restart, within its budget, and never a wrong answer
// whatever else happens to the folder.
#include "serving/snapshot_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "serving/snapshot_fixture.h"
#include "support/temp_dir.h"

namespace trine::serving {
namespace {

using testing::TempDir;
using Tokens = std::vector<int32_t>;

Tokens text(const std::string& letters) { return Tokens(letters.begin(), letters.end()); }

const SnapshotShape& shape() {
  static const SnapshotShape made{.model_hash = "a model",
                                  .state_bytes = 100,
                                  .block_tokens = 4,
                                  .block_bytes = 40,
                                  .block_planes = 2};
  return made;
}

SnapshotStore::Options options(const std::string& folder, int64_t budget_bytes = 1 << 20) {
  return {.folder = folder, .shape = shape(), .budget_bytes = budget_bytes};
}

std::unique_ptr<SnapshotStore> open(const SnapshotStore::Options& options) {
  auto store = SnapshotStore::open(options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return *std::move(store);
}

Status put(SnapshotStore& store, const std::string& letters, uint32_t seed = 1) {
  const MemorySnapshot made(shape(), text(letters), seed);
  return store.put(made.tokens, SnapshotKind::kPromptEnd, made.state, made.source());
}

int64_t found(const SnapshotStore& store, const std::string& letters) {
  const auto stored = store.find(text(letters), std::ssize(letters));
  return stored ? stored->position : 0;
}

// Loads the longest prefix of `letters` and compares it with what put(.., seed) wrote.
Status load_and_compare(SnapshotStore& store, const std::string& letters, uint32_t seed = 1) {
  const auto stored = store.find(text(letters), std::ssize(letters));
  if (!stored) return Status(Code::kNotFound, "not in the index");
  const Tokens prefix = text(letters.substr(0, static_cast<size_t>(stored->position)));
  MemorySnapshot into(shape(), prefix, 99);
  Status status = store.load(*stored, text(letters), into.state, into.target());
  if (status.ok()) expect_same(shape(), MemorySnapshot(shape(), prefix, seed), into);
  return status;
}

// The only file of the folder with that end.
std::string only_file(const TempDir& dir, const std::string& suffix) {
  std::string match;
  for (const std::string& name : names_in(dir.path())) {
    if (!name.ends_with(suffix)) continue;
    EXPECT_TRUE(match.empty()) << match << " and " << name;
    match = name;
  }
  EXPECT_FALSE(match.empty()) << "no file *" << suffix;
  return dir / match;
}

bool has_file(const TempDir& dir, const std::string& suffix) {
  const auto names = names_in(dir.path());
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.ends_with(suffix); });
}

TEST(SnapshotStore, FindsTheLongestStoredPrefixAndGivesItBack) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir / "snapshots"));
  for (const char* letters : {"ab", "abcd", "abcdefghi", "abX"}) {
    ASSERT_TRUE(put(*store, letters).ok());
  }
  EXPECT_EQ(found(*store, "abcdefghijkl"), 9);
  EXPECT_EQ(found(*store, "abcdefghi"), 9);
  EXPECT_EQ(found(*store, "abcdefgh"), 4);
  EXPECT_EQ(found(*store, "abXY"), 3);
  EXPECT_EQ(found(*store, "a"), 0);
  EXPECT_EQ(found(*store, "Xab"), 0);
  EXPECT_EQ(found(*store, ""), 0);
  EXPECT_EQ(store->find(text("abcdefghi"), 8)->position, 4);
  EXPECT_EQ(store->find(text("abcdefghi"), -1), std::nullopt);
  EXPECT_EQ(store->find(text("abcdefghi"), 1000)->position, 9);
  EXPECT_EQ(store->find(text("ab"), 2)->kind, SnapshotKind::kPromptEnd);
  EXPECT_TRUE(load_and_compare(*store, "abcdefghijkl").ok());
  EXPECT_TRUE(load_and_compare(*store, "abcdef").ok());
  EXPECT_EQ(store->usage().files, 4);
  EXPECT_EQ(store->usage().bytes, shape().file_bytes(2) + shape().file_bytes(4) +
                                      shape().file_bytes(9) + shape().file_bytes(3));
}

TEST(SnapshotStore, IsThereAgainAfterARestart) {
  const TempDir dir(fast_folder());
  {
    const auto store = open(options(dir.path()));
    ASSERT_TRUE(put(*store, "abcd").ok());
    ASSERT_TRUE(put(*store, "abcdefghi").ok());
  }
  const auto store = open(options(dir.path()));
  EXPECT_EQ(store->usage().files, 2);
  EXPECT_EQ(store->usage().bytes, shape().file_bytes(4) + shape().file_bytes(9));
  EXPECT_EQ(store->ignored_count(), 0);
  EXPECT_EQ(found(*store, "abcdefghijkl"), 9);
  EXPECT_EQ(store->find(text("abcd"), 4)->kind, SnapshotKind::kPromptEnd);
  EXPECT_TRUE(load_and_compare(*store, "abcdefghijkl").ok());
  EXPECT_TRUE(load_and_compare(*store, "abcdX").ok());
}

TEST(SnapshotStore, ALaterSnapshotOfTheSameTokensChangesNothing) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path()));
  ASSERT_TRUE(put(*store, "abcd", 1).ok());
  const std::string before = content_of(only_file(dir, ".snapshot"));
  ASSERT_TRUE(put(*store, "abcd", 2).ok());
  EXPECT_EQ(content_of(only_file(dir, ".snapshot")), before);
  EXPECT_EQ(store->usage().files, 1);
}

TEST(SnapshotStore, AFileThatIsNotItsOwnIsNeverReplaced) {
  const TempDir dir(fast_folder());
  std::string name;
  {
    const auto store = open(options(dir.path()));
    ASSERT_TRUE(put(*store, "abcd").ok());
    name = only_file(dir, ".snapshot");
    ASSERT_TRUE(store->clear().ok());
    std::ofstream(name) << "somebody else's";
    EXPECT_EQ(put(*store, "abcd").code(), Code::kIo);
    EXPECT_EQ(found(*store, "abcd"), 0);
    EXPECT_EQ(store->usage().bytes, 0);
  }
  const auto store = open(options(dir.path()));
  EXPECT_EQ(store->ignored_count(), 1);
  EXPECT_EQ(put(*store, "abcd").code(), Code::kIo);
  EXPECT_EQ(content_of(name), "somebody else's");
}

TEST(SnapshotStore, OtherModelsAndStrangersAreIgnoredWithAReasonAndKept) {
  const TempDir dir(fast_folder());
  SnapshotStore::Options other = options(dir.path());
  other.shape.model_hash = "another model";
  ASSERT_TRUE(put(*open(other), "abcd").ok());
  const std::string foreign = only_file(dir, ".snapshot");
  dir.write("notes.txt", "mine");
  dir.write("4-0123.snapshot", "no such name");
  const auto store = open(options(dir.path(), 0));
  EXPECT_EQ(store->usage().files, 0);
  EXPECT_EQ(found(*store, "abcd"), 0);
  ASSERT_EQ(store->ignored_count(), 3);
  ASSERT_EQ(store->ignored().size(), 3u);
  for (const auto& file : store->ignored()) {
    const bool is_foreign = foreign.ends_with(file.name);
    EXPECT_NE(file.reason.find(is_foreign ? "another model" : "not a file of the snapshot store"),
              std::string::npos)
        << file.name << ": " << file.reason;
  }
  EXPECT_TRUE(std::filesystem::exists(foreign));
  EXPECT_TRUE(std::filesystem::exists(dir / "notes.txt"));
}

TEST(SnapshotStore, ListsABoundedNumberOfWhatItIgnores) {
  const TempDir dir(fast_folder());
  for (int i = 0; i < 150; ++i) dir.write("stranger" + std::to_string(i), "x");
  const auto store = open(options(dir.path()));
  EXPECT_EQ(store->ignored_count(), 150);
  EXPECT_EQ(std::ssize(store->ignored()), SnapshotStore::kIgnoredListedMax);
}

TEST(SnapshotStore, PartialFilesOfADeadServerAreRemoved) {
  const TempDir dir(fast_folder());
  {
    const auto store = open(options(dir.path()));
    ASSERT_TRUE(put(*store, "abcd").ok());
  }
  const std::string partial = only_file(dir, ".snapshot") + ".4711.0.partial";
  std::filesystem::copy_file(only_file(dir, ".snapshot"), partial);
  dir.write("letter.partial", "not written by the store");
  const auto store = open(options(dir.path()));
  EXPECT_FALSE(std::filesystem::exists(partial));
  EXPECT_TRUE(std::filesystem::exists(dir / "letter.partial"));
  EXPECT_EQ(store->usage().files, 1);
}

TEST(SnapshotStore, ARenamedFileIsNotBelievedItsName) {
  const TempDir dir(fast_folder());
  {
    const auto store = open(options(dir.path()));
    ASSERT_TRUE(put(*store, "abcd").ok());
  }
  const std::string name = only_file(dir, ".snapshot");
  std::filesystem::rename(name, dir / ("4-" + std::string(32, '0') + ".snapshot"));
  const auto store = open(options(dir.path()));
  EXPECT_EQ(store->usage().files, 0);
  EXPECT_EQ(store->ignored_count(), 1);
}

TEST(SnapshotStore, AFileWithDamagedTokensIsNotTakenInAtTheStart) {
  const TempDir dir(fast_folder());
  ASSERT_TRUE(put(*open(options(dir.path())), "abcd").ok());
  const std::string name = only_file(dir, ".snapshot");
  std::string content = content_of(name);
  content[192] = 'X';  // the first token
  std::ofstream(name, std::ios::binary) << content;
  const auto store = open(options(dir.path()));
  EXPECT_EQ(found(*store, "abcd"), 0);
  EXPECT_EQ(found(*store, "Xbcd"), 0);
  ASSERT_EQ(store->ignored_count(), 1);
  EXPECT_NE(store->ignored()[0].reason.find("do not match their checksum"), std::string::npos);
  EXPECT_EQ(content_of(name), content) << "the evidence stays where it is";
}

TEST(SnapshotStore, ADamagedFileIsAMissAndIsSetAside) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path()));
  ASSERT_TRUE(put(*store, "ab").ok());
  ASSERT_TRUE(put(*store, "abcdefghi").ok());
  const std::string name = dir / store->find(text("abcdefghi"), 9)->name;
  std::string content = content_of(name);
  content[250] = static_cast<char>(content[250] ^ 1);  // in the state
  std::ofstream(name, std::ios::binary) << content;
  const Status status = load_and_compare(*store, "abcdefghi");
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
  EXPECT_FALSE(std::filesystem::exists(name));
  EXPECT_EQ(content_of(name + ".damaged"), content);
  EXPECT_EQ(found(*store, "abcdefghi"), 2) << "the next shorter one serves";
  EXPECT_EQ(store->usage().bytes, shape().file_bytes(2));
  EXPECT_TRUE(put(*store, "abcdefghi").ok()) << "its place is free again";
  EXPECT_TRUE(load_and_compare(*store, "abcdefghi").ok());
}

TEST(SnapshotStore, AVanishedFileIsAMiss) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path()));
  ASSERT_TRUE(put(*store, "ab").ok());
  ASSERT_TRUE(put(*store, "abcd").ok());
  std::filesystem::remove(dir / store->find(text("abcd"), 4)->name);
  EXPECT_EQ(load_and_compare(*store, "abcd").code(), Code::kNotFound);
  EXPECT_EQ(found(*store, "abcd"), 2);
  EXPECT_TRUE(load_and_compare(*store, "abcd").ok());
}

TEST(SnapshotStore, TokensAreComparedAndNotOnlyTheirHash) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path()));
  ASSERT_TRUE(put(*store, "abcd").ok());
  const auto stored = *store->find(text("abcd"), 4);
  MemorySnapshot into(shape(), text("abcd"), 99);
  for (const char* letters : {"abcX", "abc", ""}) {
    EXPECT_EQ(store->load(stored, text(letters), into.state, into.target()).code(), Code::kNotFound)
        << letters;
  }
  EXPECT_EQ(found(*store, "abcd"), 0) << "an entry that deceived is not asked again";
}

TEST(SnapshotStore, KeepsItsBudgetByDeletingTheLongestUnused) {
  const TempDir dir(fast_folder());
  const int64_t one = shape().file_bytes(4);
  const auto store = open(options(dir.path(), 3 * one));
  for (const char* letters : {"aaaa", "bbbb", "cccc"}) ASSERT_TRUE(put(*store, letters).ok());
  EXPECT_TRUE(load_and_compare(*store, "aaaa").ok());
  ASSERT_TRUE(put(*store, "dddd").ok());
  EXPECT_EQ(store->usage().bytes, 3 * one);
  EXPECT_EQ(found(*store, "bbbb"), 0);
  ASSERT_TRUE(put(*store, "cccc").ok());  // there already: used, not written
  ASSERT_TRUE(put(*store, "eeee").ok());
  EXPECT_EQ(found(*store, "aaaa"), 0);
  EXPECT_EQ(found(*store, "cccc"), 4);
  int64_t on_disk = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir.path())) {
    on_disk += static_cast<int64_t>(file.file_size());
  }
  EXPECT_EQ(on_disk, 3 * one);
}

TEST(SnapshotStore, WhatIsLargerThanTheBudgetIsRefusedAndDeletesNothing) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path(), shape().file_bytes(4)));
  ASSERT_TRUE(put(*store, "abcd").ok());
  const Status status = put(*store, "abcde");
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("a snapshot of 5 tokens takes"), std::string::npos);
  EXPECT_EQ(put(*store, "").code(), Code::kInvalidArgument);
  EXPECT_EQ(found(*store, "abcd"), 4);
}

TEST(SnapshotStore, ASmallerBudgetAtTheNextStartDeletesTheLongestUnused) {
  const TempDir dir(fast_folder());
  const int64_t one = shape().file_bytes(4);
  {
    const auto store = open(options(dir.path()));
    for (const char* letters : {"aaaa", "bbbb", "cccc"}) ASSERT_TRUE(put(*store, letters).ok());
    // The clock of files may be coarse, so the order of use is written into them here.
    const auto now = std::filesystem::file_time_type::clock::now();
    for (const auto& [letters, age] : {std::pair("aaaa", 1), {"bbbb", 3}, {"cccc", 2}}) {
      std::filesystem::last_write_time(dir / store->find(text(letters), 4)->name,
                                       now - std::chrono::hours(age));
    }
    ASSERT_TRUE(load_and_compare(*store, "bbbb").ok());  // is used: now the latest
  }
  const auto store = open(options(dir.path(), 2 * one));
  EXPECT_EQ(found(*store, "aaaa"), 4);
  EXPECT_EQ(found(*store, "bbbb"), 4);
  EXPECT_EQ(found(*store, "cccc"), 0);
  EXPECT_EQ(store->usage().bytes, 2 * one);
}

TEST(SnapshotStore, TwoServersOnOneFolderAreOneTooMany) {
  const TempDir dir(fast_folder());
  auto first = open(options(dir.path()));
  const auto second = SnapshotStore::open(options(dir.path()));
  EXPECT_EQ(second.status().code(), Code::kBusy);
  EXPECT_NE(second.status().message().find("another server"), std::string::npos);
  EXPECT_TRUE(put(*first, "abcd").ok()) << "the first is not disturbed";
  first.reset();
  EXPECT_TRUE(SnapshotStore::open(options(dir.path())).ok());
}

TEST(SnapshotStore, FoldersThatCannotBeUsedAreRefusedAtTheStart) {
  const TempDir dir(fast_folder());
  EXPECT_EQ(SnapshotStore::open(options(dir / "no/parent")).status().code(), Code::kNotFound);
  EXPECT_FALSE(SnapshotStore::open(options(dir.write("file", "x"))).ok());
  EXPECT_EQ(SnapshotStore::open(options("")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SnapshotStore::open(options(dir.path(), -1)).status().code(), Code::kInvalidArgument);
  SnapshotStore::Options uneven = options(dir.path());
  uneven.shape.block_bytes = 41;
  EXPECT_EQ(SnapshotStore::open(uneven).status().code(), Code::kInvalidArgument);
  if (::geteuid() == 0) return;  // who may write everywhere sees no unwritable folder
  std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_read);
  EXPECT_EQ(SnapshotStore::open(options(dir.path())).status().code(), Code::kIo);
  std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_all);
}

TEST(SnapshotStore, AFullDiskOrALostFolderKeepsNothingAndSaysSo) {
  const TempDir dir(fast_folder());
  const std::string folder = dir / "snapshots";
  const auto store = open(options(folder));
  {
    const FileSizeLimit full(300);
    EXPECT_EQ(put(*store, "abcd").code(), Code::kIo);
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"trine.lock"});
  EXPECT_EQ(store->usage().files, 0);
  EXPECT_TRUE(put(*store, "abcd").ok()) << "it tries again when there is room";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(put(*store, "efgh").code(), Code::kNotFound);
  EXPECT_EQ(load_and_compare(*store, "abcd").code(), Code::kNotFound);
  EXPECT_EQ(store->usage().bytes, 0);
}

TEST(SnapshotStore, ClearDeletesItsFilesAndNoOthers) {
  const TempDir dir(fast_folder());
  const auto store = open(options(dir.path()));
  dir.write("letter", "mine");
  ASSERT_TRUE(put(*store, "abcd").ok());
  ASSERT_TRUE(store->clear().ok());
  EXPECT_EQ(found(*store, "abcd"), 0);
  EXPECT_EQ(store->usage().files, 0);
  EXPECT_FALSE(has_file(dir, ".snapshot"));
  EXPECT_EQ(content_of(dir / "letter"), "mine");
}

TEST(SnapshotStore, WritersAndReadersOnManyThreadsNeverSeeAWrongSnapshot) {
  const TempDir dir(fast_folder());
  const int64_t budget = 6 * shape().file_bytes(12);
  const auto store = open(options(dir.path(), budget));
  std::atomic<int> loaded = 0, wrong = 0, unexpected = 0;
  const auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) {
      const uint32_t which = static_cast<uint32_t>(random()) % 10;
      const Tokens tokens(8 + which % 5, static_cast<int32_t>(which));
      const MemorySnapshot expected(shape(), tokens, which);
      if (random() % 2 == 0) {
        const Status status = store->put(expected.tokens, SnapshotKind::kAnswerEnd, expected.state,
                                         expected.source());
        if (!status.ok() && status.code() != Code::kBusy) ++unexpected;
      } else if (const auto stored = store->find(tokens, std::ssize(tokens))) {
        MemorySnapshot into(shape(), tokens, 99);
        const Status status = store->load(*stored, tokens, into.state, into.target());
        if (status.ok()) ++loaded;
        if (status.ok() && into.state != expected.state) ++wrong;
        if (!status.ok() && status.code() != Code::kNotFound) ++unexpected;
      }
      if (store->usage().bytes > budget) ++unexpected;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(unexpected, 0);
  EXPECT_GT(loaded, 0);
  EXPECT_FALSE(has_file(dir, ".partial"));
}

}  // namespace
}  // namespace trine::serving
