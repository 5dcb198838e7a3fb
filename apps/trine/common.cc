// Exit codes, input and output of the verbs.
#include "common.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace trine::cli {
namespace {

int exit_code(Code code, Blame blame) {
  switch (code) {
    case Code::kOk: return kDone;
    case Code::kInvalidArgument: return blame == Blame::kOptions ? kUsage : kRefused;
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kNotFinite: return kRefused;
    case Code::kCancelled: return kInterrupted;
    case Code::kNotFound:
    case Code::kOutOfMemory:
    case Code::kIo:
    case Code::kBusy:
    case Code::kInternal: return kEnvironment;
  }
  return kEnvironment;
}

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

int fail(const Status& status, Blame blame) {
  std::cout.flush();
  if (status.code() == Code::kCancelled) {
    std::cerr << "trine: interrupted\n";
  } else {
    std::cerr << "trine: " << status.to_string() << "\n";
  }
  return exit_code(status.code(), blame);
}

int fail_isa(const Status& status) {
  const int code = fail(status, Blame::kOptions);
  return status.code() == Code::kUnsupported ? kEnvironment : code;
}

int fail_usage(const std::string& verb, const std::string& message) {
  std::cerr << "trine " << verb << ": " << message << "\nSee 'trine " << verb << " --help'.\n";
  return kUsage;
}

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
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::cout.flush();
}

void print_line(std::string_view text) {
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::cout.put('\n');
  std::cout.flush();
}

Status flush_output() {
  std::cout.flush();
  if (std::cout.good()) return Status();
  return Status(Code::kIo, "stdout: the output could not be written in full; is the disk full?");
}

Result<std::vector<int32_t>> parse_ids(std::string_view text, const std::string& where) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool comma = false;
  while (true) {
    while (at != end && blank(*at)) ++at;
    if (at == end) break;
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool ends = next == end || blank(*next) || *next == ',';
    if (error != std::errc() || id < 0 || !ends) {
      const std::string found(at, static_cast<size_t>(std::min<std::ptrdiff_t>(end - at, 20)));
      return Status(Code::kInvalidArgument,
                    where + ": found '" + found + "', expected token ids such as 1,2,3 or [1,2,3]");
    }
    ids.push_back(id);
    at = next;
    while (at != end && blank(*at)) ++at;
    comma = at != end && *at == ',';
    if (comma) ++at;
  }
  if (comma) {
    return Status(Code::kInvalidArgument, where + ": an id is missing after the last comma");
  }
  return ids;
}

Result<std::vector<int32_t>> ids_from(const std::string& ids, const std::string& ids_file) {
  if (ids.empty() == ids_file.empty()) {
    return Status(Code::kInvalidArgument, "give the prompt by --ids or by --ids-file");
  }
  std::string text = ids;
  if (!ids_file.empty()) {
    Result<std::string> content = read_input(ids_file);
    if (!content.ok()) return content.status();
    text = std::move(content).value();
  }
  Result<std::vector<int32_t>> parsed = parse_ids(text, ids_file.empty() ? "--ids" : ids_file);
  if (parsed.ok() && parsed->empty()) {
    return Status(Code::kInvalidArgument, "the prompt has no ids; expected at least one");
  }
  return parsed;
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
