// Folders as downloads leave them: shards, links, indexes old and hostile, side files.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_index.h"
#include "platform/file.h"
#include "support/checkpoint_builder.h"
#include "support/finding_checks.h"
#include "support/temp_dir.h"

namespace trine::testing {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;
using checkpoint::ExpectedTensor;
using checkpoint::Findings;
using checkpoint::Role;

constexpr const char* kIndex = "model.safetensors.index.json";

/// A whole checkpoint of three shards with an index, and ways to damage it.
class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    builder_.choose(
        [](const ExpectedTensor& t) { return t.role == Role::kExpert ? mxfp4() : bf16(); });
    builder_.build().write(dir_.path(), 3);
  }
  static std::string shard(int i) {
    return "model-0000" + std::to_string(i) + "-of-000003.safetensors";
  }
  std::string read(const std::string& name) const {
    const Result<std::string> text = read_file(dir_ / name, 1 << 20);
    EXPECT_TRUE(text.ok()) << text.status().to_string();
    return text.ok() ? *text : "";
  }
  void replace_in_index(const std::string& from, const std::string& to, bool all = false) {
    std::string text = read(kIndex);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    for (; at != std::string::npos; at = all ? text.find(from, at + to.size()) : std::string::npos)
      text.replace(at, from.size(), to);
    dir_.write(kIndex, text);
  }
  /// Opens; the findings are kept for count().
  Status open() {
    Result<Checkpoint> checkpoint = Checkpoint::open(dir_.path());
    if (!checkpoint.ok()) return checkpoint.status();
    findings_ = checkpoint->findings();
    has_weights_ = checkpoint->has_weights();
    expect_explained(findings_);
    return checkpoint->require_whole();
  }
  int64_t count(const std::string& kind, const std::string& part = "") const {
    return count_findings(findings_, kind, part);
  }
  std::string all() const { return all_findings(findings_); }

  TempDir dir_;
  CheckpointBuilder builder_{small_k3_config(), 5};
  Findings findings_;
  bool has_weights_ = false;
};

TEST_F(Folder, OfThreeShardsIsWhole) { EXPECT_TRUE(open().ok()) << all(); }

TEST_F(Folder, WithoutAnIndexIsWholeWithANote) {
  fs::remove(dir_ / kIndex);
  EXPECT_TRUE(open().ok()) << all();
  EXPECT_EQ(count("index-absent"), 1);
}

TEST_F(Folder, WithAnotherTotalSizeIsWholeWithANote) {
  replace_in_index("\"total_size\":", "\"total_size\":1");
  EXPECT_TRUE(open().ok()) << all();
  EXPECT_EQ(count("total-size"), 1) << all();
}

TEST_F(Folder, TakesATotalSizeOfAnyType) {
  for (const char* value : {"\"total_size\":1.5e9,\"x\":", "\"total_size\":\"many\",\"x\":",
                            "\"total_size\":-1,\"x\":", "\"total_size\":{},\"x\":"}) {
    SetUp();
    replace_in_index("\"total_size\":", value);
    EXPECT_TRUE(open().ok()) << value << all();
  }
}

TEST_F(Folder, TakesAnyNumberingOfShards) {
  const std::vector<std::string> names{"model-7-of-9.safetensors", "weights.safetensors",
                                       "model-000000-of-00001.safetensors"};
  for (int i = 1; i <= 3; ++i) {
    fs::rename(dir_ / shard(i), dir_ / names[static_cast<size_t>(i - 1)]);
    replace_in_index(shard(i), names[static_cast<size_t>(i - 1)], true);
  }
  EXPECT_TRUE(open().ok()) << all();
}

TEST_F(Folder, MayHoldLinksIntoAHubCache) {
  TempDir cache;
  for (int i = 1; i <= 3; ++i) {
    fs::rename(dir_ / shard(i), cache / ("blob" + std::to_string(i)));
    fs::create_symlink(cache / ("blob" + std::to_string(i)), dir_ / shard(i));
  }
  fs::rename(dir_ / "config.json", cache / "config");
  fs::create_symlink(cache / "config", dir_ / "config.json");
  EXPECT_TRUE(open().ok()) << all();
  fs::remove(cache / "blob2");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("broken-link", shard(2)), 1) << all();
}

TEST_F(Folder, WithoutOneShardNamesTheFile) {
  fs::remove(dir_ / shard(2));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("missing-shard", shard(2)), 1) << all();
  EXPECT_EQ(count("missing-shard", "incomplete download"), 1) << all();
}

