// Help, version and exit codes: the same rules for every verb.
#include "support/temp_dir.h"
#include "trine_run.h"

#include <filesystem>
#include <fstream>
#include <sstream>

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

TEST(Usage, WithJsonEveryFailureIsOneJsonValueToo) {
  const TempDir folder;
  const std::vector<std::pair<std::vector<std::string>, int>> failing{
      {{"fly"}, 2},
      {{}, 2},
      {{"run"}, 2},
      {{"chat", nano(), "--load", "x"}, 2},
      {{"run", nano(), "Hi", "--raw", "--system", "x"}, 2},
      {{"run", nano(), "Hi", "--top-p", "2"}, 2},
      {{"run", nano(), "Hi", "--context", "1023M"}, 2},
      {{"run", nano(), ""}, 1},
      {{"inspect", "/no/such/folder"}, 3},
      {{"bench", "/no/such/folder"}, 3},
      {{"bench", nano(), "--prefill", "2000000", "--depth", "2000000", "--tokens", "2000000",
        "--batch", "1"},
       2},
      {{"synth"}, 2},
      {{"synth", folder / "x", "--preset", "enormous"}, 2},
      {{"tokenize", "/no/such/folder", "x"}, 3},
      {{"tokenize", golden("tok"), "x", "--stdin"}, 2},
      {{"detokenize", golden("tok"), "x"}, 2},
      {{"detokenize", golden("tok"), "99999999"}, 1},
      {{"render", golden("tok"), folder / "absent"}, 3},
      {{"render", golden("tok"), "--text", nano() + "/config.json"}, 2},
      {{"parse", golden("tok"), nano() + "/config.json"}, 1},
      {{"logits", nano(), "--ids", "1", "--out", "/nowhere/at/all/x"}, 3},
      {{"logits", nano(), "--ids", "999999", "--out", folder / "x"}, 1},
      {{"verify", nano(), "--against", folder / "absent"}, 3},
      {{"generate", nano(), "--ids", "1", "--int8", "--precision", "exact"}, 2},
      {{"generate", nano()}, 2}};
  for (const auto& [arguments, exit_code] : failing) {
    std::vector<std::string> with_json = arguments;
    with_json.emplace_back("--json");
    const ProcessResult result = trine_stdin(with_json, "");
    std::string line;
    for (const std::string& argument : with_json) line += " " + argument;
    EXPECT_EQ(result.exit_code, exit_code) << line << "\n" << result.err;
    EXPECT_NE(result.err, "") << line;
    const json::Value error = member(must_parse(result.out), "error");
    EXPECT_EQ(member(error, "exit_code").number_text(), std::to_string(exit_code)) << line;
    EXPECT_EQ(member(error, "code").as_string().find(' '), std::string::npos) << line;
    EXPECT_NE(result.err.find(member(error, "message").as_string()), std::string::npos) << line;
    if (exit_code == 2) continue;  // there --json itself may be what is wrong
    const ProcessResult plain = trine_stdin(arguments, "");
    EXPECT_EQ(plain.out, "") << line;
    EXPECT_NE(plain.err, "") << line;
  }
}

TEST(Usage, NumbersThatAreNoneAreRefusedInAFewWords) {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> verbs{
      {{"run", nano(), "Hi"},
       {"--max-tokens", "--temperature", "--top-p", "--top-k", "--min-p", "--seed", "--threads",
        "--prefill-chunk", "--context", "--precision", "--isa", "--think"}},
      {{"chat", nano()}, {"--temperature", "--context", "--isa"}},
      {{"bench", nano()},
       {"--prefill", "--depth", "--batch", "--tokens", "--repeats", "--threads", "--isa"}},
      {{"synth", "/nowhere/x", "--preset", "tiny"}, {"--seed", "--shard-bytes"}},
      {{"inspect", nano()}, {"--isa"}},
      {{"verify", nano(), "--against", "x"}, {"--tolerance", "--ids", "--context"}},
      {{"logits", nano(), "--out", "/nowhere/x"}, {"--ids"}},
      {{"generate", nano(), "--ids", "1"}, {"--max-tokens", "--context"}}};
  const std::string digits(60, '9');
  for (const auto& [verb, options] : verbs) {
    for (const std::string& option : options) {
      for (const std::string& value :
           {std::string("nan"), std::string("inf"), std::string("-1"), std::string("1e400"), digits,
            std::string("1x"), std::string("1 "), std::string()}) {
        if (option == "--ids" && value == "1 ") continue;  // blanks part ids
        std::vector<std::string> arguments = verb;
        arguments.insert(arguments.end(), {option, value});
        const ProcessResult result = trine_stdin(arguments, "");
        const std::string line = verb[0] + " " + option + " '" + value + "': " + result.err;
        EXPECT_EQ(result.exit_code, 2) << line;
        EXPECT_EQ(result.out, "") << line;
        EXPECT_NE(result.err.find(option + ": "), std::string::npos) << line;
        EXPECT_NE(result.err.find("expected"), std::string::npos) << line;
        EXPECT_LT(result.err.size(), 260u) << line;
      }
    }
  }
  EXPECT_EQ(trine({"run", nano(), "Hi", "--stop", ""}).exit_code, 2);
}

TEST(Usage, AnUnknownLevelInTheEnvironmentNamesTheVariable) {
  ProcessOptions options;
  options.variables = {{"TRINE_ISA", "avx1024"}};
  for (const char* verb : {"run", "chat", "bench", "inspect", "generate", "logits"}) {
    const ProcessResult result = trine(with_required(verb, nano()), options);
    EXPECT_EQ(result.exit_code, 2) << verb << result.err;
    EXPECT_NE(result.err.find("TRINE_ISA"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("avx1024"), std::string::npos) << result.err;
  }
}

TEST(Usage, EveryPresetIsInTheManPageTheCompletionAndTheHelp) {
  const TempDir folder;
  const std::string message = trine({"synth", folder / "x", "--preset", "?"}).err;
  const size_t begin = message.find("there are: ");
  ASSERT_NE(begin, std::string::npos) << message;
  std::istringstream names(message.substr(begin + 11));
  const auto read = [](const std::string& name) {
    std::ifstream file(std::string(TRINE_SOURCE_DIR) + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    std::string plain;
    for (const char c : text.str()) plain += c == '\\' ? std::string() : std::string(1, c);
    return plain;
  };
  const std::string man = read("man/trine.1");
  const std::string completion = read("completions/trine.bash");
  const std::string help = trine({"synth", "--help"}).out;
  int count = 0;
  for (std::string name; names >> name; ++count) {
    if (name.ends_with(',')) name.pop_back();
    EXPECT_NE(man.find(name), std::string::npos) << name;
    EXPECT_NE(completion.find(name), std::string::npos) << name;
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
  EXPECT_GE(count, 6);
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
