// What the front itself answers when a request never reaches a handler: kinds, statuses, bodies.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trine::http {

enum class Refusal {
  kBadRequest,          ///< 400: not HTTP, or HTTP that two servers could read in two ways
  kHeaderTimeout,       ///< 408: the header took too long
  kBodyTimeout,         ///< 408: the body took too long
  kBodyTooLarge,        ///< 413
  kTargetTooLong,       ///< 414
  kExpectation,         ///< 417: an Expect other than 100-continue
  kHeadersTooLarge,     ///< 431: bytes or number of header fields
  kMethod,              ///< 405: a method that no handler has
  kOrigin,              ///< 403: a preflight from an origin that is not allowed
  kConnections,         ///< 503: as many connections as are allowed
  kConnectionsAddress,  ///< 429: the same for one address
  kBodiesTooLarge,      ///< 503: bodies being received hold as much memory as is allowed
  kDraining,            ///< 503: the server is shutting down
  kHandlerFailed,       ///< 500: the handler threw
  kNoAnswer,            ///< 500: the handler let go of the exchange without an answer
  kVersion,             ///< 505: HTTP, but neither 1.0 nor 1.1
};
inline constexpr size_t kRefusalKinds = static_cast<size_t>(Refusal::kVersion) + 1;

struct RefusalText {
  int status;
  const char* name;     ///< of the kind, for metrics and as "code" of the body
  const char* type;     ///< "type" of the body
  const char* message;  ///< unless there is something more exact to say
};
const RefusalText& describe(Refusal refusal);

/// {"error":{"message":...,"type":...,"code":...}}
std::string error_json(std::string_view message, std::string_view type, std::string_view code);

}  // namespace trine::http
