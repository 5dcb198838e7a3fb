// Lines of a conversation: edited and with history on a terminal, plain from a pipe.
#pragma once

#include <string>

namespace trine::cli {

class LineReader {
 public:
  enum class Outcome { kLine, kInterrupted, kEnd };

  /// `keep_history`: remember lines between sessions, in the user's state folder.
  explicit LineReader(bool keep_history);
  /// Saves the history.
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool interactive() const { return interactive_; }
  /// The next line without its end; a line that ends in a backslash goes on in the next one.
  Outcome read(const std::string& prompt, std::string* line);

 private:
  Outcome read_part(const std::string& prompt, std::string* part);

  bool interactive_;
  std::string history_file_;  ///< empty = not kept
};

}  // namespace trine::cli
