// Finds the end of a request's header, byte by byte as it comes, and refuses at once what could be
// read in two ways: bare line feeds, folded lines, control characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace trine::http {

class HeadScanner {
 public:
  enum class State { kMore, kComplete, kBad };

  /// `input` starts with the request's first byte and only grows between calls.
  State scan(std::string_view input);

  size_t size() const { return position_; }     ///< of the complete header, its empty line included
  const char* fault() const { return fault_; }  ///< why kBad
  /// Whether the request line has come to its end: what is too long is then the fields.
  bool has_line() const { return has_line_; }

 private:
  State bad(const char* fault);

  size_t position_ = 0;
  bool has_line_ = false;
  bool at_line_start_ = false;
  const char* fault_ = nullptr;
};

}  // namespace trine::http
