// From generated tokens to what a client reads: text in whole characters, reasoning, content and
// tool calls apart, cut at stop strings. One object per answer; no threads, no JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trine/chat.h"
#include "trine/tokenizer.h"

namespace trine::server {

/// Narrows the next token (structured output, tool calls); see server/constraint.h.
class Constraint {
 public:
  virtual ~Constraint() = default;
  /// Bits of allowed ids; false = all allowed.
  virtual bool mask(std::span<uint64_t> allowed) = 0;
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
  bool chat = true;               ///< XTML; else plain text (completions)
  bool thinking = true;           ///< the prompt ended with an open think channel
  std::vector<std::string> stop;  ///< in the content only; never part of an event
  bool include_stop = false;      ///< leave the matched stop string in the text
  std::shared_ptr<Constraint> constraint;
};

class Output {
 public:
  Output(const Tokenizer& tokenizer, OutputOptions options);
  ~Output();

  bool mask(std::span<uint64_t> allowed);
  /// True: stop now (a stop string is complete, or the message ended). Events are appended as they
  /// become certain: a piece that may turn out to begin a stop string waits.
  bool push(int32_t id, std::vector<OutputEvent>* events);
  /// The answer ended for another reason: flushes what waited.
  void finish(std::vector<OutputEvent>* events);

  bool stopped_by_string() const;
  const std::string& stop_string() const;  ///< which one
  const std::string& reasoning() const;
  const std::string& content() const;  ///< or the whole text without chat
  const std::vector<ToolCall>& tool_calls() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::server
