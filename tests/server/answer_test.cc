// Answers of every API: the stream put together is the whole answer, whatever the model says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/api_fixture.h"

namespace trine::server::test {
namespace {

using json::Value;

struct Case {
  const char* name;
  std::vector<Script> scripts;
};

const char* const kCall =
    "<|open|>call tool=\"get\" index=\"1\"<|sep|>"
    "<|open|>argument key=\"city\" type=\"string\"<|sep|>Z\xC3\xBCrich "
    "\"x\"<|close|>argument<|sep|>"
    "<|open|>argument key=\"n\" type=\"number\"<|sep|>3<|close|>argument<|sep|>"
    "<|close|>call<|sep|>";

std::vector<Case> cases() {
  const std::string thought = "Let me think.<|close|>think<|sep|>";
  const std::string response = "<|open|>response<|sep|>";
  const std::string close = "<|close|>response<|sep|>";
  const std::string end = "<|close|>message<|sep|><|end_of_msg|>";
  const std::string tools = "<|open|>tools<|sep|>";
  const std::string emoji = "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9 \xF0\x9F\x98\x80";
  return {
      {"Plain", {{thought + response + "Hello, world." + close + end}}},
      {"Emoji", {{emoji + thought + response + emoji + close + end}}},
      {"Calls",
       {{thought + response + "Look:" + close + tools + kCall + kCall + "<|close|>tools<|sep|>" +
         end}}},
      {"CallsOnly", {{thought + response + close + tools + kCall + "<|close|>tools<|sep|>" + end}}},
      {"CallsStraightFromThinking", {{"Hm." + tools + kCall + "<|close|>tools<|sep|>" + end}}},
      {"CutInThinking", {{"Let me", EndReason::kLength}}},
      {"CutInContent", {{thought + response + "Hel", EndReason::kLength}}},
      {"CutInCharacter", {{thought + response + emoji.substr(0, 6), EndReason::kLength}}},
      {"CutInArguments",
       {{thought + response + close + tools + std::string(kCall).substr(0, 105),
         EndReason::kLength}}},
      {"EmptyThinking", {{"<|close|>think<|sep|>" + response + "Hi" + close + end}}},
      {"SkippedThinking", {{"Straight answer" + close + end}}},
      {"Nothing", {{"<|end_of_msg|>"}}},
      {"NothingAtAll", {{"", EndReason::kLength}}},
      {"StopString", {{thought + response + "one STOP two" + close + end}}},
      {"StopStringInThinkingOnly", {{"a STOP b" + thought + response + "one" + close + end}}},
      {"NotQuiteAStopString", {{thought + response + "one STO two" + close + end}}},
  };
}

// Members in any order, without nulls, empty texts and empty lists.
std::string canonical(const Value& value) {
  if (value.is_object()) {
    Value kept = Value::object();
    for (const auto& [key, member] : value.as_object()) {
      const std::string text = canonical(member);
      if (text == "null" || text == "\"\"" || text == "[]") continue;
      if (key == "object" || key == "refusal") continue;
      kept.set(key, text);
    }
    return json::dump_python(kept, {.sort_keys = true, .compact = true});
  }
  if (value.is_array()) {
    std::string out = "[";
    for (const Value& item : value.as_array()) out += canonical(item) + ",";
    return value.as_array().empty() ? "[]" : out + "]";
  }
  return json::dump(value);
}

std::string body_of(ApiKind api, const std::string& extra) {
  switch (api) {
    case ApiKind::kChat:
      return R"({"messages":[{"role":"user","content":"hi"}],"stop":"STOP")"
             R"(,"stream_options":{"include_usage":true})" +
             extra + "}";
    case ApiKind::kCompletions:
      return R"({"prompt":"Say:","stop":["STOP"],"stream_options":{"include_usage":true})" + extra +
             "}";
    case ApiKind::kResponses: return R"({"input":"hi","stop":["STOP"])" + extra + "}";
    case ApiKind::kMessages: break;
  }
  return R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9)"
         R"(,"stop_sequences":["STOP"])" +
         extra + "}";
}

void expect_same(ApiKind api, const std::string& extra, const Case& c) {
  SCOPED_TRACE(c.name + std::string(" ") + extra);
  const GenerationRequest request = accepted(api, body_of(api, R"(,"stream":true)" + extra));
  const Answered answered = answer(request, c.scripts);
  const Value together = put_together(api, answered.stream);
  EXPECT_EQ(canonical(together), canonical(answered.whole)) << answered.stream;
}

TEST(Answers, OfChatAreTheSameStreamedAndWhole) {
  for (const Case& c : cases()) {
    expect_same(ApiKind::kChat, "", c);
    expect_same(ApiKind::kChat, R"(,"logprobs":true,"top_logprobs":3)", c);
    expect_same(ApiKind::kChat, R"(,"include_stop_str_in_output":true,"logprobs":true)", c);
    Case two = c;
    two.scripts.push_back(cases().front().scripts.front());
    expect_same(ApiKind::kChat, R"(,"n":2,"logprobs":true)", two);
  }
}

TEST(Answers, OfMessagesAreTheSameStreamedAndWhole) {
  for (const Case& c : cases()) expect_same(ApiKind::kMessages, "", c);
}

TEST(Answers, OfResponsesAreTheSameStreamedAndWhole) {
  for (const Case& c : cases()) {
    expect_same(ApiKind::kResponses, "", c);
    expect_same(ApiKind::kResponses, R"(,"top_logprobs":2)", c);
  }
}

TEST(Answers, OfCompletionsAreTheSameStreamedAndWhole) {
  for (const Case& c : cases()) {
    expect_same(ApiKind::kCompletions, "", c);
    expect_same(ApiKind::kCompletions, R"(,"echo":true)", c);
    expect_same(ApiKind::kCompletions, R"(,"logprobs":2)", c);
  }
}

TEST(Answers, SayTheSameThroughEveryApi) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto whole = [&](ApiKind api) {
      return answer(accepted(api, body_of(api, R"(,"stream":true)")), c.scripts).whole;
    };
    const Value chat = *whole(ApiKind::kChat).find("choices")->as_array()[0].find("message");
    std::string content, reasoning, calls;
    const Value response = whole(ApiKind::kResponses);
    const Value anthropic = whole(ApiKind::kMessages);
    for (const Value& item : response.find("output")->as_array()) {
      if (item.find("type")->as_string() == "function_call") {
        calls += item.find("arguments")->as_string();
        continue;
      }
      std::string& text = item.find("type")->as_string() == "message" ? content : reasoning;
      text += item.find("content")->as_array()[0].find("text")->as_string();
    }
    const Value* given_content = chat.find("content");
    EXPECT_EQ(given_content->is_null() ? "" : given_content->as_string(), content);
    EXPECT_EQ(chat.find("reasoning_content")->as_string(), reasoning);
    std::string text, thinking;
    for (const Value& block : anthropic.find("content")->as_array()) {
      if (block.find("text") != nullptr) text += block.find("text")->as_string();
      if (block.find("thinking") != nullptr) thinking += block.find("thinking")->as_string();
    }
    EXPECT_EQ(text, content);
    EXPECT_EQ(thinking, reasoning);
    std::string chat_calls;
    if (chat.find("tool_calls") != nullptr)
      for (const Value& call : chat.find("tool_calls")->as_array())
        chat_calls += call.find("function")->find("arguments")->as_string();
    EXPECT_EQ(chat_calls, calls);
  }
}

