// What all verbs share: failures, stdin and files taken verbatim, text on stdout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "failure.h"
#include "trine/status.h"

namespace trine::cli {

/// All of stdin, byte for byte.
std::string read_stdin();
/// All of a file, byte for byte; "-" is stdin.
Result<std::string> read_input(const std::string& path);
bool stdin_is_terminal();

/// Text to stdout, at once; later failures of the stream are found by flush_output.
void print(std::string_view text);
void print_line(std::string_view text);
/// True once something was printed.
bool output_begun();
/// kIo when something could not be written (disk full).
Status flush_output();

/// "1.5 GiB".
std::string bytes_text(int64_t bytes);
/// Most resident memory of this process so far.
int64_t peak_memory_bytes();

}  // namespace trine::cli
