// trine run on k3-nano: what goes where, and how it ends.
#include <filesystem>

#include "support/temp_dir.h"
#include "trine_run.h"

namespace trine::testing {
namespace {

constexpr const char* kQuestion = "What is KDA?";
constexpr const char* kTools = R"([{"type": "function", "function": {"name": "set_timer",
  "description": "Start a timer", "parameters": {"type": "object", "properties": {
    "minutes": {"type": "integer", "description": "Length in minutes"},
    "label": {"type": "string", "description": "Name of the timer"}},
  "required": ["minutes"]}}}])";

TEST(Run, PutsTheAnswerOnStdoutAndTheRestOnStderr) {
  const ProcessResult result = trine({"run", nano(), kQuestion});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json::Value json = must_parse(trine({"run", nano(), kQuestion, "--json"}).out);
  EXPECT_EQ(result.out, member(json, "content").as_string() + "\n");
  EXPECT_EQ(result.err.rfind(member(json, "reasoning").as_string(), 0), 0u) << result.err;
  EXPECT_NE(result.err.find("tok/s"), std::string::npos);
  EXPECT_NE(result.err.find("peak memory"), std::string::npos);
  EXPECT_EQ(result.err.find('\033'), std::string::npos) << "no colours outside a terminal";
}

TEST(Run, JsonIsOneValueWithEverything) {
  const ProcessResult result = trine({"run", nano(), kQuestion, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json::Value json = must_parse(result.out);
  EXPECT_FALSE(member(json, "content").as_string().empty());
  EXPECT_FALSE(member(json, "reasoning").as_string().empty());
  EXPECT_TRUE(member(json, "tool_calls").as_array().empty());
  EXPECT_EQ(member(json, "finish_reason").as_string(), "stop");
  EXPECT_TRUE(member(member(json, "usage"), "prompt_tokens").is_int());
  EXPECT_GT(member(member(json, "timings"), "prefill_tokens_per_s").as_double(), 0);
  EXPECT_GT(member(member(json, "machine"), "peak_rss_bytes").as_double(), 0);
}

TEST(Run, QuietSaysNothingButTheAnswer) {
  const ProcessResult result = trine({"run", nano(), kQuestion, "--quiet"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out, "");
}

TEST(Run, TakesThePromptFromAPipe) {
  const std::string expected = trine({"run", nano(), kQuestion, "-q"}).out;
  EXPECT_EQ(trine_stdin({"run", nano(), "-q"}, std::string(kQuestion) + "\n").out, expected);
  EXPECT_EQ(trine_stdin({"run", nano(), "-", "-q"}, kQuestion).out, expected);
  EXPECT_EQ(trine_stdin({"run", nano(), "-q"}, "").exit_code, 1);
}

TEST(Run, WithoutThinkingThereIsNoReasoning) {
  const ProcessResult result = trine({"run", nano(), kQuestion, "--think", "none", "--json"});
  const json::Value json = must_parse(result.out);
  EXPECT_EQ(member(json, "reasoning").as_string(), "");
  EXPECT_FALSE(member(json, "content").as_string().empty());
}

TEST(Run, EveryLevelOfThinkingIsRenderedDifferently) {
  std::vector<std::string> lengths;
  for (const char* level : {"none", "on", "low"}) {
    const ProcessResult result =
        trine({"run", nano(), "Hi", "--think", level, "--max-tokens", "1", "--json"});
    lengths.push_back(
        member(member(must_parse(result.out), "usage"), "prompt_tokens").number_text());
  }
  EXPECT_NE(lengths[1], lengths[2]);
}

TEST(Run, PrintsToolCallsAsLinesOfJson) {
  const TempDir folder;
  const std::string tools = folder.write("tools.json", kTools);
  const std::vector<std::string> arguments{
      "run",      nano(),           "Start a 44 minute timer called yogurt.", "--tools", tools,
      "--system", "Answer briefly."};
  const ProcessResult result = trine(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json::Value call =
      must_parse(result.out.substr(result.out.rfind('{', result.out.find("\"arguments\""))));
  EXPECT_EQ(member(call, "name").as_string(), "set_timer");
  EXPECT_TRUE(member(call, "arguments").is_object());
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const json::Value json = must_parse(trine(with_json).out);
  EXPECT_EQ(member(json, "finish_reason").as_string(), "tool_calls");
  EXPECT_EQ(json::dump(member(json, "tool_calls").as_array().at(0)), json::dump(call));
}

TEST(Run, TakesMessagesOrAWholeRequestFromAFile) {
  const TempDir folder;
  const std::string list =
      folder.write("m.json", std::string(R"([{"role": "user", "content": ")") + kQuestion + "\"}]");
  const std::string body = folder.write(
      "b.json", std::string(R"({"model": "x", "messages": [{"role": "user", "content": ")") +
                    kQuestion + R"("}], "chat_template_kwargs": {"thinking": true}})");
  const std::string expected = trine({"run", nano(), kQuestion, "-q"}).out;
  EXPECT_EQ(trine({"run", nano(), "--messages", list, "-q"}).out, expected);
  const ProcessResult from_body = trine({"run", nano(), "--messages", body});
  EXPECT_EQ(from_body.out, expected);
  EXPECT_NE(from_body.err.find("\"model\" is not taken"), std::string::npos) << from_body.err;
  const std::string wrong = folder.write("w.json", "{\"no\": 1}");
  EXPECT_EQ(trine({"run", nano(), "--messages", wrong}).exit_code, 1);
  EXPECT_EQ(trine({"run", nano(), "--messages", folder / "absent"}).exit_code, 3);
}

TEST(Run, EndsAtTheTokenLimitAndSaysSo) {
  const ProcessResult result = trine({"run", nano(), kQuestion, "--max-tokens", "3", "--json"});
  const json::Value json = must_parse(result.out);
  EXPECT_EQ(member(json, "finish_reason").as_string(), "length");
  EXPECT_EQ(member(member(json, "usage"), "completion_tokens").number_text(), "3");
  EXPECT_EQ(result.exit_code, 0);
}

TEST(Run, EndsBeforeAStopString) {
  const std::string answer =
      member(must_parse(trine({"run", nano(), kQuestion, "--json"}).out), "content").as_string();
  ASSERT_GT(answer.size(), 12u);
  const std::string stop = answer.substr(6, 5);
  const ProcessResult result =
      trine({"run", nano(), kQuestion, "--stop", "[never]", "--stop", stop, "--json"});
  const json::Value json = must_parse(result.out);
  EXPECT_EQ(member(json, "content").as_string(), answer.substr(0, answer.find(stop)));
  EXPECT_EQ(member(json, "finish_reason").as_string(), "stop");
}

TEST(Run, SameSeedSameAnswer) {
  const auto sampled = [](const char* seed) {
    return trine({"run", nano(), "--raw", "The", "--temperature", "1.5", "--seed", seed,
                  "--max-tokens", "24", "-q"})
        .out;
  };
  EXPECT_EQ(sampled("1"), sampled("1"));
  EXPECT_NE(sampled("1"), sampled("2"));
}

TEST(Run, RawContinuesTheTextItself) {
  const ProcessResult raw = trine({"run", nano(), "--raw", "Hello", "--max-tokens", "8", "--json"});
  ASSERT_EQ(raw.exit_code, 0) << raw.err;
  const json::Value json = must_parse(raw.out);
  const std::vector<int32_t> ids = ids_of(must_parse(trine({"tokenize", nano(), "Hello"}).out));
  const ProcessResult generated = trine(
      {"generate", nano(), "--ids", ids_text(ids), "--max-tokens", "8", "--stop-at-eos", "--json"});
  const json::Value continuation = must_parse(generated.out);
  const std::string text = json::dump(member(continuation, "ids"));
  EXPECT_EQ(
      member(json, "content").as_string(),
      member(must_parse(trine_stdin({"detokenize", nano(), "--stdin", "--json"}, text).out), "text")
          .as_string());
}

TEST(Run, RefusesAPromptLongerThanTheContext) {
  std::string longer;
  for (int i = 0; i < 3000; ++i) longer += "word ";
  const ProcessResult result = trine({"run", nano(), longer, "--context", "1024"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("1024"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--context"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
  const ProcessResult chat = trine_stdin({"chat", nano(), "--context", "1024"}, longer);
  EXPECT_EQ(chat.exit_code, 1) << chat.err;
  std::string ids = "1";
  for (int i = 0; i < 64; ++i) ids += ",1";
  const TempDir folder;
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"generate"}, {"logits", "--out", folder / "x"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {nano(), "--ids", ids, "--context", "64"});
    const ProcessResult refused = trine(arguments);
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_NE(refused.err.find("--context"), std::string::npos) << refused.err;
  }
}

TEST(Run, RefusesImagesThatItCannotSee) {
  const TempDir folder;
  const std::string file = folder.write(
      "m.json", R"([{"role": "user", "content": [{"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:,"}}]}])");
  const ProcessResult result = trine({"run", nano(), "--messages", file});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("messages[0].content[1]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("vision"), std::string::npos) << result.err;
}

TEST(Run, SaysWhichTokenizerFileIsMissing) {
  const TempDir folder;
  const ProcessResult empty = trine({"run", folder.path(), "Hi"});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_NE(empty.err.find("no config.json"), std::string::npos) << empty.err;
  for (const char* name : {"config.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(nano() + "/" + name, folder / name);
  }
  for (const char* verb : {"run", "chat"}) {
    const ProcessResult result = trine_stdin({verb, folder.path()}, "Hi");
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find("/tiktoken.model"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("download"), std::string::npos) << result.err;
  }
}

TEST(Run, AModelWithoutTheChatFormatIsPointedAtRaw) {
  const ProcessResult result = trine({"run", golden("linear_base/model"), "Hi"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("--raw"), std::string::npos) << result.err;
}

TEST(Run, CtrlCEndsTheAnswerCleanly) {
  ProcessOptions options;
  options.interrupt_after_bytes = 1;
  const ProcessResult result = trine({"run", nano(), "--raw", "a a a a", "--temperature", "1.5",
                                      "--max-tokens", "100000", "--context", "128K"},
                                     options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_NE(result.err.find("tok/s"), std::string::npos) << "statistics come even then";
  EXPECT_EQ(result.out.back(), '\n');
}

}  // namespace
}  // namespace trine::testing
