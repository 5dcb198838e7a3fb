// What the tests of the API formats share; see the header.
#include "server/api_fixture.h"

#include <cstdlib>
#include <memory>

#include "server/output.h"

namespace trine::server::test {
namespace {

using json::Value;

void append_text(Value* object, const std::string& key, const Value* piece) {
  if (piece == nullptr || !piece->is_string()) return;
  const Value* old = object->find(key);
  object->set(key,
              (old == nullptr || !old->is_string() ? "" : old->as_string()) + piece->as_string());
}

size_t index_of(const Value& object, const char* key) {
  int64_t index = 0;
  EXPECT_TRUE(object.find(key) != nullptr && object.find(key)->to_int64(&index));
  return static_cast<size_t>(index);
}

// A client's view of chat chunks.
void add_chat_delta(const Value& delta, Value* message) {
  for (const auto& [key, value] : delta.as_object()) {
    if (key == "role") {
      message->set("role", value);
    } else if (key != "tool_calls") {
      append_text(message, key, &value);
    } else {
      for (const Value& piece : value.as_array()) {
        const size_t index = index_of(piece, "index");
        Value calls =
            message->find("tool_calls") == nullptr ? Value::array() : *message->find("tool_calls");
        while (calls.as_array().size() <= index) calls.push(Value::object());
        Value& call = calls.as_array()[index];
        if (piece.find("id") != nullptr) call.set("id", *piece.find("id"));
        if (piece.find("type") != nullptr) call.set("type", *piece.find("type"));
        const Value& given = *piece.find("function");
        Value function =
            call.find("function") == nullptr ? Value::object() : *call.find("function");
        if (given.find("name") != nullptr) function.set("name", *given.find("name"));
        append_text(&function, "arguments", given.find("arguments"));
        call.set("function", function);
        message->set("tool_calls", calls);
      }
    }
  }
}

void append_all(const Value* from, Value* to) {
  if (from == nullptr || !from->is_object()) return;
  for (const auto& [key, value] : from->as_object()) {
    if (!value.is_array()) {
      to->set(key, value);
      continue;
    }
    Value all = to->find(key) == nullptr ? Value::array() : *to->find(key);
    for (const Value& item : value.as_array()) all.push(item);
    to->set(key, all);
  }
}

Value fold_openai(const std::string& stream, bool is_chat) {
  Value out;
  Value choices = Value::array();
  const std::vector<SseEvent> events = events_of(stream);
  EXPECT_FALSE(events.empty());
  EXPECT_EQ(events.back().data, "[DONE]");
  for (const SseEvent& event : events) {
    if (event.data == "[DONE]") continue;
    const Value chunk = parse_json(event.data);
    for (const char* key : {"id", "created", "model"}) out.set(key, *chunk.find(key));
    if (const Value* usage = chunk.find("usage"); usage != nullptr && !usage->is_null())
      out.set("usage", *usage);
    for (const Value& piece : chunk.find("choices")->as_array()) {
      const size_t index = index_of(piece, "index");
      while (choices.as_array().size() <= index) choices.push(Value::object());
      Value& choice = choices.as_array()[index];
      choice.set("index", static_cast<int64_t>(index));
      if (is_chat) {
        Value message =
            choice.find("message") == nullptr ? Value::object() : *choice.find("message");
        add_chat_delta(*piece.find("delta"), &message);
        choice.set("message", message);
      } else {
        append_text(&choice, "text", piece.find("text"));
      }
      Value logprobs = choice.find("logprobs") == nullptr ? Value() : *choice.find("logprobs");
      append_all(piece.find("logprobs"), &logprobs);
      choice.set("logprobs", logprobs);
      if (!piece.find("finish_reason")->is_null())
        choice.set("finish_reason", *piece.find("finish_reason"));
    }
  }
  out.set("choices", choices);
  return out;
}

Value fold_messages(const std::string& stream) {
  Value message;
  Value content = Value::array();
  std::vector<std::string> inputs;
  bool open = false;
  for (const SseEvent& event : events_of(stream)) {
    const Value data = parse_json(event.data);
    EXPECT_EQ(data.find("type")->as_string(), event.name);
    if (event.name == "message_start") message = *data.find("message");
    if (event.name == "content_block_start") {
      EXPECT_FALSE(open);
      open = true;
      EXPECT_EQ(index_of(data, "index"), content.as_array().size());
      content.push(*data.find("content_block"));
      inputs.emplace_back();
    }
    if (event.name == "content_block_delta") {
      EXPECT_TRUE(open);
      Value& block = content.as_array()[index_of(data, "index")];
      const Value& delta = *data.find("delta");
      for (const char* key : {"text", "thinking", "signature"})
        append_text(&block, key, delta.find(key));
      if (delta.find("partial_json") != nullptr)
        inputs.back() += delta.find("partial_json")->as_string();
    }
    if (event.name == "content_block_stop") {
      EXPECT_TRUE(open);
      open = false;
      if (inputs.back().empty()) continue;
      Result<Value> input = json::parse(inputs.back(), "");
      Value raw;
      raw.set("raw", inputs.back());
      content.as_array().back().set("input", input.ok() ? *input : raw);
    }
    if (event.name == "message_delta") {
      for (const auto& [key, value] : data.find("delta")->as_object()) message.set(key, value);
      message.set("usage", *data.find("usage"));
    }
  }
  EXPECT_FALSE(open);
  message.set("content", content);
  return message;
}

// Items by their deltas; then the response that the last event gives.
Value fold_responses(const std::string& stream) {
  Value items = Value::array();
  Value response;
  int64_t sequence = 0;
  for (const SseEvent& event : events_of(stream)) {
    const Value data = parse_json(event.data);
    EXPECT_EQ(data.find("type")->as_string(), event.name);
    EXPECT_EQ(static_cast<int64_t>(index_of(data, "sequence_number")), sequence++);
    if (event.name == "response.output_item.added") {
      EXPECT_EQ(index_of(data, "output_index"), items.as_array().size());
      items.push(*data.find("item"));
    }
    if (event.name == "response.content_part.added") {
      Value content = Value::array();
      content.push(*data.find("part"));
      items.as_array().back().set("content", content);
    }
    if (event.name.ends_with("_text.delta")) {
      Value content = *items.as_array().back().find("content");
      append_text(&content.as_array()[0], "text", data.find("delta"));
      if (const Value* logprobs = data.find("logprobs"))
        for (const Value& item : logprobs->as_array()) {
          Value all = *content.as_array()[0].find("logprobs");
          content.as_array()[0].set("logprobs", all.push(item));
          all = *content.as_array()[0].find("logprobs");
        }
      items.as_array().back().set("content", content);
    }
    if (event.name == "response.function_call_arguments.delta")
      append_text(&items.as_array().back(), "arguments", data.find("delta"));
    if (event.name == "response.output_item.done") {
      Value& item = items.as_array().back();
      item.set("status", *data.find("item")->find("status"));
      EXPECT_EQ(json::dump(item), json::dump(*data.find("item")));
    }
    if (data.find("response") != nullptr) response = *data.find("response");
  }
  EXPECT_EQ(json::dump(items), json::dump(*response.find("output")));
  return response;
}

}  // namespace

const Tokenizer& nano() {
  static const Tokenizer tokenizer = [] {
    Result<Tokenizer> loaded = Tokenizer::load(std::string(TRINE_SOURCE_DIR) + "/models/k3-nano");
    if (!loaded.ok()) std::abort();
    return *std::move(loaded);
  }();
  return tokenizer;
}

Value parse_json(const std::string& text) {
  Result<Value> value = json::parse(text, "test");
  EXPECT_TRUE(value.ok()) << text << "\n" << value.status().to_string();
  return value.ok() ? *std::move(value) : Value();
}

MaybeProblem parse_request(ApiKind api, const std::string& body, GenerationRequest* out,
                           RequestRules rules) {
  rules.vocab_size = nano().vocab_size();
  const Value parsed = parse_json(body);
  switch (api) {
    case ApiKind::kChat: return parse_chat_request(parsed, rules, out);
    case ApiKind::kCompletions: return parse_completion_request(parsed, rules, out);
    case ApiKind::kResponses: return parse_responses_request(parsed, rules, out);
    case ApiKind::kMessages: break;
  }
  return parse_messages_request(parsed, rules, out);
}

GenerationRequest accepted(ApiKind api, const std::string& body) {
  GenerationRequest out;
  const MaybeProblem problem = parse_request(api, body, &out);
  EXPECT_FALSE(problem.has_value()) << body << "\n" << (problem ? problem->message : "");
  return out;
}

Answered answer(const GenerationRequest& request, const std::vector<Script>& scripts) {
  AnswerInfo info;
  info.id = "id-1";
  info.model = "nano";
  info.created = 1700000000;
  info.prompt_tokens = 10;
  auto counter = std::make_shared<int>(0);
  info.new_id = [counter](const char* prefix) { return prefix + std::to_string(++*counter); };
  for (const PlainPrompt& prompt : request.prompts) info.prompt_texts.push_back(prompt.text);
  const std::unique_ptr<Answer> made = Answer::make(request, info, nano());
  std::string stream = made->begin();
  Usage usage{.prompt = 10, .cached = 4, .completion = 0, .reasoning = 0};
  for (size_t i = 0; i < scripts.size(); ++i) {
    OutputOptions options;
    options.chat = request.api != ApiKind::kCompletions;
    options.thinking = request.thinking;
    options.stop = request.stop;
    options.include_stop = request.include_stop;
    options.pieces = request.logprobs && !options.chat;
    Output output(nano(), options);
    bool stopped = false;
    for (const int32_t id : nano().encode(scripts[i].text, true)) {
      if (stopped) break;
      std::vector<OutputEvent> events;
      stopped = output.push(id, &events);
      ++usage.completion;
      AnswerToken token{.id = id,
                        .has_logprob = true,
                        .logprob = -0.125f * static_cast<float>(usage.completion),
                        .top = {}};
      for (int k = 0; k < request.request.top_logprobs; ++k)
        token.top.emplace_back(k == 0 ? id : k, token.logprob - static_cast<float>(k));
      stream += made->add(i, events, request.logprobs ? &token : nullptr,
                          options.pieces ? output.take_pieces() : std::vector<TokenPiece>(), usage);
    }
    std::vector<OutputEvent> events;
    output.finish(&events);
    stream += made->add(i, events, nullptr,
                        options.pieces ? output.take_pieces() : std::vector<TokenPiece>(), usage);
    stream += output.stopped_by_string()
                  ? made->end_choice(i, EndReason::kStopString, output.stop_string())
                  : made->end_choice(i, scripts[i].reason, "");
  }
  stream += made->end(usage);
  return {request.stream ? stream : "", made->whole(usage)};
}

std::vector<SseEvent> events_of(const std::string& stream) {
  std::vector<SseEvent> out;
  size_t at = 0;
  while (at < stream.size()) {
    const size_t end = stream.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "an event without its end";
    if (end == std::string::npos) break;
    SseEvent event;
    size_t line = at;
    while (line < end) {
      const size_t line_end = std::min(stream.find('\n', line), end);
      const std::string text = stream.substr(line, line_end - line);
      if (text.starts_with("event: ")) event.name = text.substr(7);
      if (text.starts_with("data: ")) event.data = text.substr(6);
      line = line_end + 1;
    }
    if (!event.data.empty()) out.push_back(event);
    at = end + 2;
  }
  return out;
}

Value put_together(ApiKind api, const std::string& stream) {
  switch (api) {
    case ApiKind::kChat: return fold_openai(stream, true);
    case ApiKind::kCompletions: return fold_openai(stream, false);
    case ApiKind::kResponses: return fold_responses(stream);
    case ApiKind::kMessages: break;
  }
  return fold_messages(stream);
}

}  // namespace trine::server::test
