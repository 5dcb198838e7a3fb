#include "checkpoint/config_reader.h"

#include <algorithm>
#include <cmath>

namespace trine::checkpoint {
namespace {
constexpr size_t kQuotedBytesMax = 80;
constexpr int64_t kListMax = 65'536;
constexpr int64_t kMisspeltEditsMax = 2;
constexpr size_t kMisspeltLengthMin = 6;  ///< shorter words are too near to each other
constexpr const char* kTakeRelease = "take config.json from the release of these weights";
}  // namespace

ConfigReader::ConfigReader(const json::Value* object, std::string path, std::string file,
                           Findings* findings)
    : object_(object), path_(std::move(path)), file_(std::move(file)), findings_(findings) {}

void ConfigReader::add(const char* kind, std::string_view key, std::string found,
                       std::string expected, std::string action) {
  add_finding(findings_, {.kind = kind,
                          .file = file_,
                          .tensor = path_ + std::string(key),
                          .found = std::move(found),
                          .expected = std::move(expected),
                          .action = action.empty() ? kTakeRelease : std::move(action)});
}

void ConfigReader::note(const char* kind, std::string_view key, std::string found,
                        std::string action) {
  add_finding(findings_, {.severity = Severity::kNote,
                          .kind = kind,
                          .file = file_,
                          .tensor = path_ + std::string(key),
                          .found = std::move(found),
                          .expected = "",
                          .action = std::move(action)});
}

std::string ConfigReader::quoted(std::string_view key) {
  const json::Value* value = get(key);
  std::string text = value == nullptr ? "nothing" : json::dump(*value);
  if (text.size() > kQuotedBytesMax) text = text.substr(0, kQuotedBytesMax) + "...";
  return text;
}

const json::Value* ConfigReader::get(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const json::Value* value = object_ == nullptr ? nullptr : object_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<int64_t> ConfigReader::optional_count(std::string_view key, Bounds bounds) {
  const json::Value* value = get(key);
  if (value == nullptr) return std::nullopt;
  int64_t n = 0;
  if (!value->to_int64(&n)) {
    add("config-value", key, quoted(key), "a whole number");
    return std::nullopt;
  }
  if (n < bounds.least || n > bounds.most) {
    add("config-value", key, quoted(key),
        std::to_string(bounds.least) + " to " + std::to_string(bounds.most));
    return std::nullopt;
  }
  return n;
}

int64_t ConfigReader::count(std::string_view key, Bounds bounds, int64_t fallback) {
  return optional_count(key, bounds).value_or(fallback);
}

int64_t ConfigReader::required_count(std::string_view key, Bounds bounds) {
  if (get(key) == nullptr) add("config-missing", key, "nothing", "a whole number");
  return count(key, bounds, bounds.least);
}

std::optional<float> ConfigReader::optional_float(std::string_view key) {
  const json::Value* value = get(key);
  if (value == nullptr) return std::nullopt;
  const auto number = static_cast<float>(value->as_double());
  if (!value->is_number() || !std::isfinite(number)) {
    add("config-value", key, quoted(key), "a finite number");
    return std::nullopt;
  }
  return number;
}

bool ConfigReader::flag(std::string_view key, bool fallback) {
  const json::Value* value = get(key);
  if (value == nullptr) return fallback;
  if (value->is_bool()) return value->as_bool();
  add("config-value", key, quoted(key), "true or false");
  return fallback;
}

std::string ConfigReader::text(std::string_view key, std::string fallback) {
  const json::Value* value = get(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->as_string();
  add("config-value", key, quoted(key), "a string");
  return fallback;
}

std::vector<int64_t> ConfigReader::counts(std::string_view key, bool required) {
  std::vector<int64_t> numbers;
  const json::Value* value = get(key);
  if (value == nullptr) {
    if (required) add("config-missing", key, "nothing", "a list of whole numbers");
    return numbers;
  }
  if (!value->is_array() || static_cast<int64_t>(value->as_array().size()) > kListMax) {
    add("config-value", key, quoted(key), "a list of whole numbers");
    return numbers;
  }
  for (const json::Value& item : value->as_array()) {
    int64_t n = 0;
    if (!item.to_int64(&n)) {
      add("config-value", key, "an item " + json::dump(item).substr(0, kQuotedBytesMax),
          "whole numbers");
      continue;
    }
    numbers.push_back(n);
  }
  return numbers;
}

void ConfigReader::known(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) known_.emplace_back(key);
}

void ConfigReader::adopt(const ConfigReader& other) {
  known_.insert(known_.end(), other.known_.begin(), other.known_.end());
}

void ConfigReader::report_misspelt() {
  if (object_ == nullptr) return;
  for (const auto& member : object_->as_object()) {
    const std::string& key = member.first;
    if (key.size() < kMisspeltLengthMin ||
        std::find(known_.begin(), known_.end(), key) != known_.end())
      continue;
    for (const std::string& known : known_) {
      if (known.size() < kMisspeltLengthMin || object_->find(known) != nullptr) continue;
      if (edit_distance(key, known, kMisspeltEditsMax) > kMisspeltEditsMax) continue;
      add("key-misspelt", key.substr(0, kQuotedBytesMax), "an unknown key", "the key " + known,
          "correct the spelling, or remove the key if it is meant for another program");
      break;
    }
  }
}

int64_t edit_distance(std::string_view a, std::string_view b, int64_t most) {
  const auto size_a = static_cast<int64_t>(a.size());
  const auto size_b = static_cast<int64_t>(b.size());
  if (std::abs(size_a - size_b) > most) return most + 1;
  std::vector<int64_t> before_last(b.size() + 1);
  std::vector<int64_t> last(b.size() + 1);
  std::vector<int64_t> now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({replaced, last[j] + 1, now[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(now);
  }
  return std::min(last[b.size()], most + 1);
}

}  // namespace trine::checkpoint
