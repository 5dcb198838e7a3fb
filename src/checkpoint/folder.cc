#include "checkpoint/folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "base/try.h"
#include "checkpoint/obstacle.h"
#include "platform/file.h"

namespace trine::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".safetensors";
constexpr const char* kRanksName = "tiktoken.model";
constexpr const char* kTokenizerConfigName = "tokenizer_config.json";
constexpr size_t kNamesMax = 200'000;
constexpr size_t kNumbersListed = 20;

/// "PREFIX-NUMBER-of-COUNT.safetensors"
struct ShardName {
  std::string series;  ///< prefix and count
  int64_t number = 0;
  int64_t count = 0;
};

bool parse_number(std::string_view text, int64_t* out) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return status == std::errc() && end == text.data() + text.size() && !text.empty() && *out >= 0;
}

bool parse_shard_name(std::string_view name, ShardName* out) {
  name.remove_suffix(kSuffix.size());
  const size_t of = name.rfind("-of-");
  if (of == std::string_view::npos) return false;
  const size_t dash = name.substr(0, of).rfind('-');
  if (dash == std::string_view::npos) return false;
  out->series = std::string(name.substr(0, dash)) + std::string(name.substr(of));
  return parse_number(name.substr(dash + 1, of - dash - 1), &out->number) &&
         parse_number(name.substr(of + 4), &out->count);
}

std::string list_text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < std::min(numbers.size(), kNumbersListed); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  if (numbers.size() > kNumbersListed) text += ", ...";
  return text;
}

}  // namespace

bool Folder::has(const std::string& name) const {
  return std::binary_search(names.begin(), names.end(), name);
}

Result<std::string> Folder::read(const std::string& name, int64_t bytes_max) const {
  TRINE_ASSIGN_OR_RETURN(std::string text, read_file(file(name), bytes_max));
  TRINE_RETURN_IF_ERROR(lfs_pointer(text));
  return text;
}

Finding Folder::obstacle(const std::string& name, const Status& why) const {
  return checkpoint::obstacle(name, file(name), why);
}

Result<Folder> list_folder(const std::string& path, Findings* findings) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return Status(Code::kNotFound,
                  path + ": " + (fs::exists(path, error) ? "not a folder" : "no such folder") +
                      "; expected a folder with config.json and *.safetensors");
  Folder folder;
  folder.path = path;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (folder.names.size() >= kNamesMax) break;
    folder.names.push_back(it->path().filename().string());
  }
  if (error) return Status(Code::kIo, path + ": cannot be listed: " + error.message());
  std::sort(folder.names.begin(), folder.names.end());
  for (const std::string& name : folder.names) {
    if (!name.ends_with(kSuffix) || name[0] == '.') continue;
    if (fs::is_regular_file(folder.file(name), error)) {
      folder.shards.push_back(name);
      continue;
    }
    add_finding(findings, folder.obstacle(name, File::open(folder.file(name)).status()));
    folder.lost.push_back(name);
  }
  return folder;
}

void find_missing_numbers(const Folder& folder, Findings* findings) {
  std::map<std::string, std::set<int64_t>> present;
  std::map<std::string, int64_t> counts;
  for (const auto* files : {&folder.shards, &folder.lost})
    for (const std::string& file : *files) {
      ShardName name;
      if (!parse_shard_name(file, &name)) continue;
      present[name.series].insert(name.number);
      counts[name.series] = name.count;
    }
  for (const auto& [series, numbers] : present) {
    const int64_t count = counts[series];
    if (static_cast<int64_t>(numbers.size()) >= count) continue;
    const int64_t first = *numbers.begin() == 0 ? 0 : 1;
    std::vector<int64_t> missing;
    for (int64_t i = first; i < first + count && missing.size() <= kNumbersListed; ++i)
      if (!numbers.contains(i)) missing.push_back(i);
    add_finding(findings, {.kind = "missing-shard",
                           .file = series + std::string(kSuffix),
                           .found = std::to_string(numbers.size()) + " shards",
                           .expected = std::to_string(count) + " shards; missing are the numbers " +
                                       list_text(missing),
                           .action = "incomplete download: download the missing shards"});
  }
}

