// Help, version and exit codes: the same rules for every verb.
#include "support/temp_dir.h"
#include "trine_run.h"

#include <filesystem>

namespace trine::testing {
namespace {

const std::vector<std::string> kVerbs{"run",    "chat",       "inspect", "bench",
                                      "synth",  "tokenize",   "render",  "parse",
                                      "logits", "detokenize", "verify",  "generate"};
const std::vector<std::string> kModelVerbs{"run", "chat", "bench", "logits", "generate"};

std::vector<std::string> with_required(const std::string& verb, const std::string& model) {
  std::vector<std::string> arguments{verb, model};
  if (verb == "run") arguments.emplace_back("Hi");
  if (verb == "generate" || verb == "logits") {
    arguments.insert(arguments.end(), {"--ids", "1,2,3"});
  }
  if (verb == "logits") arguments.insert(arguments.end(), {"--out", "/nowhere/at/all/x"});
  return arguments;
}

TEST(Usage, HelpNamesEveryVerb) {
  const ProcessResult help = trine({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const std::string& verb : kVerbs) {
    EXPECT_NE(help.out.find("  " + verb), std::string::npos) << verb;
  }
  EXPECT_NE(help.out.find("Exit codes"), std::string::npos);
}

TEST(Usage, EveryVerbHasHelpWithAnExample) {
  for (const std::string& verb : kVerbs) {
    const ProcessResult help = trine({verb, "--help"});
    EXPECT_EQ(help.exit_code, 0) << verb;
    EXPECT_NE(help.out.find("Example"), std::string::npos) << verb;
    EXPECT_NE(help.out.find("trine " + verb), std::string::npos) << verb;
  }
}

TEST(Usage, VersionIsOneLine) {
  const ProcessResult version = trine({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.rfind("trine ", 0), 0u);
  EXPECT_EQ(version.out.find('\n'), version.out.size() - 1);
}

TEST(Usage, AWrongCommandLineIsExitCode2WithAHint) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"fly"},
      {"run"},
      {"run", nano(), "Hi", "--no-such-option"},
      {"run", nano(), "Hi", "--think", "deeply"},
      {"run", nano(), "Hi", "--raw", "--system", "x"},
      {"run", nano(), "Hi", "--special"},
      {"run", nano(), "Hi", "--temperature", "-1"},
      {"run", nano(), "Hi", "--threads", "many"},
      {"run", nano(), "Hi", "--seed", "-1"},
      {"run", nano(), "Hi", "--context", "1G"},
      {"run", nano(), "Hi", "--prefill-chunk", "63"},
      {"run", nano(), "Hi", "--precision", "double"},
      {"run", nano(), "Hi", "--isa", "avx1024"},
      {"generate", nano()},
      {"generate", nano(), "--ids", "1,x"},
      {"generate", nano(), "--ids", "1", "--max-tokens", "0"},
      {"logits", nano(), "--ids", "1"},
      {"verify", nano()},
      {"synth"},
      {"bench", nano(), "--prefill", "many"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    const ProcessResult result = trine(arguments);
    std::string line;
    for (const std::string& argument : arguments) line += " " + argument;
    EXPECT_EQ(result.exit_code, 2) << "trine" << line << "\n" << result.err;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_NE(result.err, "") << line;
  }
}

TEST(Usage, AnAbsentFolderIsExitCode3) {
  for (const std::string& verb : kVerbs) {
    if (verb == "synth" || verb == "verify") continue;
    const ProcessResult result = trine(with_required(verb, "/no/such/folder"));
    EXPECT_EQ(result.exit_code, 3) << verb << ": " << result.err;
    EXPECT_EQ(result.out, "") << verb;
    EXPECT_NE(result.err.find("/no/such/folder"), std::string::npos) << verb << ": " << result.err;
  }
}

TEST(Usage, AFileInsteadOfAFolderSaysSo) {
  const ProcessResult result = trine({"run", nano() + "/config.json", "Hi"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("folder"), std::string::npos) << result.err;
}

TEST(Usage, AnInstructionSetThatTheCpuLacksIsExitCode3) {
  bool lacking = false;
  for (const char* isa : {"avx2", "avx512", "avx512_bf16", "amx"}) {
    ProcessOptions options;
    options.variables = {{"TRINE_ISA", isa}};
    const ProcessResult by_variable =
        trine({"generate", golden("k3_base/model"), "--ids", "1", "--max-tokens", "1"}, options);
    const ProcessResult by_option = trine(
        {"generate", golden("k3_base/model"), "--ids", "1", "--max-tokens", "1", "--isa", isa});
    EXPECT_EQ(by_variable.exit_code, by_option.exit_code) << isa;
    EXPECT_EQ(by_variable.out, by_option.out) << isa;
    if (by_option.exit_code == 0) continue;
    lacking = true;
    EXPECT_EQ(by_option.exit_code, 3) << isa << ": " << by_option.err;
    EXPECT_NE(by_option.err.find(isa), std::string::npos) << by_option.err;
  }
  if (!lacking) GTEST_SKIP() << "this CPU has every level";
}

TEST(Usage, ABrokenCheckpointIsRefusedWithAllItsFindings) {
  const TempDir folder;
  std::filesystem::copy(golden("k3_base/model"), folder.path(),
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder / "model-00002-of-000004.safetensors");
  std::filesystem::remove(folder / "model-00003-of-000004.safetensors");
  for (const std::string& verb : kModelVerbs) {
    const ProcessResult result = trine(with_required(verb, folder.path()));
    EXPECT_EQ(result.exit_code, 1) << verb << ": " << result.err;
    EXPECT_NE(result.err.find("model-00002-of-000004"), std::string::npos) << verb;
    EXPECT_NE(result.err.find("model-00003-of-000004"), std::string::npos) << verb;
  }
  const ProcessResult report = trine({"inspect", folder.path(), "--json"});
  EXPECT_EQ(report.exit_code, 1) << report.err;
  EXPECT_TRUE(must_parse(report.out).is_object());
}

TEST(Usage, AFullDiskIsNotReportedAsDone) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string command = std::string(TRINE_BINARY) + " tokenize " + golden("tok") + " hi";
  const ProcessResult result = run_process({"/bin/sh", "-c", command + " >/dev/full"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
}

}  // namespace
}  // namespace trine::testing
