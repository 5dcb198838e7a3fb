// Runs a program as a user does: arguments and stdin in, exit code, stdout and stderr out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trine::testing {

struct ProcessOptions {
  std::string input;                                           ///< stdin, then its end
  std::vector<std::pair<std::string, std::string>> variables;  ///< added to the environment
  int64_t interrupt_after_bytes = -1;  ///< sends SIGINT once stdout has as many bytes
};

struct ProcessResult {
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// `arguments[0]` is the program. Waits for its end.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const ProcessOptions& options = {});

/// What a user types: `send` once `wait_for` has appeared (after what was matched before).
struct Typed {
  std::string wait_for;
  std::string send;
};

/// The same on a terminal of its own; `out` has everything the terminal showed. A text that never
/// appears ends the program after `seconds_max` (exit code 128 + SIGKILL).
ProcessResult run_in_terminal(const std::vector<std::string>& arguments,
                              const std::vector<Typed>& script,
                              const std::vector<std::pair<std::string, std::string>>& variables,
                              int seconds_max = 120);

}  // namespace trine::testing
