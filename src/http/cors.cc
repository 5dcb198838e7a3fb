#include "http/cors.h"

#include <algorithm>

namespace trine::http {

const char* const kAllowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

std::string allowed_origin(const Options& options, const Headers& request) {
  const std::string* origin = request.find("Origin");
  if (origin == nullptr) return "";
  const auto& allowed = options.cors_origins;
  if (std::find(allowed.begin(), allowed.end(), "*") != allowed.end()) return "*";
  return std::find(allowed.begin(), allowed.end(), *origin) != allowed.end() ? *origin : "";
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && request.headers.find("Origin") != nullptr &&
         request.headers.find("Access-Control-Request-Method") != nullptr;
}

Headers preflight_headers(const Headers& request) {
  Headers out{{"Access-Control-Allow-Methods", kAllowedMethods}, {"Access-Control-Max-Age", "600"}};
  const std::string* wanted = request.find("Access-Control-Request-Headers");
  if (wanted != nullptr) out.add("Access-Control-Allow-Headers", *wanted);
  // A page of the internet asks a server of the local network (Chrome).
  if (request.find("Access-Control-Request-Private-Network") != nullptr) {
    out.add("Access-Control-Allow-Private-Network", "true");
  }
  return out;
}

}  // namespace trine::http
