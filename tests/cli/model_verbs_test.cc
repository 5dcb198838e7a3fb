// generate, logits, verify, inspect and synth on the golden checkpoints, through the executable.
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temp_dir.h"
#include "trine_run.h"

namespace trine::testing {
namespace {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// A tensor of a safetensors file, read without trine's own reader.
Tensor read_tensor(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  const std::string bytes = all.str();
  uint64_t header_bytes = 0;
  EXPECT_GE(bytes.size(), 8u) << path;
  std::memcpy(&header_bytes, bytes.data(), 8);
  const json::Value header = must_parse(bytes.substr(8, header_bytes));
  const json::Value& entry = member(header, name);
  Tensor tensor;
  for (const json::Value& n : member(entry, "shape").as_array()) {
    tensor.shape.push_back(0);
    EXPECT_TRUE(n.to_int64(&tensor.shape.back()));
  }
  int64_t begin = 0;
  int64_t end = 0;
  EXPECT_TRUE(member(entry, "data_offsets").as_array()[0].to_int64(&begin));
  EXPECT_TRUE(member(entry, "data_offsets").as_array()[1].to_int64(&end));
  tensor.values.resize(static_cast<size_t>(end - begin) / 4);
  std::memcpy(tensor.values.data(), bytes.data() + 8 + header_bytes + begin,
              static_cast<size_t>(end - begin));
  return tensor;
}

void expect_close(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  float worst = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    worst = std::max(worst, std::abs(found.values[i] - expected.values[i]));
  }
  EXPECT_LE(worst, 2e-3f) << what;
}

std::vector<int32_t> prompt_of(const json::Value& golden_json, const std::string& name) {
  if (name == "short") return ids_of(member(golden_json, "short_ids"));
  if (name.rfind("long[:", 0) == 0) {
    std::vector<int32_t> ids = ids_of(member(golden_json, "long_ids"));
    ids.resize(static_cast<size_t>(std::stoi(name.substr(6))));
    return ids;
  }
  return ids_of(member(member(golden_json, "prompts"), name));
}

void expect_golden_continuations(const std::string& model, const std::string& golden_file) {
  const json::Value cases = read_json(golden_file);
  for (const auto& [name, item] : member(cases, "greedy").as_object()) {
    const ProcessResult result =
        trine({"generate", model, "--precision", "exact", "--ids", ids_text(prompt_of(cases, name)),
               "--max-tokens", "32", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(ids_of(member(must_parse(result.out), "ids")), ids_of(member(item, "tokens")))
        << model << " " << name;
  }
}

TEST(Generate, ReproducesTheGoldenContinuations) {
  for (const char* name : {"k3_base", "k3_noqlora_heads", "linear_base"}) {
    expect_golden_continuations(golden(std::string(name) + "/model"),
                                golden(std::string(name) + "/golden.json"));
  }
  expect_golden_continuations(nano(), golden("k3-nano.golden.json"));
}

TEST(Generate, StopsAtEosOnlyWhenAsked) {
  const json::Value cases = read_json(golden("linear_base/golden.json"));
  const std::string ids = ids_text(prompt_of(cases, "long[:1]"));
  const std::vector<std::string> base{"generate",     golden("linear_base/model"),
                                      "--precision",  "exact",
                                      "--max-tokens", "32",
                                      "--ids",        ids};
  std::vector<std::string> stopping = base;
  stopping.emplace_back("--stop-at-eos");
  const std::string all = trine(base).out;
  const std::string until_eos = trine(stopping).out;
  EXPECT_EQ(std::count(all.begin(), all.end(), ' '), 31);
  EXPECT_EQ(std::count(until_eos.begin(), until_eos.end(), ' '), 17) << until_eos;
  EXPECT_EQ(all.rfind(until_eos.substr(0, until_eos.size() - 1), 0), 0u);
}

TEST(Generate, RefusesIdsOutsideTheVocabulary) {
  const ProcessResult result =
      trine({"generate", golden("k3_base/model"), "--ids", "1,100000", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("100000"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("100000"), std::string::npos) << result.err;
}

TEST(Logits, AgreeWithTheGoldenTensors) {
  const TempDir folder;
  const std::string out = folder / "short.safetensors";
  const json::Value cases = read_json(golden("k3_base/golden.json"));
  const ProcessResult result =
      trine({"logits", golden("k3_base/model"), "--precision", "exact", "--layers", "--out", out,
             "--ids", ids_text(prompt_of(cases, "short"))});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const std::string reference = golden("k3_base/golden.safetensors");
  for (const char* name : {"logits", "layers", "kda_state", "mla_rows"}) {
    const std::string reference_name = std::string("short.") + name;
    expect_close(read_tensor(out, name), read_tensor(reference, reference_name), name);
  }
  EXPECT_EQ(read_tensor(out, "router_ids").shape, (std::vector<int64_t>{4, 10, 2}));
}

TEST(Logits, AreTheSameBitsForEveryChunkAndThreadCount) {
  const TempDir folder;
  const json::Value cases = read_json(golden("k3_base/golden.json"));
  const std::string ids = folder.write("ids.json", json::dump(member(cases, "long_ids")));
  std::vector<std::vector<float>> logits;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--prefill-chunk", "64", "--threads", "1"},
        std::vector<std::string>{"--prefill-chunk", "128", "--threads", "3"},
        std::vector<std::string>{}}) {
    const std::string out = folder / std::to_string(logits.size());
    std::vector<std::string> arguments{
        "logits", golden("k3_base/model"), "--ids-file", ids, "--out", out};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProcessResult result = trine(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    logits.push_back(read_tensor(out, "logits").values);
  }
  EXPECT_EQ(logits[0], logits[1]);
  EXPECT_EQ(logits[0], logits[2]);
}

TEST(Logits, LeaveNoFileBehindWhenTheyFail) {
  const TempDir folder;
  const std::string out = folder / "x.safetensors";
  EXPECT_EQ(trine({"logits", golden("k3_base/model"), "--ids", "1,999999", "--out", out}).exit_code,
            1);
  EXPECT_EQ(
      trine({"logits", golden("k3_base/model"), "--ids", "1", "--out", folder / "no/such/folder/x"})
          .exit_code,
      3);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

ProcessResult logits_to(const std::string& out) {
  return trine({"logits", golden("k3_base/model"), "--ids", "1", "--out", out});
}

TEST(Logits, LeaveDevicesPipesAndFoldersAsTheyAre) {
  const TempDir folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string link = folder / "link";
  std::filesystem::create_symlink(fifo, link);
  for (const std::string& out : {fifo, link, std::string("/dev/null"), folder.path()}) {
    const ProcessResult result = logits_to(out);
    EXPECT_EQ(result.exit_code, 1) << out << ": " << result.err;
    EXPECT_NE(result.err.find("regular file"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(Logits, WriteTheTargetOfASymbolicLink) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_symlink("real/target", folder / "second");
  std::filesystem::create_symlink("second", folder / "first");
  for (int round = 0; round < 2; ++round) {  // a target to create, then one to replace
    const ProcessResult result = logits_to(folder / "first");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
    EXPECT_TRUE(
        std::filesystem::is_regular_file(std::filesystem::symlink_status(folder / "real/target")));
  }
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_EQ(logits_to(folder / "loop").exit_code, 3);
}

TEST(Logits, LeaveAnotherFileOfTheUsersAlone) {
  const TempDir folder;
  const std::string other = folder.write("x.partial", "mine");
  ASSERT_EQ(logits_to(folder / "x").exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(other), 4u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(Logits, AFullDiskIsReportedAndLeavesNothing) {
  const TempDir folder;
  const std::string out = folder / "x";
  // A limit on the size of files fails as a full disk does.
  const ProcessResult result = run_process(
      {"/bin/sh", "-c",
       "trap '' XFSZ; ulimit -f 1; exec " + std::string(TRINE_BINARY) + " logits " +
           golden("k3_base/model") + " --ids 1,2,3,4,5,6,7,8,9,10 --layers --out " + out});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find(out), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Verify, ComparesWithAFileOfLogits) {
  const TempDir folder;
  const std::string out = folder / "a.safetensors";
  ASSERT_EQ(trine({"logits", golden("k3_base/model"), "--layers", "--precision", "exact", "--ids",
                   "5,6,7,8", "--out", out})
                .exit_code,
            0);
  const ProcessResult same =
      trine({"verify", golden("k3_base/model"), "--against", out, "--tolerance", "0", "--json"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_TRUE(member(must_parse(same.out), "equal").as_bool());
  // Another model of the same shape.
  const std::string model = folder / "random";
  ASSERT_EQ(trine({"synth", "--like", golden("k3_base/model"), model, "-q"}).exit_code, 0);
  const ProcessResult other = trine({"verify", model, "--against", out});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.out.find("first layer that differs is layer 0"), std::string::npos) << other.out;
}

TEST(Verify, NeedsTheIdsFromSomewhere) {
  const std::string reference = golden("k3_base/golden.safetensors");
  const ProcessResult without =
      trine({"verify", golden("k3_base/model"), "--against", reference, "--prefix", "short."});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_NE(without.err.find("--ids"), std::string::npos) << without.err;
  EXPECT_EQ(trine({"verify", golden("k3_base/model"), "--against", "/no/file"}).exit_code, 3);
}

TEST(Synth, WritesAModelThatInspectFindsWholeAndGenerateRuns) {
  const TempDir folder;
  const std::string model = folder / "random";
  const ProcessResult made =
      trine({"synth", "--like", golden("k3_base/model"), model, "--seed", "3"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProcessResult report = trine({"inspect", model, "--json"});
  EXPECT_EQ(report.exit_code, 0) << report.err << report.out;
  EXPECT_TRUE(must_parse(report.out).is_object());
  const ProcessResult ids =
      trine({"generate", model, "--ids", "1,2", "--max-tokens", "4", "--json"});
  EXPECT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_EQ(ids_of(member(must_parse(ids.out), "ids")).size(), 4u);
  EXPECT_EQ(trine({"synth", model}).exit_code, 2);
}

}  // namespace
}  // namespace trine::testing
