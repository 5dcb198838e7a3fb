// How a verb ends that could not do its work: a message on stderr, with --json also one JSON value
// on stdout, and the exit code.
#pragma once

#include <string>

#include "trine/status.h"

namespace trine::cli {

/// Exit codes of every verb.
enum Exit : int {
  kDone = 0,
  kRefused = 1,        ///< findings, or an input that was refused
  kUsage = 2,          ///< the command line is wrong
  kEnvironment = 3,    ///< no memory, no file, no such instruction set
  kInterrupted = 130,  ///< Ctrl-C: what was done until then is on stdout
};

/// Who is to blame: the data given, the options, or the machine for what it cannot do.
enum class Blame { kInput, kOptions, kMachine };

/// From now on failures are also {"error": {"code", "message", "exit_code"}} on stdout.
void report_failures_as_json(bool on);

/// Prints "trine: MESSAGE" on stderr and returns the exit code that the failure deserves.
int fail(const Status& status, Blame blame = Blame::kInput);
/// A usage error of the verb (none: of trine itself), with the pointer to its help.
int fail_usage(const std::string& verb, const std::string& message);
/// The JSON value alone, for what is not told by a Status.
void print_error_json(const std::string& code, const std::string& message, int exit_code);

}  // namespace trine::cli
