// Line editing by libedit.
#include "line_reader.h"

#include <editline/readline.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "interrupt.h"
#include "progress.h"

namespace trine::cli {
namespace {

constexpr int kHistoryLines = 1000;

std::string default_history_file() {
  namespace fs = std::filesystem;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state != '\0') {
    folder = state;
  } else if (home != nullptr && *home != '\0') {
    folder = fs::path(home) / ".local" / "state";
  } else {
    return {};
  }
  folder /= "trine";
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? std::string() : (folder / "history").string();
}

}  // namespace

LineReader::LineReader(bool keep_history)
    : interactive_(::isatty(STDIN_FILENO) == 1 && stderr_is_terminal()) {
  if (!interactive_) return;
  rl_readline_name = "trine";
  rl_outstream = stderr;  // stdout is for answers
  ::using_history();
  ::stifle_history(kHistoryLines);
  if (!keep_history) return;
  history_file_ = default_history_file();
  if (!history_file_.empty()) ::read_history(history_file_.c_str());
}

LineReader::~LineReader() {
  if (!interactive_ || history_file_.empty()) return;
  // Prompts may be private: nobody else reads them.
  const mode_t previous = ::umask(0077);
  ::write_history(history_file_.c_str());
  ::umask(previous);
}

LineReader::Outcome LineReader::read_part(const std::string& prompt, std::string* part) {
  if (!interactive_) {
    if (std::getline(std::cin, *part)) {
      if (part->ends_with('\r')) part->pop_back();  // lines of Windows
      return Outcome::kLine;
    }
    return InterruptGuard::interrupted() ? Outcome::kInterrupted : Outcome::kEnd;
  }
  const std::unique_ptr<char, decltype(&std::free)> text(::readline(prompt.c_str()), &std::free);
  if (text == nullptr) {
    std::cerr << "\n";
    return InterruptGuard::interrupted() ? Outcome::kInterrupted : Outcome::kEnd;
  }
  *part = text.get();
  return Outcome::kLine;
}

LineReader::Outcome LineReader::read(const std::string& prompt, std::string* line) {
  line->clear();
  std::string part;
  Outcome outcome = read_part(prompt, &part);
  while (outcome == Outcome::kLine && part.ends_with('\\')) {
    part.back() = '\n';
    *line += part;
    outcome = read_part(interactive_ ? ". " : prompt, &part);
  }
  if (outcome == Outcome::kLine) *line += part;
  if (outcome == Outcome::kEnd && !line->empty()) outcome = Outcome::kLine;
  if (outcome == Outcome::kLine && interactive_ && !line->empty()) ::add_history(line->c_str());
  return outcome;
}

}  // namespace trine::cli
