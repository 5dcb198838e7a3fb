// XTML chat format (spec section 10): conversations to ids, generated ids to messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trine/status.h"
#include "trine/tokenizer.h"

namespace trine {

/// A rendered prompt: `text` spells control tokens, `ids` are encoded segment by segment.
struct RenderedPrompt {
  std::string text;
  std::vector<int32_t> ids;
  /// Where images stand ("messages[0].content[1]"): in the prompt they are mere placeholders, which
  /// a model that is given no picture must not be asked about.
  std::vector<std::string> images;
};

/// Renders {"messages": [...], "tools": [...], "options": {...}} given as JSON text. Options:
/// add_generation_prompt (default true), thinking (default true), thinking_effort (default "max";
/// "low"|"medium"|"high"|"max"; "none" = thinking off; null = no effort message), tool_choice
/// ("required"|"none"|"auto"), response_format {"type": "text"|"json_object"|"json_schema"},
/// response_schema, image_prompts. Unknown options are refused by name.
/// Errors: kInvalidArgument naming the message and key.
Result<RenderedPrompt> render_chat(const Tokenizer& tokenizer, const std::string& request_json);

struct ToolCall {
  std::string name;
  std::string arguments;  ///< JSON object text, keys in generated order
  /// `arguments` is not a JSON object: the raw text of a <json> element, a call that was cut off,
  /// or one that gives a key twice. Do not execute it.
  bool arguments_are_text = false;
};

struct ParsedMessage {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> tool_calls;
};

/// Streaming parser of generated ids: the events are the same wherever the stream is cut.
class ChatParser {
 public:
  struct Event {
    enum class Kind {
      kReasoning,
      kContent,
      kToolCallBegin,
      kToolArguments,
      kToolCallEnd,
      kEnd,
      /// All reasoning so far was the answer (the model skipped the think channel): forget it; the
      /// same text follows as kContent. Rare.
      kReasoningWasContent
    };
    Kind kind = Kind::kContent;
    std::string
        text;  ///< the piece of reasoning / content / argument JSON; whole UTF-8 characters only
    int tool_index = 0;               ///< 0-based call
    std::string name;                 ///< tool events: function name
    bool arguments_are_text = false;  ///< kToolCallEnd: as in ToolCall
  };
  /// `thinking`: the prompt ended with an open think channel. The tokenizer must outlive the
  /// parser.
  ChatParser(const Tokenizer& tokenizer, bool thinking);
  ~ChatParser();
  ChatParser(ChatParser&&) noexcept;
  ChatParser& operator=(ChatParser&&) noexcept;

  /// Consumes one id; appends what became certain.
  void push(int32_t id, std::vector<Event>* events);
  /// The output ended (stop token, length): flushes what is held back. A call that is still open
  /// ends here, its arguments as text. Nothing may be pushed afterwards.
  void finish(std::vector<Event>* events);
  /// True after <|end_of_msg|> (or [EOT], [EOS]).
  bool ended() const;
  /// Everything so far as one message.
  const ParsedMessage& message() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Whole outputs at once; `events` of ChatParser put together.
ParsedMessage parse_chat(const Tokenizer& tokenizer, std::span<const int32_t> ids, bool thinking);

}  // namespace trine
