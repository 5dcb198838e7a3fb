#include "checkpoint/shard_index.h"

#include <algorithm>
#include <unordered_map>

#include "checkpoint/json_cursor.h"

namespace trine::checkpoint {
namespace {

constexpr size_t kNameBytesMax = 255;  ///< of a file name on Linux
constexpr size_t kFilesMax = 100'000;
constexpr size_t kEntriesMax = 4'000'000;  ///< K3 has 497,220

class IndexParser {
 public:
  IndexParser(std::string_view text, const std::string& file, Findings* findings)
      : cursor_(text), file_(file), findings_(findings) {}

  ShardIndex run() {
    std::string key;
    bool has_map = false;
    cursor_.enter_object();
    while (cursor_.next_key(&key)) {
      if (key == "weight_map" && cursor_.peek() == '{') {
        if (has_map) add("duplicate-key", key, "the key twice", "each key once");
        has_map = true;
        read_map();
      } else if (key == "metadata" && cursor_.peek() == '{') {
        read_metadata();
      } else {
        cursor_.skip_value();
      }
    }
    if (index_.entries.size() >= kEntriesMax)
      index_.entries.clear();
    else if (!cursor_.failed() && !cursor_.at_end())
      add("index-json", "", "text after the JSON object", "one JSON object");
    else if (cursor_.failed())
      add("index-json", "", cursor_.error(), "a JSON object with weight_map");
    else if (!has_map)
      add("index-json", "weight_map", "nothing", "an object of tensor names and file names");
    else
      index_.usable = true;
    finish();
    return std::move(index_);
  }

 private:
  void add(const char* kind, const std::string& tensor, std::string found, std::string expected) {
    add_finding(findings_, {.kind = kind,
                            .file = file_,
                            .tensor = tensor,
                            .found = std::move(found),
                            .expected = std::move(expected),
                            .action = "download the index again, or remove it"});
  }

  void read_metadata() {
    std::string key;
    cursor_.enter_object();
    while (cursor_.next_key(&key)) {
      int64_t size = 0;
      if (key == "total_size" && cursor_.read_whole_number(&size))
        index_.total_size = size;
      else
        cursor_.skip_value();
    }
  }

  void read_map() {
    std::string tensor;
    std::string name;
    cursor_.enter_object();
    while (cursor_.next_key(&tensor)) {
      if (cursor_.peek() != '"') {
        add("index-entry", tensor, "a value that is no file name", "a file name");
        cursor_.skip_value();
        continue;
      }
      if (!cursor_.read_string(&name)) return;
      if (index_.entries.size() >= kEntriesMax)
        return add("index-absurd", tensor, "more than 4000000 tensors", "an index of this family");
      const int32_t file = file_index(name, tensor);
      if (file >= 0) index_.entries.push_back({tensor, file});
    }
  }

  // The first tensor of each file name pays for the checks of the name.
  int32_t file_index(const std::string& name, const std::string& tensor) {
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    int32_t number = -1;
    if (!is_plain_file_name(name)) {
      add("index-path", tensor, "the path " + json::quote(name.substr(0, kNameBytesMax)),
          "a file name inside the folder: no folders, no ..");
    } else if (!name.ends_with(".safetensors")) {
      add("index-path", tensor, "the file " + json::quote(name), "a .safetensors file");
    } else if (index_.files.size() >= kFilesMax) {
      add("index-path", tensor, "more than 100000 files", "fewer files");
    } else {
      number = static_cast<int32_t>(index_.files.size());
      index_.files.push_back(name);
    }
    if (known_.size() < 2 * kFilesMax) known_.emplace(name, number);
    return number;
  }

  void finish() {
    auto& entries = index_.entries;
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.tensor < b.tensor; });
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].tensor == entries[i - 1].tensor &&
          (i < 2 || entries[i - 2].tensor != entries[i].tensor))
        add("duplicate-key", entries[i].tensor, "the key twice in weight_map", "each tensor once");
  }

  JsonCursor cursor_;
  const std::string& file_;
  Findings* findings_;
  ShardIndex index_;
  std::unordered_map<std::string, int32_t> known_;
};

}  // namespace

const ShardIndex::Entry* ShardIndex::find(std::string_view tensor) const {
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), tensor,
                       [](const Entry& e, std::string_view name) { return e.tensor < name; });
  return at != entries.end() && at->tensor == tensor ? &*at : nullptr;
}

ShardIndex parse_index(std::string_view text, const std::string& file, Findings* findings) {
  return IndexParser(text, file, findings).run();
}

bool is_plain_file_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c != '/' && c != '\\' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  });
}

}  // namespace trine::checkpoint