TEST_F(Folder, WithoutIndexAndTheLastShardsSaysIncompleteDownload) {
  fs::remove(dir_ / kIndex);
  fs::remove(dir_ / shard(3));
  const Status status = open();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(count("missing-shard", "2 shards, expected 3 shards; missing are the numbers 3"), 1)
      << all();
  EXPECT_GE(count("missing-tensor"), 1);
}

TEST_F(Folder, WithATruncatedShardCountsTheBytes) {
  const auto size = fs::file_size(dir_ / shard(2));
  fs::resize_file(dir_ / shard(2), size - 4096);
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("truncated", "4096 bytes are missing"), 1) << all();
  EXPECT_EQ(count("missing-tensor"), 0) << all();
}

TEST_F(Folder, WithAShardCutInItsHeaderIsRefused) {
  fs::resize_file(dir_ / shard(1), 100);
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("header-length", shard(1)), 1) << all();
  EXPECT_EQ(count("not-checked", shard(1)), 1) << all();
  EXPECT_EQ(count("index-mismatch"), 0) << all();
  EXPECT_EQ(count("missing-tensor"), 0) << all();
}

TEST_F(Folder, WithTooFewFileDescriptorsBlamesTheEnvironment) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  ::close(next);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(next) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const Status status = open();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.code(), Code::kIo) << status.to_string();
  EXPECT_NE(status.message().find("Too many open files"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("ulimit"), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("download"), std::string::npos) << status.message();
}

/// What stands in a file's place; such as stop root too, whom permissions do not.
enum class InTheWay { kFolder, kLoop, kLinkToNothing };

void put_in_place_of(const std::string& path, InTheWay what) {
  fs::remove(path);
  if (what == InTheWay::kFolder) fs::create_directory(path);
  if (what == InTheWay::kLoop) fs::create_symlink(path, path);
  if (what == InTheWay::kLinkToNothing) fs::create_symlink("nothing", path);
}

std::string system_reason(InTheWay what) {
  return what == InTheWay::kLoop            ? "Too many levels of symbolic links"
         : what == InTheWay::kLinkToNothing ? "No such file or directory"
                                            : "directory";
}

TEST_F(Folder, SaysTheSystemsReasonForEverySideFileItCannotRead) {
  for (const char* name :
       {kIndex, "generation_config.json", "tiktoken.model", "tokenizer_config.json"})
    for (const InTheWay what : {InTheWay::kFolder, InTheWay::kLoop, InTheWay::kLinkToNothing}) {
      SCOPED_TRACE(name + (": " + system_reason(what)));
      TempDir copy;
      builder_.write(copy.path(), 3);
      copy.write("tiktoken.model", "IQ== 0\n");
      copy.write("tokenizer_config.json", "{}");
      put_in_place_of(copy / name, what);
      const Result<Checkpoint> checkpoint = Checkpoint::open(copy.path());
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
      const bool system = what != InTheWay::kLinkToNothing;
      findings_ = checkpoint->findings();
      expect_explained(findings_);
      EXPECT_EQ(count(system ? "unreadable" : "broken-link", name), 1) << all();
      EXPECT_EQ(count(system ? "unreadable" : "broken-link", system_reason(what)), 1) << all();
      const Status status = checkpoint->require_whole();
      EXPECT_EQ(status.code(), system ? Code::kIo : Code::kCorrupt);
      EXPECT_EQ(status.message().find("download") == std::string::npos, system) << status.message();
    }
}

TEST_F(Folder, WhoseConfigCannotBeReadSaysTheSystemsReason) {
  for (const InTheWay what : {InTheWay::kFolder, InTheWay::kLoop, InTheWay::kLinkToNothing}) {
    put_in_place_of(dir_ / "config.json", what);
    const Status status = open();
    EXPECT_EQ(status.code(), what == InTheWay::kLinkToNothing ? Code::kNotFound : Code::kIo);
    EXPECT_NE(status.message().find(system_reason(what)), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("config.json"), std::string::npos) << status.message();
    fs::remove(dir_ / "config.json");
  }
}

