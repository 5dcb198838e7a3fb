// Which pages of other origins may use the server (the fetch standard's CORS protocol).
#pragma once

#include <optional>
#include <string>

#include "http/message.h"
#include "http/options.h"

namespace trine::http {

/// Value of Access-Control-Allow-Origin for this request: its origin, "*", or empty.
std::string allowed_origin(const Options& options, const Headers& request);

/// A browser's question before the request itself.
bool is_preflight(const Request& request);
/// The answer's fields, for an origin that is allowed.
Headers preflight_headers(const Headers& request);

/// Value of the Allow field: what handlers may get.
extern const char* const kAllowedMethods;

}  // namespace trine::http
