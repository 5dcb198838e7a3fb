// The streaming parser: golden outputs, recovery of slips, and the same events for every cut.
#include <gtest/gtest.h>

#include <random>

#include "text/fixtures.h"
#include "trine/chat.h"

namespace trine::test {
namespace {

using json::Value;
using Event = ChatParser::Event;
using Kind = Event::Kind;

std::vector<int32_t> marked_up(const std::string& text) {
  return golden_tokenizer().encode(text, true);
}

// Every ordinary byte as a token of its own: the same text by other ids.
std::vector<int32_t> byte_by_byte(const std::vector<int32_t>& ids) {
  std::vector<int32_t> out;
  for (const int32_t id : ids) {
    if (golden_tokenizer().is_control(id)) {
      out.push_back(id);
      continue;
    }
    for (const char c : golden_tokenizer().token_bytes(id))
      out.push_back(golden_tokenizer().encode(std::string_view(&c, 1))[0]);
  }
  return out;
}

struct Parsed {
  std::vector<Event> events;
  ParsedMessage message;
  bool ended = false;
};

Parsed parsed(const std::vector<int32_t>& ids, bool thinking) {
  ChatParser parser(golden_tokenizer(), thinking);
  Parsed run;
  for (const int32_t id : ids) parser.push(id, &run.events);
  run.ended = parser.ended();
  parser.finish(&run.events);
  run.message = parser.message();
  return run;
}

// A client that puts the events together.
ParsedMessage folded(const std::vector<Event>& events) {
  ParsedMessage m;
  for (const Event& e : events) {
    if (e.kind == Kind::kReasoning) m.reasoning += e.text;
    if (e.kind == Kind::kContent) m.content += e.text;
    if (e.kind == Kind::kReasoningWasContent) m.reasoning.clear();
    if (e.kind == Kind::kToolCallBegin) {
      EXPECT_EQ(static_cast<size_t>(e.tool_index), m.tool_calls.size());
      m.tool_calls.push_back({e.name, "", false});
    }
    if (e.kind == Kind::kToolArguments)
      m.tool_calls.at(static_cast<size_t>(e.tool_index)).arguments += e.text;
    if (e.kind == Kind::kToolCallEnd)
      m.tool_calls.at(static_cast<size_t>(e.tool_index)).arguments_are_text = e.arguments_are_text;
  }
  return m;
}

std::string shown(const ParsedMessage& m) {
  std::string out = "reasoning=" + json::quote(m.reasoning) + " content=" + json::quote(m.content);
  for (const ToolCall& c : m.tool_calls)
    out += " " + c.name + (c.arguments_are_text ? "?" : "") + "(" + c.arguments + ")";
  return out;
}

// The message of the marked-up output, checked against its events and against other ids for it.
std::string outcome(const std::string& text, bool thinking = true) {
  const std::vector<int32_t> ids = marked_up(text);
  const Parsed run = parsed(ids, thinking);
  const std::string message = shown(run.message);
  EXPECT_EQ(shown(folded(run.events)), message);
  EXPECT_EQ(shown(parsed(byte_by_byte(ids), thinking).message), message);
  EXPECT_EQ(shown(parse_chat(golden_tokenizer(), ids, thinking)), message);
  return message;
}

TEST(ParseGolden, EveryCaseGivesTheMessageThatWasRendered) {
  const Value file = read_json("tests/golden/chat.json");
  ASSERT_EQ(file.find("parse")->as_array().size(), 16u);
  for (const Value& c : file.find("parse")->as_array()) {
    SCOPED_TRACE(c.find("from")->as_string());
    const std::vector<int32_t> ids = ids_of(*c.find("ids"));
    const Parsed run = parsed(ids, c.find("thinking")->as_bool());
    EXPECT_TRUE(run.ended);
    const Value& expect = *c.find("expect");
    EXPECT_EQ(run.message.reasoning, expect.find("reasoning")->as_string());
    EXPECT_EQ(run.message.content, expect.find("content")->as_string());
    const auto& calls = expect.find("tool_calls")->as_array();
    ASSERT_EQ(run.message.tool_calls.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      const ToolCall& call = run.message.tool_calls[i];
      EXPECT_EQ(call.name, calls[i].find("name")->as_string());
      const Value* text = calls[i].find("arguments_text");
      EXPECT_EQ(call.arguments_are_text, text != nullptr);
      EXPECT_EQ(call.arguments,
                text != nullptr ? text->as_string() : json::dump(*calls[i].find("arguments")));
    }
    EXPECT_EQ(shown(folded(run.events)), shown(run.message));
    EXPECT_EQ(shown(parsed(byte_by_byte(ids), c.find("thinking")->as_bool()).message),
              shown(run.message));
  }
}

constexpr const char* kAnswer = "<|close|>think<|sep|><|open|>response<|sep|>";
constexpr const char* kEnd = "<|close|>message<|sep|><|end_of_msg|>";

std::string one_call(const std::string& inside) {
  return std::string(kAnswer) +
         "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>" +
         inside + "<|close|>call<|sep|><|close|>tools<|sep|>" + kEnd;
}

std::string argument(const std::string& key, const std::string& type, const std::string& value) {
  return "<|open|>argument key=\"" + key + "\" type=\"" + type + "\"<|sep|>" + value +
         "<|close|>argument<|sep|>";
}

std::string arguments_of(const std::string& inside) {
  const std::string all = outcome(one_call(inside));
  const std::string head = "reasoning=\"\" content=\"\" f";
  EXPECT_EQ(all.rfind(head, 0), 0u) << all;
  return all.size() < head.size() ? all : all.substr(head.size());
}

TEST(Parse, ValuesAreReadByTheirType) {
  EXPECT_EQ(arguments_of(argument("s", "string", " 1 \n")), "({\"s\":\" 1 \\n\"})");
  EXPECT_EQ(arguments_of(argument("s", "string", "")), "({\"s\":\"\"})");
  EXPECT_EQ(arguments_of(argument("n", "number", "1.0") + argument("m", "number", " -2e5 ")),
            "({\"n\":1.0,\"m\":-2e5})");
  EXPECT_EQ(arguments_of(argument("b", "boolean", "true") + argument("z", "null", "null")),
            "({\"b\":true,\"z\":null})");
  EXPECT_EQ(arguments_of(argument("o", "object", "{\"b\": 1, \"a\": [ ]}")),
            "({\"o\":{\"b\":1,\"a\":[]}})");
  EXPECT_EQ(arguments_of(argument("n", "number", "123456789012345678901234567890")),
            "({\"n\":123456789012345678901234567890})");
}

TEST(Parse, ValuesThatAreNotWhatTheirTypeSaysStayText) {
  EXPECT_EQ(arguments_of(argument("b", "boolean", "True")), "({\"b\":\"True\"})");
  EXPECT_EQ(arguments_of(argument("n", "number", "")), "({\"n\":\"\"})");
  EXPECT_EQ(arguments_of(argument("n", "number", "NaN")), "({\"n\":\"NaN\"})");
  EXPECT_EQ(arguments_of(argument("o", "object", "{\"a\": ")), "({\"o\":\"{\\\"a\\\": \"})");
  EXPECT_EQ(arguments_of(argument("x", "integer", "7")),
            "({\"x\":\"7\"})");  // no type of the format
}

TEST(Parse, CallsWithoutArgumentsHaveAnEmptyObject) {
  EXPECT_EQ(arguments_of(""), "({})");
  EXPECT_EQ(arguments_of("\n  "), "({})");
  EXPECT_EQ(arguments_of("<|open|>json type=\"object\"<|sep|><|close|>json<|sep|>"), "({})");
}

TEST(Parse, JsonElementsAreKeptAsTheyAre) {
  const auto json = [](const std::string& text) {
    return "<|open|>json type=\"object\"<|sep|>" + text + "<|close|>json<|sep|>";
  };
  EXPECT_EQ(arguments_of(json("{ \"a\":1 }")), "({ \"a\":1 })");
  EXPECT_EQ(arguments_of(json("[1]")), "?([1])");
  EXPECT_EQ(arguments_of(json("q=1")), "?(q=1)");
  EXPECT_EQ(arguments_of(json("{\"a\":1,\"a\":2}")), "?({\"a\":1,\"a\":2})");
}

TEST(Parse, ARepeatedKeyMakesTheArgumentsText) {
  EXPECT_EQ(arguments_of(argument("a", "number", "1") + argument("a", "string", "x")),
            "?({\"a\":1,\"a\":\"x\"})");
}

TEST(Parse, AttributesAreUnescapedOnce) {
  EXPECT_EQ(arguments_of(argument("a&amp;quot;&quot;b", "string", "")),
            "({\"a&quot;\\\"b\":\"\"})");
  EXPECT_EQ(arguments_of("<|open|>argument type=number key=k<|sep|>1<|close|>argument<|sep|>"),
            "({\"k\":1})");
  EXPECT_EQ(arguments_of(argument("a\"b", "string", "x")), "({\"a\\\"b\":\"x\"})");
}

TEST(Parse, AnAnswerWithoutThinkingIsContentNotReasoning) {
  EXPECT_EQ(outcome(std::string("42<|close|>response<|sep|>") + kEnd),
            "reasoning=\"\" content=\"42\"");
  EXPECT_EQ(outcome("cut in thought"), "reasoning=\"cut in thought\" content=\"\"");
  EXPECT_EQ(outcome("a<|close|>think<|sep|>b<|close|>response<|sep|>"),
            "reasoning=\"a\" content=\"b\"");
  EXPECT_EQ(outcome("<|open|>response<|sep|>a<|close|>response<|sep|>"),
            "reasoning=\"\" content=\"a\"");
}

TEST(Parse, ThinkingTwiceOpenedIsOneChannel) {
  EXPECT_EQ(outcome("<|open|>think<|sep|>a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>"
                    "response<|sep|>"),
            "reasoning=\"a\" content=\"b\"");
}

TEST(Parse, ToolsMayComeStraightAfterThinking) {
  const std::string call = "<|open|>call tool=\"f\" index=\"1\"<|sep|><|close|>call<|sep|>";
  EXPECT_EQ(outcome("why<|open|>tools<|sep|>" + call + "<|close|>tools<|sep|>" + kEnd),
            "reasoning=\"why\" content=\"\" f({})");
  EXPECT_EQ(outcome("why<|close|>think<|sep|><|open|>tools<|sep|>" + call + kEnd),
            "reasoning=\"why\" content=\"\" f({})");
  EXPECT_EQ(outcome("why" + call), "reasoning=\"why\" content=\"\" f({})");
}

TEST(Parse, PlainTextOutsideTheElementsIsContent) {
  EXPECT_EQ(outcome("r<|close|>think<|sep|>\n{\"a\": 1}\n<|end_of_msg|>"),
            "reasoning=\"r\" content=\"\\n{\\\"a\\\": 1}\\n\"");
  EXPECT_EQ(outcome("r<|close|>think<|sep|>\n\n<|open|>response<|sep|>a<|close|>response<|sep|>\n" +
                    std::string(kEnd)),
            "reasoning=\"r\" content=\"a\"");
}

TEST(Parse, CallsAfterTheToolsSectionAreText) {
  EXPECT_EQ(outcome(one_call("")).find("g("), std::string::npos);
  const std::string tail = "<|open|>call tool=\"g\" index=\"2\"<|sep|>" +
                           argument("k", "string", "v") + "<|close|>call<|sep|>";
  const std::string all = one_call("");
  const std::string output = all.substr(0, all.size() - std::string(kEnd).size()) + tail + kEnd;
  EXPECT_EQ(outcome(output),
            "reasoning=\"\" content=\"call tool=\\\"g\\\" index=\\\"2\\\"argument key=\\\"k\\\" "
            "type=\\\"string\\\"v\" f({})");
}

TEST(Parse, SpelledControlTokensAreText) {
  // The same characters by ordinary ids, inside an argument.
  std::vector<int32_t> ids =
      marked_up(std::string(kAnswer) +
                "<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" "
                "index=\"1\"<|sep|><|open|>argument key=\"k\" type=\"string\"<|sep|>");
  const std::string spelled = "a<|close|>argument<|sep|><|end_of_msg|> < | b";
  for (const int32_t id : golden_tokenizer().encode(spelled)) ids.push_back(id);
  for (const int32_t id : marked_up("<|close|>argument<|sep|><|close|>call<|sep|>"))
    ids.push_back(id);
  EXPECT_EQ(shown(parsed(ids, true).message),
            "reasoning=\"\" content=\"\" f({\"k\":" + json::quote(spelled) + "})");
}

TEST(Parse, MissingClosesAreImplied) {
  EXPECT_EQ(
      outcome(
          "r<|open|>response<|sep|>a<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>"
          "<|open|>argument key=\"x\" type=\"number\"<|sep|>1<|open|>argument key=\"y\" "
          "type=\"string\"<|sep|>2"
          "<|open|>call tool=\"g\" index=\"2\"<|sep|><|close|>tools<|sep|><|end_of_msg|>"),
      "reasoning=\"r\" content=\"a\" f({\"x\":1,\"y\":\"2\"}) g({})");
  EXPECT_EQ(outcome(std::string(kAnswer) + "a<|close|>message<|end_of_msg|>"),
            "reasoning=\"\" content=\"a\"");
  EXPECT_EQ(outcome("r<|close|>think<|open|>response<|sep|>a"), "reasoning=\"r\" content=\"a\"");
}

TEST(Parse, TextInACallIsItsJson) {
  EXPECT_EQ(arguments_of(" {\"a\": 1} "), "( {\"a\": 1} )");
  EXPECT_EQ(arguments_of("a=1"), "?(a=1)");
  EXPECT_EQ(outcome(one_call(argument("a", "number", "1") + "stray")),
            "reasoning=\"\" content=\"stray\" f({\"a\":1})");
}

TEST(Parse, UnknownElementsAreText) {
  EXPECT_EQ(outcome(std::string(kAnswer) +
                    "a<|open|>b<|sep|>c<|close|>b<|sep|>d<|close|>response<|sep|>" + kEnd),
            "reasoning=\"\" content=\"abcbd\"");
  EXPECT_EQ(outcome(std::string(kAnswer) + "a<|open|>call tool<|sep|>b"),
            "reasoning=\"\" content=\"acall toolb\"");
  EXPECT_EQ(outcome(std::string(kAnswer) + "a<|sep|><|sep|>b<|open|><|open|><|close|><|sep|>c"),
            "reasoning=\"\" content=\"abc\"");
  EXPECT_EQ(outcome(std::string(kAnswer) + "a<|media_pad|>b[BOS]c"),
            "reasoning=\"\" content=\"abc\"");
}

TEST(Parse, ACallThatIsCutOffKeepsItsTextAndIsMarked) {
  const std::string head =
      std::string(kAnswer) + "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>";
  EXPECT_EQ(outcome(head), "reasoning=\"\" content=\"\" f?()");
  EXPECT_EQ(outcome(head + argument("a", "number", "1")),
            "reasoning=\"\" content=\"\" f?({\"a\":1)");
  EXPECT_EQ(outcome(head + "<|open|>argument key=\"a\" type=\"string\"<|sep|>rm -rf /tm"),
            "reasoning=\"\" content=\"\" f?({\"a\":\"rm -rf /tm)");
  EXPECT_EQ(outcome(head + "<|open|>argument key=\"a\" type=\"object\"<|sep|>{\"b\""),
            "reasoning=\"\" content=\"\" f?({\"a\":{\"b\")");
  EXPECT_EQ(outcome(head + "<|open|>json type=\"object\"<|sep|>{}"),
            "reasoning=\"\" content=\"\" f?({})");
  // The model's own end within a value is no better.
  EXPECT_EQ(outcome(head + "<|open|>argument key=\"a\" type=\"string\"<|sep|>x<|end_of_msg|>"),
            "reasoning=\"\" content=\"\" f?({\"a\":\"x)");
}

TEST(Parse, APieceOfATagAtTheEndIsNoText) {
  EXPECT_EQ(outcome("r<|close|>thi"), "reasoning=\"r\" content=\"\"");
  EXPECT_EQ(outcome("r<|close|>"), "reasoning=\"r\" content=\"\"");
  EXPECT_EQ(outcome("r<|open|>call tool=\"f"), "reasoning=\"r\" content=\"\"");
  EXPECT_EQ(outcome("r<|open|>xyz"), "reasoning=\"rxyz\" content=\"\"");
}

TEST(Parse, NothingIsReadAfterTheEnd) {
  for (const char* end : {"<|end_of_msg|>", "[EOT]", "[EOS]"}) {
    const Parsed run =
        parsed(marked_up(std::string(kAnswer) + "a" + end + "b<|open|>think<|sep|>c"), true);
    EXPECT_TRUE(run.ended);
    EXPECT_EQ(shown(run.message), "reasoning=\"\" content=\"a\"");
    EXPECT_EQ(run.events.back().kind, Kind::kEnd);
  }
  EXPECT_FALSE(parsed(marked_up("a"), true).ended);
}

TEST(Parse, EventsCarryWholeCharacters) {
  const std::string family =
      "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7";
  std::vector<int32_t> ids = byte_by_byte(marked_up(family + kAnswer + family));
  for (const Event& e : parsed(ids, true).events)
    EXPECT_TRUE(e.text.empty() || static_cast<unsigned char>(e.text[0]) >= 0xE0)
        << json::quote(e.text);
  ids.pop_back();
  EXPECT_EQ(parsed(ids, true).message.reasoning, family);
  EXPECT_TRUE(parsed(ids, true).message.content.ends_with("\xEF\xBF\xBD"));
}

TEST(Parse, LongValuesStreamWhileTheyAreGenerated) {
  std::vector<int32_t> ids =
      marked_up(std::string(kAnswer) +
                "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument "
                "key=\"k\" type=\"string\"<|sep|>");
  ChatParser parser(golden_tokenizer(), true);
  std::vector<Event> events;
  for (const int32_t id : ids) parser.push(id, &events);
  for (int i = 0; i < 100; ++i) {
    events.clear();
    parser.push(golden_tokenizer().encode("x")[0], &events);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].text, "x");
  }
}

