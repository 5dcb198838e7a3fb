// Input and output of the verbs.
#include "common.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

namespace trine::cli {
namespace {

bool begun = false;

Result<std::string> read_stream(std::FILE* file, const std::string& name) {
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const size_t n = std::fread(block.data(), 1, block.size(), file);
    text.append(block.data(), n);
    if (n < block.size()) break;
  }
  if (std::ferror(file) != 0) return Status(Code::kIo, name + ": " + std::strerror(errno));
  return text;
}

}  // namespace

std::string read_stdin() {
  Result<std::string> text = read_stream(stdin, "stdin");
  return text.ok() ? std::move(text).value() : std::string();
}

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return read_stream(stdin, "stdin");
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return Status(errno == ENOENT ? Code::kNotFound : Code::kIo,
                  path + ": cannot open: " + std::strerror(errno));
  }
  Result<std::string> text = read_stream(file, path);
  std::fclose(file);
  return text;
}

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }

void print(std::string_view text) {
  begun |= !text.empty();
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::cout.flush();
}

void print_line(std::string_view text) {
  begun = true;
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::cout.put('\n');
  std::cout.flush();
}

bool output_begun() { return begun; }

Status flush_output() {
  std::cout.flush();
  if (std::cout.good()) return Status();
  return Status(Code::kIo, "stdout: the output could not be written in full; is the disk full?");
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 10.0 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text.data();
}

int64_t peak_memory_bytes() {
  // Not getrusage: its maximum survives exec and may be the parent's.
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace trine::cli
