// The arguments of one generated tool call, written as JSON text while they are generated.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace trine {

/// Each step returns the JSON text it adds; all of them together are the arguments. A string value
/// is passed on piece by piece, other values when they end, since only then it is known whether
/// they are JSON. A <json> element is passed on as it is.
class CallArguments {
 public:
  /// True when nothing was written: only then a <json> element may follow.
  bool untouched() const { return mode_ == Mode::kUntouched; }
  /// True once there is an <argument>, or nothing yet.
  bool accepts_argument() const { return mode_ != Mode::kJson; }

  std::string begin_argument(const std::string& key, const std::string& type);
  std::string value(std::string_view text);
  std::string end_argument();

  void begin_json() { mode_ = Mode::kJson; }
  std::string json(std::string_view text);

  /// The call is complete. Sets `are_text` when the whole is not a JSON object with unique keys.
  std::string end(bool* are_text);
  /// The output stopped within the call: nothing is made up, what was held back is returned.
  std::string cut_off();

 private:
  enum class Mode { kUntouched, kArguments, kJson };
  Mode mode_ = Mode::kUntouched;
  bool is_string_ = true;
  bool keys_repeat_ = false;
  std::string held_;  // a value that is no string, so far; the whole text of a <json> element
  std::unordered_set<std::string> keys_;
};

}  // namespace trine
