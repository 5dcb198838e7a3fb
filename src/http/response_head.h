// The header of an answer: status line, the handler's fields, and those that the front owns.
#pragma once

#include <cstdint>
#include <string>

#include "http/message.h"

namespace trine::http {

/// What of the request decides the form of its answer.
struct ResponseRules {
  int version_minor = 1;
  bool is_head = false;     ///< no body, whatever the header says
  bool keep_alive = false;  ///< the client's wish
  std::string cors_origin;  ///< value of Access-Control-Allow-Origin; empty: none
  std::string request_id;
};

enum class Framing { kLength, kChunked, kUntilClose, kNoBody };

/// Ready to send, the empty line included. `length` counts for kLength only. Line breaks in values
/// become blanks, so that no value can add a field.
std::string response_head(int status, const Headers& headers, const ResponseRules& rules,
                          Framing framing, int64_t length, bool keep_alive);

/// Whether answers of this status never have a body.
bool is_bodyless(int status);

}  // namespace trine::http
