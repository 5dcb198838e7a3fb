// Lists of token ids.
#include "ids_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "common.h"

namespace trine::cli {
namespace {

Result<std::vector<int32_t>> ids_from(const IdsOptions& options) {
  const bool from_file = options.file_option->count() > 0;
  if (from_file == (options.ids_option->count() > 0)) {
    return Status(Code::kInvalidArgument, "give the prompt by --ids or by --ids-file");
  }
  std::string text = options.ids;
  if (from_file) {
    Result<std::string> content = read_input(options.file);
    if (!content.ok()) return content.status();
    text = std::move(content).value();
  }
  const std::string where = from_file ? options.file : "--ids";
  Result<std::vector<int32_t>> parsed = parse_ids(text, where);
  if (parsed.ok() && parsed->empty()) {
    return Status(Code::kInvalidArgument, where + ": no ids; expected at least one");
  }
  return parsed;
}

}  // namespace

bool IdsOptions::given() const { return ids_option->count() > 0 || file_option->count() > 0; }

void add_ids_options(CLI::App* app, IdsOptions* options) {
  options->ids_option =
      app->add_option("--ids", options->ids, "The prompt: 1,2,3")->type_name("IDS");
  options->file_option =
      app->add_option("--ids-file", options->file, "The prompt from a file ('-': stdin)")
          ->type_name("FILE");
}

bool read_ids(const IdsOptions& options, std::vector<int32_t>* ids, int* exit_code) {
  Result<std::vector<int32_t>> given = ids_from(options);
  if (given.ok()) {
    *ids = std::move(given).value();
    return true;
  }
  const bool in_file = options.file_option->count() > 0 && options.ids_option->count() == 0;
  *exit_code = fail(given.status(), in_file ? Blame::kInput : Blame::kOptions);
  return false;
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

}  // namespace trine::cli