TEST_F(Folder, WithAShardThatCannotBeReadListsEverythingElse) {
  for (const bool indexed : {true, false})
    for (const InTheWay what : {InTheWay::kFolder, InTheWay::kLoop}) {
      SCOPED_TRACE(system_reason(what) + (indexed ? ", with an index" : ", without"));
      TempDir copy;
      builder_.write(copy.path(), 3);
      if (!indexed) fs::remove(copy / kIndex);
      put_in_place_of(copy / shard(2), what);
      Result<Checkpoint> checkpoint = Checkpoint::open(copy.path());
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
      findings_ = checkpoint->findings();
      EXPECT_EQ(count("unreadable", shard(2)), 1) << all();
      EXPECT_EQ(count("not-checked", shard(2)), 1) << all();
      EXPECT_EQ(count("missing-tensor") + count("missing-shard") + count("index-mismatch"), 0)
          << all();
      EXPECT_EQ(checkpoint->require_whole().code(), Code::kIo);
      // A fault of the files themselves is named beside it, and decides.
      fs::resize_file(copy / shard(3), fs::file_size(copy / shard(3)) - 16);
      checkpoint = Checkpoint::open(copy.path());
      ASSERT_TRUE(checkpoint.ok());
      findings_ = checkpoint->findings();
      EXPECT_EQ(count("truncated", shard(3)), 1) << all();
      EXPECT_EQ(checkpoint->require_whole().code(), Code::kCorrupt);
    }
}

TEST_F(Folder, OfWhichNoShardCanBeReadIsDownloadedAllTheSame) {
  for (int i = 1; i <= 3; ++i) put_in_place_of(dir_ / shard(i), InTheWay::kLoop);
  EXPECT_EQ(open().code(), Code::kIo);
  EXPECT_TRUE(has_weights_);
  EXPECT_EQ(count("unreadable"), 3) << all();
  EXPECT_EQ(count("no-weights") + count("missing-tensor"), 0) << all();
}

TEST_F(Folder, NamesGitLfsPointers) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
      "\nsize 987654\n";
  for (const std::string& name : {shard(2), std::string(kIndex), std::string("tiktoken.model")}) {
    TempDir copy;
    builder_.write(copy.path(), 3);
    copy.write("tokenizer_config.json", "{}");
    copy.write("tiktoken.model", "IQ== 0\n");
    copy.write(name, pointer);
    const Result<Checkpoint> checkpoint = Checkpoint::open(copy.path());
    ASSERT_TRUE(checkpoint.ok());
    findings_ = checkpoint->findings();
    EXPECT_EQ(count("lfs-pointer", name), 1) << all();
    EXPECT_EQ(count("lfs-pointer", "987654 bytes"), 1) << all();
    EXPECT_EQ(count("lfs-pointer", "git lfs pull"), 1) << all();
    EXPECT_EQ(count("missing-tensor"), 0) << all();
    EXPECT_EQ(checkpoint->require_whole().code(), Code::kCorrupt);
  }
}

TEST_F(Folder, ThatIsTheRootOfAHubCacheNamesItsSnapshots) {
  TempDir hub;
  const std::string model = hub / "models--org--name";
  builder_.write(model + "/snapshots/aaa", 1);
  builder_.write(model + "/snapshots/bbb", 1);
  fs::create_directories(model + "/snapshots/empty");
  hub.write("models--org--name/refs/main", "bbb");
  const std::string message = Checkpoint::open(model).status().message();
  const size_t first = message.find(model + "/snapshots/bbb");
  const size_t second = message.find(model + "/snapshots/aaa");
  EXPECT_LT(first, second) << message;
  EXPECT_NE(second, std::string::npos) << message;
  EXPECT_EQ(message.find("empty"), std::string::npos) << message;
  for (const std::string& above : {hub.path(), model + "/snapshots"})
    EXPECT_NE(Checkpoint::open(above).status().message().find(model + "/snapshots/aaa"),
              std::string::npos)
        << Checkpoint::open(above).status().message();
  fs::remove_all(model + "/snapshots/aaa");
  fs::remove_all(model + "/snapshots/bbb");
  EXPECT_NE(Checkpoint::open(model).status().message().find("hub cache"), std::string::npos);
}

TEST_F(Folder, WithoutIndexAnUnreadableHeaderIsOneErrorAndOneCount) {
  fs::remove(dir_ / kIndex);
  fs::resize_file(dir_ / shard(1), 100);
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("header-length", shard(1)), 1) << all();
  EXPECT_EQ(count("not-checked", shard(1)), 1) << all();
  EXPECT_EQ(count("missing-tensor"), 0) << all();
}

TEST_F(Folder, WithARefusedTensorDoesNotReportItAgain) {
  std::string bytes = read(shard(1));
  const size_t at = bytes.find("\"BF16\"");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 6, "\"ZF16\"");
  dir_.write(shard(1), bytes);
  for (const bool indexed : {true, false}) {
    if (!indexed) fs::remove(dir_ / kIndex);
    EXPECT_EQ(open().code(), Code::kCorrupt);
    EXPECT_EQ(count("dtype-unknown", "ZF16"), 1) << all();
    EXPECT_EQ(count("index-mismatch") + count("missing-tensor"), 0) << all();
  }
}

