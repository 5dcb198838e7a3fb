// trine chat: several turns, state kept, commands; from a pipe and on a terminal.
#include <filesystem>

#include "support/temp_dir.h"
#include "trine_run.h"

namespace trine::testing {
namespace {

ProcessResult chat(const std::string& input, std::vector<std::string> options = {}) {
  std::vector<std::string> arguments{"chat", nano()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return trine_stdin(arguments, input);
}

// The number after `label` in the text, -1 if it is not there.
int64_t number_after(const std::string& text, const std::string& label) {
  const size_t at = text.rfind(label);
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + label.size()));
}

TEST(Chat, KeepsTheStateFromTurnToTurn) {
  const ProcessResult result = chat("What is KDA?\nWhat is AttnRes?\n/stats\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const int64_t kept = number_after(result.err, "kept from earlier turns ");
  const int64_t prompt = number_after(result.err, "last: prompt ");
  EXPECT_GT(kept, 60) << result.err;
  EXPECT_GT(prompt, 0) << result.err;
  EXPECT_LT(prompt, kept) << "only the new message is read in the second turn";
}

TEST(Chat, AKeptStateAnswersAsAFreshOneDoes) {
  const TempDir folder;
  const std::string saved = folder / "c.json";
  const ProcessResult kept =
      chat("What is KDA?\n/save " + saved + "\nWhat is AttnRes?\n", {"--precision", "exact"});
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  const ProcessResult fresh = chat("What is AttnRes?\n", {"--precision", "exact", "--load", saved});
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  EXPECT_FALSE(fresh.out.empty());
  EXPECT_EQ(kept.out.substr(kept.out.find('\n') + 1), fresh.out);
}

TEST(Chat, AnAnswerThatWasCutCanBeFollowed) {
  // The limit cuts inside the reasoning, then inside the answer: both are closed, not read again.
  for (const char* limit : {"3", "30"}) {
    const ProcessResult result =
        chat("What is KDA?\nWhat is AttnRes?\n/stats\n", {"--max-tokens", limit});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("length limit"), std::string::npos);
    EXPECT_GT(number_after(result.err, "kept from earlier turns "), 0) << result.err;
  }
}

TEST(Chat, AChangedSystemMessageStartsOver) {
  const ProcessResult result =
      chat("What is KDA?\n/system Answer briefly.\nWhat is AttnRes?\n/stats\n/system\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(number_after(result.err, "kept from earlier turns "), 0) << result.err;
  EXPECT_NE(result.err.find("\nAnswer briefly.\n"), std::string::npos) << result.err;
}

TEST(Chat, ResetForgetsTheConversation) {
  const ProcessResult twice = chat("What is KDA?\n/reset\nWhat is KDA?\n");
  ASSERT_EQ(twice.exit_code, 0) << twice.err;
  const size_t half = twice.out.size() / 2;
  EXPECT_EQ(twice.out.substr(0, half), twice.out.substr(half));
}

TEST(Chat, CommandsExplainThemselves) {
  const ProcessResult result = chat("/help\n/exit\nWhat is KDA?\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "") << "nothing after /exit";
  for (const char* command : {"/system", "/tools", "/save", "/load", "/stats", "/reset", "/help"}) {
    EXPECT_NE(result.err.find(command), std::string::npos) << command;
  }
}

TEST(Chat, AWrongCommandIsAMessageAndNotSentToTheModel) {
  const ProcessResult result = chat("/fly\n/think deeply\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("/fly: no such command"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("deeply"), std::string::npos);
  EXPECT_EQ(chat("/load /no/such/file\n").exit_code, 3);
}

TEST(Chat, ToolResultsGoBackToTheModel) {
  const TempDir folder;
  const std::string tools =
      folder.write("tools.json", R"([{"type": "function", "function": {"name": "set_timer",
        "description": "Start a timer", "parameters": {"type": "object", "properties": {
        "minutes": {"type": "integer", "description": "Length in minutes"},
        "label": {"type": "string", "description": "Name of the timer"}},
        "required": ["minutes"]}}}])");
  const std::string saved = folder / "c.json";
  const ProcessResult result =
      chat("/tools " + tools + "\nStart a 44 minute timer called yogurt.\nstarted\n/save " + saved +
               "\n",
           {"--system", "Answer briefly."});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("tools: set_timer"), std::string::npos) << result.err;
  const json::Value conversation = read_json(saved);
  const json::Value::Array& messages = member(conversation, "messages").as_array();
  ASSERT_GE(messages.size(), 5u) << json::dump(conversation);
  EXPECT_EQ(member(messages[3], "role").as_string(), "tool");
  EXPECT_EQ(member(messages[3], "content").as_string(), "started");
  EXPECT_EQ(member(messages[4], "role").as_string(), "assistant");
}

TEST(Chat, WhatCannotBeRenderedIsNotLoaded) {
  const TempDir folder;
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"([{"role": "wizard", "content": "x"}])", "messages[0].role"},
      {R"([{"role": "user", "content": [{"type": "image"}]}])", "messages[0].content[0]"},
      {R"({"messages": [], "tools": [{"type": "function"}]})", "tools[0].function"}};
  for (const auto& [content, place] : bad) {
    const std::string file = folder.write("bad.json", content);
    const ProcessResult result = chat("/system Answer briefly.\n/load " + file + "\n/system\nHi\n");
    EXPECT_EQ(result.exit_code, 1) << content;
    EXPECT_NE(result.err.find(place), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("\nAnswer briefly.\n"), std::string::npos) << "the old one stays";
    EXPECT_NE(result.out, "") << "and can be continued";
    const ProcessResult at_start = chat("Hi\n", {"--load", file});
    EXPECT_EQ(at_start.exit_code, 1) << at_start.err;
    EXPECT_EQ(at_start.out, "");
  }
  const std::string tools = folder.write("tools.json", R"([{"name": "f"}])");
  const ProcessResult result = chat("/tools " + tools + "\n/tools\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("no tools"), std::string::npos) << result.err;
}

TEST(Chat, StatisticsStartAnewAfterAReset) {
  const ProcessResult result = chat("What is KDA?\n/reset\n/stats\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("0 messages | context 0 of"), std::string::npos) << result.err;
}

TEST(Chat, LinesMayEndAsWindowsEndsThem) {
  const ProcessResult plain = chat("What is\\\nKDA?\n/system Answer briefly.\n/system\n");
  const ProcessResult windows = chat("What is\\\r\nKDA?\r\n/system Answer briefly.\r\n/system\r\n");
  EXPECT_EQ(windows.exit_code, 0) << windows.err;
  EXPECT_EQ(windows.out, plain.out);
  EXPECT_EQ(windows.err.find('\r'), std::string::npos);
  EXPECT_EQ(chat("/exit\r\n").exit_code, 0);
}

TEST(Chat, OnATerminalLinesAreEditedAndReasoningIsDimmed) {
  const TempDir state;
  const std::vector<Typed> script{{"> ", "What is KDX\bA?\r"},
                                  {"> ", "\x1b[A\r"},  // the line before, from the history
                                  {"> ", "/stats\r"},
                                  {"4 messages", ""},
                                  {"> ", "/exit\r"}};
  const ProcessResult result = run_in_terminal(
      {TRINE_BINARY, "chat", nano()}, script,
      {{"XDG_STATE_HOME", state.path()}, {"TERM", "xterm"}, {"HOME", state.path()}});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("\033[2m"), std::string::npos) << result.out;
  EXPECT_TRUE(std::filesystem::exists(state / "trine/history"));
}

}  // namespace
}  // namespace trine::testing
