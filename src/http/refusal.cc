#include "http/refusal.h"

#include <array>

#include "base/json.h"

namespace trine::http {
namespace {

constexpr const char* kInvalid = "invalid_request_error";
constexpr const char* kOverloaded = "overloaded_error";
constexpr const char* kServer = "server_error";

constexpr std::array<RefusalText, kRefusalKinds> kTexts = {{
    {400, "bad_request", kInvalid, "this is not a well-formed HTTP/1.1 request"},
    {408, "header_timeout", kInvalid, "the request's header did not arrive in time"},
    {408, "body_timeout", kInvalid, "the request's body did not arrive in time"},
    {413, "body_too_large", kInvalid, "the request's body is larger than this server accepts"},
    {414, "target_too_long", kInvalid, "the request's target is longer than this server accepts"},
    {417, "expectation_failed", kInvalid,
     "the only expectation that is understood is 100-continue"},
    {431, "headers_too_large", kInvalid, "the request's header is larger than this server accepts"},
    {405, "method_not_allowed", kInvalid, "this method is not used here"},
    {403, "origin_not_allowed", kInvalid, "this origin is not among the allowed ones (CORS)"},
    {503, "too_many_connections", kOverloaded,
     "the server has no connection left; try again later"},
    {429, "too_many_connections_of_address", "rate_limit_error",
     "this address has as many connections open as one may have"},
    {503, "bodies_too_large", kOverloaded,
     "the server is receiving as much as it can hold; try again later"},
    {503, "shutting_down", kOverloaded, "the server is shutting down"},
    {500, "internal_error", kServer, "the server failed to handle this request"},
    {500, "no_answer", kServer, "the server gave no answer to this request"},
    {505, "version_not_supported", kInvalid, "this server speaks HTTP/1.1 and HTTP/1.0"},
}};

}  // namespace

const RefusalText& describe(Refusal refusal) { return kTexts[static_cast<size_t>(refusal)]; }

std::string error_json(std::string_view message, std::string_view type, std::string_view code) {
  std::string out = R"({"error":{"message":)";
  out += json::quote(message);
  out += R"(,"type":)";
  out += json::quote(type);
  out += R"(,"code":)";
  out += json::quote(code);
  return out + "}}";
}

}  // namespace trine::http