std::string finish_of(const Script& script, const std::string& extra = "") {
  const GenerationRequest request =
      accepted(ApiKind::kChat, body_of(ApiKind::kChat, R"(,"stream":true)" + extra));
  const Value whole = answer(request, {script}).whole;
  return whole.find("choices")->as_array()[0].find("finish_reason")->as_string();
}

TEST(Answers, FinishWithOneOfOpenAisReasons) {
  for (const Case& c : cases()) {
    const std::string reason = finish_of(c.scripts[0]);
    EXPECT_TRUE(reason == "stop" || reason == "length" || reason == "tool_calls") << reason;
  }
  EXPECT_EQ(finish_of(cases()[2].scripts[0]), "tool_calls");
  EXPECT_EQ(finish_of(cases()[5].scripts[0]), "length");
}

TEST(Answers, TellAnthropicWhyTheyStopped) {
  const auto stop = [](size_t index) {
    const GenerationRequest request =
        accepted(ApiKind::kMessages, body_of(ApiKind::kMessages, R"(,"stream":true)"));
    const Value whole = answer(request, cases()[index].scripts).whole;
    return whole.find("stop_reason")->as_string() + "/" + json::dump(*whole.find("stop_sequence"));
  };
  EXPECT_EQ(stop(0), "end_turn/null");
  EXPECT_EQ(stop(2), "tool_use/null");
  EXPECT_EQ(stop(6), "max_tokens/null");
  EXPECT_EQ(stop(13), "stop_sequence/\"STOP\"");
}