TEST_F(Folder, WithAStrayFileOfTheSameNamesIsRefused) {
  dir_.write("model.safetensors", safetensors_file(builder_.tensors()));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("duplicate-tensor"), static_cast<int64_t>(builder_.tensors().size()));
}

TEST_F(Folder, WithATensorInTwoShardsNamesBothFiles) {
  fs::remove(dir_ / kIndex);
  RawTensors one{*builder_.tensors().begin()};
  dir_.write("model-00004-of-000004.safetensors", safetensors_file(one));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("duplicate-tensor", one.begin()->first), 1) << all();
  EXPECT_EQ(count("duplicate-tensor", shard(1)), 1) << all();
}

TEST_F(Folder, WithAnUnrelatedFileBesideTheIndexIsWhole) {
  dir_.write("adapter.safetensors",
             safetensors_file({{"lora.a", float_tensor(DType::kF32, {1}, {1})}}));
  EXPECT_TRUE(open().ok()) << all();
  EXPECT_EQ(count("stray-file", "adapter.safetensors"), 1) << all();
}

TEST_F(Folder, TakesNothingFromAFileTheIndexDoesNotName) {
  std::string text = read(kIndex);
  json::Value index = *json::parse(text, "index");
  json::Value map = *index.find("weight_map");
  std::erase_if(map.as_object(), [](const auto& m) { return m.second.as_string() == shard(3); });
  index.set("weight_map", map);
  dir_.write(kIndex, json::dump(index));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("stray-file", shard(3)), 1) << all();
}

TEST_F(Folder, WithAnIndexOlderThanRenamedShardsIsRefused) {
  for (int i = 1; i <= 3; ++i)
    fs::rename(dir_ / shard(i), dir_ / ("new-" + std::to_string(i) + ".safetensors"));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("missing-shard"), 3) << all();
}

TEST_F(Folder, WithAnIndexThatPlacesATensorElsewhereIsRefused) {
  const std::string name = builder_.tensors().begin()->first;
  replace_in_index("\"" + name + "\":\"" + shard(1) + "\"",
                   "\"" + name + "\":\"" + shard(2) + "\"");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("index-mismatch", name), 1) << all();
}

TEST_F(Folder, WithAnIndexThatNamesAnUnknownTensorIsRefused) {
  replace_in_index("\"weight_map\":{", "\"weight_map\":{\"ghost\":\"" + shard(1) + "\",");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("index-mismatch", "ghost"), 1) << all();
}

TEST_F(Folder, WithAnIndexThatForgotATensorIsWholeWithANote) {
  const std::string name = builder_.tensors().begin()->first;
  replace_in_index("\"" + name + "\":\"" + shard(1) + "\",", "");
  EXPECT_TRUE(open().ok()) << all();
  EXPECT_EQ(count("not-in-index", name), 1) << all();
}

TEST_F(Folder, RefusesPathsInTheIndex) {
  for (const std::string path :
       {"../model.safetensors", "/etc/model.safetensors", "a/b.safetensors", "..", ".",
        "..\\\\x.safetensors", "", ".hidden.safetensors", "a\\u0000b.safetensors", "config.json",
        "C:\\\\x.safetensors"}) {
    SetUp();
    replace_in_index("\"" + shard(1) + "\"", "\"" + path + "\"");
    EXPECT_EQ(open().code(), Code::kCorrupt) << path;
    EXPECT_EQ(count("index-path"), 1) << path << all();
  }
}

