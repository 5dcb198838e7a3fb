#include "http/head_scan.h"

namespace trine::http {

HeadScanner::State HeadScanner::bad(const char* fault) {
  fault_ = fault;
  return State::kBad;
}

HeadScanner::State HeadScanner::scan(std::string_view input) {
  if (position_ == 0 && !input.empty() && input[0] == '\x16') {
    return bad("this port speaks plain HTTP, not TLS: use http:// or start the server with TLS");
  }
  while (position_ < input.size()) {
    const char c = input[position_];
    if (at_line_start_ && (c == ' ' || c == '\t')) {
      return bad("a header line starts with a blank (folded lines are not accepted)");
    }
    if (c == '\r') {
      if (position_ + 1 == input.size()) return State::kMore;
      if (input[position_ + 1] != '\n') return bad("a carriage return without a line feed");
      position_ += 2;
      if (at_line_start_) return State::kComplete;
      has_line_ = true;
      at_line_start_ = true;
      continue;
    }
    if (c == '\n') return bad("a line feed without a carriage return");
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return bad("a control character in the header");
    at_line_start_ = false;
    ++position_;
  }
  return State::kMore;
}

}  // namespace trine::http
