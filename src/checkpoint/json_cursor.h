// Strict JSON read as a stream: for safetensors headers and indexes of half a million names, where
// a tree of values would take several times the memory of the text.
//
// Usage: enter_object(), then next_key() until it says false, then check failed(). The first
// mistake stops everything: each call returns false from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trine::checkpoint {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Type of the value that comes next by its first character: one of { [ " 0 t n, or 0 at the end.
  char peek();

  bool enter_object();
  /// The next member's name; false after the last one (or on a mistake).
  bool next_key(std::string* key);
  bool enter_array();
  /// True when another element follows.
  bool next_element();

  bool read_string(std::string* out);
  /// A whole number of 0 ... 2^63-1; anything else is a mistake.
  bool read_count(int64_t* out);
  /// The same, but anything else is left where it is and is no mistake (total_size may be a float).
  bool read_whole_number(int64_t* out);
  /// Passes over one value of any type, not nested deeper than kDepthMax.
  bool skip_value();
  /// True when nothing but blanks follows.
  bool at_end();

  bool failed() const { return !error_.empty(); }
  /// "WHAT at byte N"
  const std::string& error() const { return error_; }
  int64_t position() const { return static_cast<int64_t>(at_); }

  static constexpr int kDepthMax = 64;

 private:
  bool fail(const char* what);
  void skip_blanks();
  bool take(char c);
  bool escape(std::string* out);
  bool hex4(uint32_t* out);
  bool utf8_sequence(std::string* out);
  bool skip_number();
  bool skip_literal();
  bool skip_nested(int depth);
  bool next_item(char close);

  std::string_view text_;
  size_t at_ = 0;
  bool first_ = false;  ///< just entered an object or array: no comma yet
  std::string error_;
};

}  // namespace trine::checkpoint
