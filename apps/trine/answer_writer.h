// Shows an answer while it is generated: stdout has the answer's data and nothing else.
#pragma once

#include <string>

#include "trine/chat.h"

namespace trine::cli {

class AnswerWriter {
 public:
  /// `show`: false prints nothing at all; `show_reasoning`: on stderr, dimmed on a terminal.
  AnswerWriter(bool show, bool show_reasoning);
  void reasoning(const std::string& text);
  void content(const std::string& text);
  /// One line of JSON.
  void tool_call(const ToolCall& call);
  /// Ends open lines.
  void finish();

 private:
  void end_reasoning();
  void end_content_line();

  bool show_;
  bool show_reasoning_;
  bool dim_;
  bool reasoning_open_ = false;
  bool reasoning_at_line_start_ = true;
  bool content_at_line_start_ = true;
};

/// Text as it is dimmed on a terminal; plain elsewhere.
std::string dimmed(const std::string& text);

}  // namespace trine::cli
