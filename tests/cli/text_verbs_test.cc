// tokenize, detokenize, render and parse: the golden cases through the executable.
#include "support/temp_dir.h"
#include "trine_run.h"

namespace trine::testing {
namespace {

std::vector<int32_t> tokenize(const std::string& text, bool special) {
  std::vector<std::string> arguments{"tokenize", golden("tok"), "--stdin", "--json"};
  if (special) arguments.emplace_back("--special");
  const ProcessResult result = trine_stdin(arguments, text);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return ids_of(must_parse(result.out));
}

TEST(Tokenize, ReproducesTheGoldenCases) {
  const json::Value cases = read_json(golden("tokenizer.json"));
  for (const json::Value& item : member(cases, "cases").as_array()) {
    const std::string& text = member(item, "text").as_string();
    EXPECT_EQ(tokenize(text, false), ids_of(member(item, "ids"))) << text;
    EXPECT_EQ(tokenize(text, true), ids_of(member(item, "ids_special"))) << text;
  }
}

// Texts of the long cases are built as their names say.
std::string long_text(const std::string& name) {
  std::string text;
  if (name == "25000 spaces + x") return std::string(25000, ' ') + "x";
  const size_t blank = name.find(' ');
  const std::string unit = name.substr(blank + 1);
  for (int i = std::stoi(name); i > 0; --i) text += unit;
  return text;
}

TEST(Tokenize, ReproducesTheLongGoldenCases) {
  const json::Value cases = read_json(golden("tokenizer.json"));
  for (const json::Value& item : member(cases, "long_cases").as_array()) {
    const std::string& name = member(item, "name").as_string();
    int64_t chars = 0;
    ASSERT_TRUE(member(item, "chars").to_int64(&chars));
    const std::string text = long_text(name);
    ASSERT_EQ(static_cast<int64_t>(text.size()), chars) << name;
    const std::vector<int32_t> ids = tokenize(text, false);
    int64_t count = 0;
    ASSERT_TRUE(member(item, "count").to_int64(&count));
    ASSERT_EQ(static_cast<int64_t>(ids.size()), count) << name;
    const std::vector<int32_t> head = ids_of(member(item, "head"));
    const std::vector<int32_t> tail = ids_of(member(item, "tail"));
    const auto ids_head = std::vector<int32_t>(ids.begin(), ids.begin() + std::ssize(head));
    const auto ids_tail = std::vector<int32_t>(ids.end() - std::ssize(tail), ids.end());
    EXPECT_EQ(ids_head, head) << name;
    EXPECT_EQ(ids_tail, tail) << name;
  }
}

TEST(Tokenize, TakesStdinByteForByte) {
  EXPECT_EQ(trine_stdin({"tokenize", golden("tok"), "--stdin"}, "").out, "[]\n");
  EXPECT_EQ(trine({"tokenize", golden("tok"), ""}).out, "[]\n");
  const std::string with_nul("a\0b\n", 4);
  const ProcessResult ids = trine_stdin({"tokenize", golden("tok"), "--stdin"}, with_nul);
  const ProcessResult back = trine_stdin({"detokenize", golden("tok"), "--stdin"}, ids.out);
  EXPECT_EQ(back.out, with_nul);
  // A newline at the end is a token like any other.
  EXPECT_NE(tokenize("a\n", false), tokenize("a", false));
}

TEST(Tokenize, TakesTheTextFromTheCommandLineToo) {
  const ProcessResult result = trine({"tokenize", golden("tok"), "Hello, world!"});
  EXPECT_EQ(ids_of(must_parse(result.out)), tokenize("Hello, world!", false));
  EXPECT_EQ(trine({"tokenize", golden("tok"), "a", "--stdin"}).exit_code, 2);
}

TEST(Detokenize, GivesBytesAndText) {
  const json::Value cases = read_json(golden("tokenizer.json"));
  for (const json::Value& item : member(cases, "decode").as_array()) {
    const std::string ids = json::dump(member(item, "ids"));
    const ProcessResult text = trine_stdin({"detokenize", golden("tok"), "--stdin", "--json"}, ids);
    EXPECT_EQ(member(must_parse(text.out), "text").as_string(), member(item, "text").as_string());
  }
  EXPECT_EQ(trine({"detokenize", golden("tok"), "64", "220"}).out, "a ");
  EXPECT_EQ(trine({"detokenize", golden("tok"), "64,220"}).out, "a ");
  EXPECT_EQ(trine({"detokenize", golden("tok"), "[64, 220]"}).out, "a ");
  EXPECT_EQ(trine_stdin({"detokenize", golden("tok"), "--stdin"}, "[]").out, "");
}

TEST(Detokenize, AnEmptyListOfIdsIsNoReasonToReadStdin) {
  const ProcessResult bytes = trine_stdin({"detokenize", golden("tok"), "[]"}, "1 2 3");
  EXPECT_EQ(bytes.exit_code, 0) << bytes.err;
  EXPECT_EQ(bytes.out, "");
  for (const std::string list : {"[]", "[ ]", ""}) {
    const ProcessResult json = trine_stdin({"detokenize", golden("tok"), list, "--json"}, "1 2 3");
    EXPECT_EQ(member(must_parse(json.out), "text").as_string(), "") << list;
  }
  const std::string expected = trine_stdin({"detokenize", golden("tok"), "--stdin"}, "1 2 3").out;
  EXPECT_FALSE(expected.empty());
  for (const std::vector<std::string>& ids : std::vector<std::vector<std::string>>{
           {"1", "2", "3"}, {"1,2,3"}, {"[1,2,3]"}, {"[1, 2, 3]"}, {"1,", "2", ",3"}}) {
    std::vector<std::string> arguments{"detokenize", golden("tok")};
    arguments.insert(arguments.end(), ids.begin(), ids.end());
    EXPECT_EQ(trine(arguments).out, expected) << ids.front();
  }
  for (const char* verb : {"generate", "logits", "verify"}) {
    for (const char* ids : {"[]", ""}) {
      std::vector<std::string> arguments{verb, golden("k3_base/model"), "--ids", ids};
      if (std::string(verb) == "logits") arguments.insert(arguments.end(), {"--out", "/nowhere/x"});
      if (std::string(verb) == "verify") arguments.insert(arguments.end(), {"--against", "x"});
      const ProcessResult result = trine_stdin(arguments, "1 2 3");
      EXPECT_EQ(result.exit_code, 2) << verb << result.err;
      EXPECT_NE(result.err.find("no ids"), std::string::npos) << result.err;
    }
  }
}

TEST(Detokenize, AnUnknownOptionIsNoId) {
  const ProcessResult result = trine({"detokenize", golden("tok"), "1", "--jsom"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--jsom"), std::string::npos) << result.err;
}

TEST(Render, TextAndJsonExcludeEachOther) {
  EXPECT_EQ(trine_stdin({"render", golden("tok"), "--text", "--json"}, "{}").exit_code, 2);
}

TEST(Detokenize, RefusesWhatIsNoId) {
  EXPECT_EQ(trine({"detokenize", golden("tok"), "99999999"}).exit_code, 1);
  EXPECT_EQ(trine({"detokenize", golden("tok"), "12x"}).exit_code, 2);
  EXPECT_EQ(trine_stdin({"detokenize", golden("tok"), "--stdin"}, "[1, -2]").exit_code, 1);
  EXPECT_EQ(trine_stdin({"detokenize", golden("tok"), "--stdin"}, "[1, 2,]").exit_code, 1);
  EXPECT_EQ(trine_stdin({"detokenize", golden("tok"), "--stdin"}, "{\"ids\": [1]}").exit_code, 1);
}

TEST(Render, ReproducesTheGoldenCases) {
  const json::Value chat = read_json(golden("chat.json"));
  for (const json::Value& item : member(chat, "cases").as_array()) {
    const std::string& name = member(item, "name").as_string();
    json::Value request = json::Value::object();
    for (const char* key : {"messages", "tools", "options"}) request.set(key, member(item, key));
    // The cases are the encoder's, where an absent effort means no effort message; the verb is the
    // tokenizer's, where the default is max and null says so.
    json::Value options = member(item, "options");
    if (options.find("thinking_effort") == nullptr) options.set("thinking_effort", nullptr);
    request.set("options", options);
    const ProcessResult result =
        trine_stdin({"render", golden("tok"), "--stdin", "--json"}, json::dump(request));
    if (item.find("error") != nullptr) {
      EXPECT_EQ(result.exit_code, 1) << name;
      EXPECT_EQ(member(member(must_parse(result.out), "error"), "exit_code").number_text(), "1");
      EXPECT_NE(result.err, "") << name;
      continue;
    }
    ASSERT_EQ(result.exit_code, 0) << name << ": " << result.err;
    const json::Value prompt = must_parse(result.out);
    EXPECT_EQ(member(prompt, "text").as_string(), member(item, "text").as_string()) << name;
    EXPECT_EQ(ids_of(member(prompt, "ids")), ids_of(member(item, "ids"))) << name;
  }
}

TEST(Render, TakesAFileAndCanGiveTheTextAlone) {
  const TempDir folder;
  const std::string file =
      folder.write("r.json", R"({"messages": [{"role": "user", "content": "Hello!"}]})");
  const ProcessResult json = trine({"render", golden("tok"), file});
  const ProcessResult text = trine({"render", golden("tok"), file, "--text"});
  EXPECT_EQ(member(must_parse(json.out), "text").as_string(), text.out);
  EXPECT_NE(text.out.find("thinking_effort=max"), std::string::npos);
  EXPECT_EQ(trine({"render", golden("tok"), folder / "absent.json"}).exit_code, 3);
  EXPECT_EQ(trine_stdin({"render", golden("tok"), "--stdin"}, "not json").exit_code, 1);
}

TEST(Parse, ReproducesTheGoldenCases) {
  const json::Value chat = read_json(golden("chat.json"));
  for (const json::Value& item : member(chat, "parse").as_array()) {
    json::Value request = json::Value::object();
    for (const char* key : {"ids", "thinking"}) request.set(key, member(item, key));
    const ProcessResult result =
        trine_stdin({"parse", golden("tok"), "--stdin", "--json"}, json::dump(request));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    // As Python sees the values: 1.0 is not 1, the order of keys is kept.
    EXPECT_EQ(json::dump_python(must_parse(result.out), {}),
              json::dump_python(member(item, "expect"), {}))
        << member(item, "from").as_string();
  }
}

TEST(Parse, RefusesOtherInput) {
  for (const char* input :
       {"", "[1]", "{}", R"({"ids": [1.5]})", R"({"ids": [-1]})", R"({"ids": [1], "thinking": 1})",
        R"({"ids": [1], "other": 1})", R"({"ids": [99999999]})"}) {
    const ProcessResult result = trine_stdin({"parse", golden("tok"), "--stdin"}, input);
    EXPECT_EQ(result.exit_code, 1) << input;
    EXPECT_NE(result.err, "") << input;
  }
}

}  // namespace
}  // namespace trine::testing