void find_missing_files(const Folder& folder, const ShardIndex& index, Findings* findings) {
  std::vector<int64_t> tensors(index.files.size(), 0);
  for (const ShardIndex::Entry& entry : index.entries) ++tensors[static_cast<size_t>(entry.file)];
  for (size_t i = 0; i < index.files.size(); ++i) {
    if (folder.has(index.files[i])) continue;
    add_finding(findings, {.kind = "missing-shard",
                           .file = index.files[i],
                           .found = "no such file",
                           .expected = "a file with the " + std::to_string(tensors[i]) +
                                       " tensors that the index places in it",
                           .action = "incomplete download or an old index: download this file"});
  }
}

void explain_no_shards(const Folder& folder, Findings* findings) {
  const auto note = [&](const std::string& file, std::string found, std::string action) {
    add_finding(findings, {.severity = Severity::kNote,
                           .kind = "no-weights",
                           .file = file,
                           .found = std::move(found),
                           .expected = "*.safetensors in this folder",
                           .action = std::move(action)});
  };
  std::error_code error;
  for (const std::string& name : folder.names) {
    if (name.ends_with(".gguf")) note(name, "a GGUF file", "download the safetensors release");
    if (name.ends_with(".bin") && name.starts_with("pytorch_model"))
      note(name, "PyTorch weights", "download the safetensors release");
    if (name[0] == '.' || !fs::is_directory(folder.file(name), error)) continue;
    for (fs::directory_iterator it(folder.file(name), error), end; !error && it != end;
         it.increment(error)) {
      if (!it->path().filename().string().ends_with(kSuffix)) continue;
      note(name, "shards in this sub-folder",
           "name the folder that holds config and shards together");
      break;
    }
  }
  note("", "no shard at all", "the weights are not downloaded yet");
}

namespace {

// Ranks are lines; control tokens take 256 ids above them (spec section 9).
void check_tokenizer_size(const std::string& text, int64_t vocab_size, Findings* findings) {
  constexpr int64_t kControlTokens = 256;
  int64_t ranks = std::count(text.begin(), text.end(), '\n');
  if (!text.empty() && text.back() != '\n') ++ranks;
  if (ranks + kControlTokens <= vocab_size) return;
  add_finding(findings,
              {.kind = "tokenizer-vocab",
               .file = kRanksName,
               .found = std::to_string(ranks) + " ranks and 256 control tokens",
               .expected = "at most vocab_size = " + std::to_string(vocab_size) + " of config.json",
               .action = "take tokenizer and config from the same release"});
}

void report_no_tokenizer(bool ranks, bool config, Findings* findings) {
  const bool none = !ranks && !config;
  add_finding(
      findings,
      {.severity = none ? Severity::kNote : Severity::kError,
       .kind = "side-file",
       .file = ranks ? kTokenizerConfigName : kRanksName,
       .found = none ? "neither tiktoken.model nor tokenizer_config.json" : "no such file",
       .expected = "tiktoken.model and tokenizer_config.json",
       .action = none ? "only verbs that take --ids work: run, chat, tokenize, render and parse "
                        "need the tokenizer's files"
                      : "download this file: a tokenizer without it gives wrong ids"});
}

}  // namespace

void check_side_files(const Folder& folder, int64_t vocab_size, Findings* findings) {
  constexpr int64_t kBytesMax = 64 << 20;
  if (!folder.has("generation_config.json"))
    add_finding(findings, {.severity = Severity::kNote,
                           .kind = "side-file",
                           .file = "generation_config.json",
                           .found = "no such file",
                           .expected = "the release's file",
                           .action = "config.json alone says where generation ends"});
  for (const char* name : {kRanksName, kTokenizerConfigName}) {
    if (!folder.has(name)) continue;
    const Result<std::string> text = folder.read(name, kBytesMax);
    if (!text.ok())
      add_finding(findings, folder.obstacle(name, text.status()));
    else if (name == kRanksName && vocab_size > 0)
      check_tokenizer_size(*text, vocab_size, findings);
  }
  const bool ranks = folder.has(kRanksName);
  const bool config = folder.has(kTokenizerConfigName);
  if (!ranks || !config) report_no_tokenizer(ranks, config, findings);
}

}  // namespace trine::checkpoint
