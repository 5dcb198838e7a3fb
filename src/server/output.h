// From generated tokens to what a client reads: text in whole characters, reasoning, content and
// tool calls apart, cut at stop strings. One object per answer; no threads, no JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/token_text.h"
#include "trine/chat.h"
#include "trine/tokenizer.h"

namespace trine::server {

/// Narrows the next token (structured output, tool calls); see server/constraint.h.
class Constraint {
 public:
  virtual ~Constraint() = default;
  /// Sets the bits of the ids that may come next and clears all others; false = all may, and
  /// `allowed` is untouched.
  virtual bool mask(std::span<uint64_t> allowed) = 0;
  /// The answer goes on with this token. Any id is taken; after one that was not allowed nothing is
  /// narrowed any more.
  virtual void accept(int32_t id) = 0;
};

struct OutputEvent {
  enum class Kind { kReasoning, kContent, kToolBegin, kToolArguments, kToolEnd };
  Kind kind = Kind::kContent;
  std::string text;                 ///< whole UTF-8 characters
  int tool_index = 0;               ///< 0-based
  std::string name;                 ///< tool events
  bool arguments_are_text = false;  ///< kToolEnd
};

struct OutputOptions {
  bool chat = true;               ///< XTML; else plain text (completions), control tokens spelled
  bool thinking = true;           ///< the prompt ended with an open think channel
  std::vector<std::string> stop;  ///< none empty; see StopMatcher. In the content only
  bool include_stop = false;      ///< leave the matched stop string in the text
  /// Ids that end the answer and are no text, beside <|end_of_msg|>, [EOT] and [EOS].
  std::vector<int32_t> end_ids;
  bool ignore_eos = false;  ///< those three do not end the answer; they are skipped
  bool pieces = false;      ///< keep what take_pieces() returns (plain text only)
  std::shared_ptr<Constraint> constraint;
};

/// What the events say, put together, is what reasoning(), content() and tool_calls() return, for
/// every answer and wherever it ends:
/// - without a stop string it is parse_chat()'s message, with one exception: where the model
/// skipped
///   the think channel, the answer has gone out as reasoning before that is known. It stays there
///   and comes once more as content;
/// - the content ends before the first stop string, and so does the answer. A call that is open
/// then
///   is closed as one that was cut off. Content before and after a call is one text for this, but
///   what stands before a call does not wait any longer once the call begins.
class Output {
 public:
  Output(const Tokenizer& tokenizer, OutputOptions options);
  ~Output();

  bool mask(std::span<uint64_t> allowed);
  /// True: stop now (a stop string is complete, or the message ended). Events are appended as they
  /// become certain: a piece that may turn out to begin a stop string waits. Nothing is taken after
  /// the end.
  bool push(int32_t id, std::vector<OutputEvent>* events);
  /// The answer ended for another reason: flushes what waited. No effect after the end.
  void finish(std::vector<OutputEvent>* events);

  bool stopped_by_string() const;
  const std::string& stop_string() const;  ///< which one
  const std::string& reasoning() const;
  const std::string& content() const;  ///< or the whole text without chat
  const std::vector<ToolCall>& tool_calls() const;

  /// One for each id that was pushed, in order, as soon as its part of the text is certain; after
  /// the end none is missing. Each is returned once.
  std::vector<TokenPiece> take_pieces();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::server
