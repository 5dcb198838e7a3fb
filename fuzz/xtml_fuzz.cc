// Chat: generated ids of any kind give a consistent message, text in a request stays text.
#include <vector>

#include "base/json.h"
#include "text/utf8.h"
#include "text_fuzz.h"
#include "trine/chat.h"

namespace {

using trine::ChatParser;
using trine::ParsedMessage;
using Event = ChatParser::Event;
using trine::fuzz::require;

// Bytes below 16 are structure, the rest is text.
std::vector<int32_t> ids_of(const std::string& input) {
  static constexpr const char* kPieces[] = {"<|open|>",
                                            "<|close|>",
                                            "<|sep|>",
                                            "<|end_of_msg|>",
                                            "<|open|>think<|sep|>",
                                            "<|close|>think<|sep|>",
                                            "<|open|>response<|sep|>",
                                            "<|close|>response<|sep|>",
                                            "<|open|>tools<|sep|>",
                                            "<|open|>call tool=\"f\" index=\"1\"<|sep|>",
                                            "<|close|>call<|sep|>",
                                            "<|open|>argument key=\"k\" type=\"string\"<|sep|>",
                                            "<|open|>argument key=\"n\" type=\"object\"<|sep|>",
                                            "<|close|>argument<|sep|>",
                                            "<|open|>json type=\"object\"<|sep|>",
                                            "<|close|>tools<|sep|>"};
  std::vector<int32_t> ids;
  for (const char c : input) {
    const auto byte = static_cast<uint8_t>(c);
    const std::string piece = byte < 16 ? kPieces[byte] : std::string(1, c);
    for (const int32_t id : trine::fuzz::small_tokenizer().encode(piece, true)) ids.push_back(id);
  }
  return ids;
}

// The same text by one token for each byte.
std::vector<int32_t> byte_by_byte(const std::vector<int32_t>& ids) {
  const trine::Tokenizer& tokenizer = trine::fuzz::small_tokenizer();
  std::vector<int32_t> out;
  for (const int32_t id : ids) {
    if (tokenizer.is_control(id)) {
      out.push_back(id);
      continue;
    }
    for (const char c : tokenizer.token_bytes(id)) out.push_back(static_cast<uint8_t>(c));
  }
  return out;
}

ParsedMessage folded(const std::vector<Event>& events) {
  ParsedMessage m;
  for (const Event& e : events) {
    switch (e.kind) {
      case Event::Kind::kReasoning: m.reasoning += e.text; break;
      case Event::Kind::kContent: m.content += e.text; break;
      case Event::Kind::kReasoningWasContent: m.reasoning.clear(); break;
      case Event::Kind::kToolCallBegin: m.tool_calls.push_back({e.name, "", false}); break;
      case Event::Kind::kToolArguments: m.tool_calls.back().arguments += e.text; break;
      case Event::Kind::kToolCallEnd:
        m.tool_calls.back().arguments_are_text = e.arguments_are_text;
        break;
      case Event::Kind::kEnd: break;
    }
  }
  return m;
}

bool same(const ParsedMessage& a, const ParsedMessage& b) {
  if (a.reasoning != b.reasoning || a.content != b.content) return false;
  if (a.tool_calls.size() != b.tool_calls.size()) return false;
  for (size_t i = 0; i < a.tool_calls.size(); ++i) {
    const trine::ToolCall& x = a.tool_calls[i];
    const trine::ToolCall& y = b.tool_calls[i];
    if (x.name != y.name || x.arguments != y.arguments) return false;
    if (x.arguments_are_text != y.arguments_are_text) return false;
  }
  return true;
}

void parse_output(const std::string& input, bool thinking) {
  const trine::Tokenizer& tokenizer = trine::fuzz::small_tokenizer();
  const std::vector<int32_t> ids = ids_of(input);
  ChatParser parser(tokenizer, thinking);
  std::vector<Event> events;
  for (const int32_t id : ids) parser.push(id, &events);
  parser.finish(&events);
  for (const Event& e : events) require(trine::replace_invalid_utf8(e.text) == e.text);
  require(same(folded(events), parser.message()));
  require(same(trine::parse_chat(tokenizer, byte_by_byte(ids), thinking), parser.message()));
  for (const trine::ToolCall& call : parser.message().tool_calls) {
    if (call.arguments_are_text) continue;
    const auto value = trine::json::parse(call.arguments, "");
    require(value.ok() && value->is_object());
  }
}

size_t control_ids(const std::string& request) {
  const auto prompt = trine::render_chat(trine::fuzz::small_tokenizer(), request);
  require(prompt.ok());
  size_t count = 0;
  for (const int32_t id : prompt->ids) count += trine::fuzz::small_tokenizer().is_control(id);
  return count;
}

void render_text(const std::string& input) {
  const auto request = [](const std::string& text) {
    const std::string quoted = trine::json::quote(text);
    return R"({"messages": [{"role": "user", "content": )" + quoted + R"(, "name": )" + quoted +
           "}]}";
  };
  require(control_ids(request(trine::replace_invalid_utf8(input))) == control_ids(request("x")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  parse_output(input, (data[0] & 1) != 0);
  render_text(input);
  (void)trine::render_chat(trine::fuzz::small_tokenizer(), input);  // refused or rendered
  return 0;
}