TEST(Parse, AHeadWithoutAnEndBecomesText) {
  const std::string text = repeat("head ", 40000);
  const ParsedMessage m = parsed(marked_up(std::string(kAnswer) + "<|open|>" + text), true).message;
  EXPECT_EQ(m.content, text);
}

// Random ids, structure and text alike: no crash, events agree with the message, valid JSON where
// it is promised, and other ids of the same text give the same message.
TEST(Parse, GarbageInEveryStateGivesAConsistentMessage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {"<|open|>",
                                           "<|close|>",
                                           "<|sep|>",
                                           "<|open|>",
                                           "<|close|>",
                                           "<|sep|>",
                                           "think",
                                           "response",
                                           "tools",
                                           "json",
                                           "call tool=\"f\" index=\"1\"",
                                           "argument key=\"k\" type=\"string\"",
                                           "argument key=\"n\" type=\"number\"",
                                           "message",
                                           "1",
                                           "{\"a\":1}",
                                           " ",
                                           "\n",
                                           "x",
                                           "\xF0\x9F\x98\x80",
                                           "<|media_pad|>",
                                           "<|open|>tools<|sep|>",
                                           "<|open|>call tool=\"g\" index=\"2\"<|sep|>",
                                           "<|close|>call<|sep|>",
                                           "<|open|>argument key=\"a\" type=\"object\"<|sep|>",
                                           "<|close|>argument<|sep|>",
                                           "<|close|>response<|sep|>"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    const size_t size = 1 + random() % 30;
    for (size_t i = 0; i < size; ++i) text += pieces[random() % pieces.size()];
    SCOPED_TRACE(text);
    outcome(text, random() % 2 == 0);
    for (const ToolCall& call : parsed(marked_up(text), true).message.tool_calls) {
      const Result<Value> value = json::parse(call.arguments, "");
      EXPECT_TRUE(call.arguments_are_text || (value.ok() && value->is_object())) << call.arguments;
    }
    if (HasFailure()) break;
  }
}

TEST(Parse, RenderingAndParsingGiveBackTheMessage) {
  const std::string request =
      R"({"messages": [{"role": "assistant", "content": "c & \"d\"", "reasoning_content": "why\n",
      "tool_calls": [{"name": "f\"&", "arguments": {"k": "v", "n": [1, 2.5], "o": {"x": null}}},
                     {"name": "g"}]}],
      "options": {"thinking_effort": null, "add_generation_prompt": false}})";
  const Result<RenderedPrompt> prompt = render_chat(golden_tokenizer(), request);
  ASSERT_TRUE(prompt.ok()) << prompt.status().to_string();
  const size_t head = marked_up("<|open|>message role=\"assistant\"<|sep|>").size();
  const std::vector<int32_t> ids(prompt->ids.begin() + static_cast<std::ptrdiff_t>(head),
                                 prompt->ids.end());
  EXPECT_EQ(shown(parsed(ids, true).message),
            "reasoning=\"why\\n\" content=\"c & \\\"d\\\"\" "
            "f\"&({\"k\":\"v\",\"n\":[1,2.5],\"o\":{\"x\":null}}) g({})");
}

}  // namespace
}  // namespace trine::test
