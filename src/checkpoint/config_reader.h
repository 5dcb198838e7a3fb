// Typed reads of one JSON object of a config; everything wrong becomes a finding, and keys that
// look like a misspelt known one are found at the end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/finding.h"

namespace trine::checkpoint {

/// Inclusive bounds of a whole number.
struct Bounds {
  int64_t least = 1;
  int64_t most = int64_t{1} << 28;
};

class ConfigReader {
 public:
  /// `path` leads the keys in findings ("text_config."). `object` may be null: all keys are absent.
  ConfigReader(const json::Value* object, std::string path, std::string file, Findings* findings);

  /// Value of `key`, or nullptr when it is absent or null. Marks the key as known.
  const json::Value* get(std::string_view key);
  bool has(std::string_view key) { return get(key) != nullptr; }

  /// A whole number inside the bounds; `fallback` when absent, wrong or out of bounds.
  int64_t count(std::string_view key, Bounds bounds, int64_t fallback);
  std::optional<int64_t> optional_count(std::string_view key, Bounds bounds);
  /// Absent is an error too. Returns bounds.least then, so that later checks have something sane.
  int64_t required_count(std::string_view key, Bounds bounds);
  std::optional<float> optional_float(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string fallback);
  std::vector<int64_t> counts(std::string_view key, bool required);

  /// Keys that mean nothing here but are no mistake.
  void known(std::initializer_list<std::string_view> keys);
  /// The keys that another reader of the same object knows.
  void adopt(const ConfigReader& other);
  /// Reports members that were never asked for and are one or two letters away from an absent known
  /// key. To be called last.
  void report_misspelt();

  void add(const char* kind, std::string_view key, std::string found, std::string expected,
           std::string action = "");
  void note(const char* kind, std::string_view key, std::string found, std::string action);
  std::string quoted(std::string_view key);  ///< the value as JSON, cut to a readable length

 private:
  const json::Value* object_;
  std::string path_;
  std::string file_;
  Findings* findings_;
  std::vector<std::string> known_;
};

/// Edits (insert, delete, replace, swap of neighbours) between two words; stops counting at
/// `most`+1.
int64_t edit_distance(std::string_view a, std::string_view b, int64_t most);

}  // namespace trine::checkpoint