TEST_F(Folder, RefusesAnIndexThatIsNoJson) {
  const std::string whole = read(kIndex);
  for (const std::string& text :
       {std::string(), std::string("<html>"), whole.substr(0, whole.size() / 2), whole + "}",
        std::string("[]"), std::string("{}"), std::string(R"({"weight_map":[]})"),
        std::string(R"({"weight_map":{"a":1}})"),
        std::string(R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})"),
        std::string(200'000, '[')}) {
    dir_.write(kIndex, text);
    EXPECT_EQ(open().code(), Code::kCorrupt) << text.substr(0, 60);
    EXPECT_GE(count("index-json") + count("index-entry") + count("duplicate-key"), 1) << all();
  }
}

TEST_F(Folder, WithoutAnyShardIsNotDownloadedYet) {
  for (int i = 1; i <= 3; ++i) fs::remove(dir_ / shard(i));
  for (const bool index : {true, false}) {
    if (!index) fs::remove(dir_ / kIndex);
    EXPECT_EQ(open().code(), Code::kNotFound);
    EXPECT_FALSE(has_weights_);
    EXPECT_FALSE(has_errors(findings_)) << all();
    EXPECT_EQ(count("no-weights"), 1) << all();
  }
}

TEST_F(Folder, AuditsTheNamesOfTheIndexBeforeTheDownload) {
  for (int i = 1; i <= 3; ++i) fs::remove(dir_ / shard(i));
  replace_in_index("experts.0.w1.weight_packed", "experts.0.w1.weight_pack");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("missing-tensor", "experts.0.w1"), 1) << all();
  EXPECT_EQ(count("extra-tensor", "experts.0.w1.weight_pack"), 1) << all();
}

TEST_F(Folder, PointsToShardsInASubFolder) {
  fs::create_directory(dir_ / "int4");
  for (int i = 1; i <= 3; ++i) fs::rename(dir_ / shard(i), dir_ / ("int4/" + shard(i)));
  dir_.write("model.gguf", "GGUF");
  EXPECT_EQ(open().code(), Code::kNotFound);
  EXPECT_EQ(count("no-weights", "int4"), 1) << all();
  EXPECT_EQ(count("no-weights", "GGUF"), 1) << all();
}

TEST_F(Folder, ThatIsNoneIsNotFound) {
  EXPECT_EQ(Checkpoint::open(dir_ / "nowhere").status().code(), Code::kNotFound);
  EXPECT_EQ(Checkpoint::open(dir_ / "config.json").status().code(), Code::kNotFound);
  fs::remove(dir_ / "config.json");
  const Status status = open();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("config.json"), std::string::npos);
}

TEST_F(Folder, WithAConfigThatIsNoJsonIsCorrupt) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("{\"a\":1,\"a\":2}"),
                                  std::string(100'000, '['), std::string("\xff\xfe{}")}) {
    dir_.write("config.json", text);
    EXPECT_EQ(open().code(), Code::kCorrupt) << text.substr(0, 20);
  }
}

TEST_F(Folder, WithThingsThatAreNoFilesDoesNotHang) {
  fs::create_directory(dir_ / "dir.safetensors");
  ASSERT_EQ(::mkfifo((dir_ / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_EQ(open().code(), Code::kIo);
  EXPECT_EQ(count("unreadable", "dir.safetensors: found is a directory"), 1) << all();
  EXPECT_EQ(count("unreadable", "pipe.safetensors"), 1) << all();
}

TEST_F(Folder, WithHalfATokenizerIsRefused) {
  EXPECT_TRUE(open().ok());
  EXPECT_EQ(count("side-file", "tiktoken.model"), 1);  // a note: none of both
  dir_.write("tiktoken.model", "IQ== 0\n");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("side-file", "tokenizer_config.json"), 1) << all();
  dir_.write("tokenizer_config.json", "{}");
  EXPECT_TRUE(open().ok()) << all();
}

TEST_F(Folder, WithATokenizerOfAnotherModelIsRefused) {
  std::string ranks;
  for (int i = 0; i < 640; ++i) ranks += "IQ== " + std::to_string(i) + "\n";
  dir_.write("tiktoken.model", ranks);
  dir_.write("tokenizer_config.json", "{}");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("tokenizer-vocab", "vocab_size = 640"), 1) << all();
}

TEST_F(Folder, WithABrokenGenerationConfigIsRefused) {
  dir_.write("generation_config.json", "{");
  EXPECT_EQ(open().code(), Code::kCorrupt);
  EXPECT_EQ(count("side-file", "generation_config.json"), 1);
  fs::remove(dir_ / "generation_config.json");
  EXPECT_TRUE(open().ok()) << all();
}

TEST(FileName, IsPlainOnlyInsideItsFolder) {
  for (const char* name :
       {"model.safetensors", "model-00001-of-00096.safetensors", "a b.safetensors", "x..y"})
    EXPECT_TRUE(checkpoint::is_plain_file_name(name)) << name;
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("/a"),
        std::string("a\\b"), std::string("a\nb"), std::string("a\0b", 3), std::string(".a"),
        std::string(300, 'a')})
    EXPECT_FALSE(checkpoint::is_plain_file_name(name)) << name;
}

}  // namespace
}  // namespace trine::testing
