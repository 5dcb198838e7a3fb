// What all verbs share: exit codes, messages on stderr, stdin and files taken verbatim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// Who is to blame for kInvalidArgument: the data given, or the options.
enum class Blame { kInput, kOptions };

/// Prints "trine: MESSAGE" on stderr and returns the exit code that the failure deserves.
int fail(const Status& status, Blame blame = Blame::kInput);
/// An ISA level: unknown is a usage error, lacking is the environment's.
int fail_isa(const Status& status);
/// A usage error of the verb, with the pointer to its help.
int fail_usage(const std::string& verb, const std::string& message);

/// All of stdin, byte for byte.
std::string read_stdin();
/// All of a file, byte for byte; "-" is stdin.
Result<std::string> read_input(const std::string& path);
bool stdin_is_terminal();

/// Text to stdout, at once; later failures of the stream are found by flush_output.
void print(std::string_view text);
void print_line(std::string_view text);
/// kIo when something could not be written (disk full).
Status flush_output();

/// "1,2,3", "1 2 3" or "[1, 2, 3]".
Result<std::vector<int32_t>> parse_ids(std::string_view text, const std::string& where);
/// The ids of --ids or --ids-file; exactly one must be given.
Result<std::vector<int32_t>> ids_from(const std::string& ids, const std::string& ids_file);

/// "1.5 GiB".
std::string bytes_text(int64_t bytes);
/// Most resident memory of this process so far.
int64_t peak_memory_bytes();

}  // namespace trine::cli