TEST(Answers, ListEveryGeneratedTokenInChatLogprobs) {
  const GenerationRequest request =
      accepted(ApiKind::kChat,
               body_of(ApiKind::kChat, R"(,"stream":true,"logprobs":true,"top_logprobs":20)"));
  const Script script = cases()[2].scripts[0];
  const Value whole = answer(request, {script}).whole;
  const Value& listed = *whole.find("choices")->as_array()[0].find("logprobs")->find("content");
  const std::vector<int32_t> ids = nano().encode(script.text, true);
  ASSERT_EQ(listed.as_array().size(), ids.size());
  std::string bytes;
  for (const Value& token : listed.as_array()) {
    for (const Value& byte : token.find("bytes")->as_array()) {
      int64_t value = 0;
      ASSERT_TRUE(byte.to_int64(&value));
      bytes += static_cast<char>(value);
    }
    EXPECT_EQ(token.find("top_logprobs")->as_array().size(), 20u);
  }
  EXPECT_EQ(bytes, script.text);
}

TEST(Answers, OfCompletionsListTokensThatAreTheText) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const GenerationRequest request = accepted(
        ApiKind::kCompletions, body_of(ApiKind::kCompletions, R"(,"stream":true,"logprobs":5)"));
    const Value whole = answer(request, c.scripts).whole;
    const Value& choice = whole.find("choices")->as_array()[0];
    const Value& logprobs = *choice.find("logprobs");
    std::string joined;
    int64_t characters = 0;
    for (size_t i = 0; i < logprobs.find("tokens")->as_array().size(); ++i) {
      int64_t offset = -1;
      EXPECT_TRUE(logprobs.find("text_offset")->as_array()[i].to_int64(&offset));
      EXPECT_EQ(offset, characters);
      const std::string& text = logprobs.find("tokens")->as_array()[i].as_string();
      for (const char b : text) characters += (static_cast<unsigned char>(b) & 0xC0) != 0x80;
      joined += text;
    }
    EXPECT_EQ(joined, choice.find("text")->as_string());
    EXPECT_EQ(logprobs.find("token_logprobs")->as_array().size(),
              logprobs.find("tokens")->as_array().size());
  }
}

TEST(Answers, EchoTheRequestInResponses) {
  const GenerationRequest request =
      accepted(ApiKind::kResponses,
               R"({"input":"hi","instructions":"Be brief.","temperature":0.5,"metadata":{"a":"b"},
          "tools":[{"type":"function","name":"f","parameters":{}}],"reasoning":{"effort":"low"}})");
  const Value whole = answer(request, cases()[0].scripts).whole;
  EXPECT_EQ(whole.find("instructions")->as_string(), "Be brief.");
  EXPECT_EQ(json::dump(*whole.find("temperature")), "0.5");
  EXPECT_EQ(json::dump(*whole.find("metadata")), R"({"a":"b"})");
  EXPECT_EQ(whole.find("reasoning")->find("effort")->as_string(), "low");
  EXPECT_EQ(whole.find("tools")->as_array().size(), 1u);
  EXPECT_EQ(whole.find("status")->as_string(), "completed");
  EXPECT_TRUE(whole.find("previous_response_id")->is_null());
}

TEST(Answers, OmitReasoningOnlyWhereNothingWasThought) {
  const auto message = [](const std::string& extra, const std::string& text) {
    const GenerationRequest request =
        accepted(ApiKind::kChat, R"({"messages":[{"role":"user","content":"hi"}])" + extra + "}");
    return *answer(request, {{text}}).whole.find("choices")->as_array()[0].find("message");
  };
  const Value silent = message(
      "", "<|close|>think<|sep|><|open|>response<|sep|>x<|close|>response<|sep|><|end_of_msg|>");
  ASSERT_NE(silent.find("reasoning_content"), nullptr);
  EXPECT_EQ(silent.find("reasoning_content")->as_string(), "");
  const Value off =
      message(R"(,"reasoning_effort":"none")", "x<|close|>response<|sep|><|end_of_msg|>");
  EXPECT_EQ(off.find("reasoning_content"), nullptr);
  EXPECT_EQ(off.find("content")->as_string(), "x");
}

TEST(Answers, SayInTheStreamWhyTheyCannotGoOn) {
  for (const ApiKind api :
       {ApiKind::kChat, ApiKind::kCompletions, ApiKind::kResponses, ApiKind::kMessages}) {
    const GenerationRequest request = accepted(api, body_of(api, R"(,"stream":true)"));
    AnswerInfo info;
    info.id = "id";
    info.model = "m";
    info.prompt_texts = {"p"};
    info.new_id = [](const char* prefix) { return std::string(prefix); };
    const std::unique_ptr<Answer> made = Answer::make(request, info, nano());
    const std::vector<SseEvent> events =
        events_of(made->begin() + made->fail({500, "broken", "", "not_finite", 0}));
    ASSERT_FALSE(events.empty());
    EXPECT_NE(events.back().data.find("broken"), std::string::npos);
    EXPECT_NE(events.back().data.find("error"), std::string::npos);
  }
}

}  // namespace
}  // namespace trine::server::test
