// Answers on the terminal.
#include "answer_writer.h"

#include <iostream>

#include "common.h"
#include "json_text.h"
#include "progress.h"

namespace trine::cli {
namespace {

constexpr const char* kDim = "\033[2m";
constexpr const char* kNormal = "\033[0m";

}  // namespace

std::string dimmed(const std::string& text) {
  return stderr_is_terminal() ? kDim + text + kNormal : text;
}

AnswerWriter::AnswerWriter(bool show, bool show_reasoning)
    : show_(show), show_reasoning_(show && show_reasoning), dim_(stderr_is_terminal()) {}

void AnswerWriter::reasoning(const std::string& text) {
  if (!show_reasoning_ || text.empty()) return;
  if (!reasoning_open_ && dim_) std::cerr << kDim;
  reasoning_open_ = true;
  reasoning_at_line_start_ = text.back() == '\n';
  std::cerr << text << std::flush;
}

void AnswerWriter::end_reasoning() {
  if (!reasoning_open_) return;
  reasoning_open_ = false;
  if (dim_) std::cerr << kNormal;
  if (!reasoning_at_line_start_) std::cerr << '\n';
  std::cerr << std::flush;
}

void AnswerWriter::content(const std::string& text) {
  if (!show_ || text.empty()) return;
  end_reasoning();
  print(text);
  content_at_line_start_ = text.back() == '\n';
}

void AnswerWriter::end_content_line() {
  if (!content_at_line_start_) print("\n");
  content_at_line_start_ = true;
}

void AnswerWriter::tool_call(const ToolCall& call) {
  if (!show_) return;
  end_reasoning();
  end_content_line();
  print_line(json_tool_call(call));
}

void AnswerWriter::finish() {
  end_reasoning();
  end_content_line();
}

}  // namespace trine::cli
