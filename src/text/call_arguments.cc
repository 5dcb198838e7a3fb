// Arguments as JSON text; see the header.
#include "text/call_arguments.h"

#include <utility>

#include "base/json.h"
#include "text/utf8.h"

namespace trine {

std::string CallArguments::begin_argument(const std::string& key, const std::string& type) {
  std::string out = mode_ == Mode::kUntouched ? "{" : ",";
  mode_ = Mode::kArguments;
  // A repeated key is passed on (readers of JSON take the last) and makes the whole mere text.
  if (!keys_.insert(key).second) keys_repeat_ = true;
  is_string_ = type != "number" && type != "boolean" && type != "null" && type != "object" &&
               type != "array";
  out += json::quote(key) + ":";
  if (is_string_) out += '"';
  return out;
}

std::string CallArguments::value(std::string_view text) {
  if (!is_string_) {
    held_ += text;
    return "";
  }
  const std::string quoted = json::quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string CallArguments::end_argument() {
  if (is_string_) return "\"";
  const std::string text = std::exchange(held_, "");
  json::ParseLimits limits;
  limits.allow_duplicate_keys = true;
  const Result<json::Value> parsed = json::parse(text, "", limits);
  return parsed.ok() ? json::dump(*parsed) : json::quote(text);
}

std::string CallArguments::json(std::string_view text) {
  held_ += text;
  return std::string(text);
}

std::string CallArguments::end(bool* are_text) {
  *are_text = keys_repeat_;
  if (mode_ == Mode::kUntouched) return "{}";
  if (mode_ == Mode::kArguments) return "}";
  if (is_blank(held_)) return "{}";
  const Result<json::Value> parsed = json::parse(held_, "");
  *are_text = !parsed.ok() || !parsed->is_object();
  return "";
}

std::string CallArguments::cut_off() {
  return mode_ == Mode::kArguments ? std::exchange(held_, "") : "";
}

}  // namespace trine
