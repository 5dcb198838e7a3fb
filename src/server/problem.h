// Why a request is not answered, in the words of both API families.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "trine/status.h"

namespace trine::server {

struct Problem {
  int status = 400;         ///< of HTTP
  std::string message;      ///< where, what was found, what was expected
  std::string param;        ///< the field, or empty
  std::string code;         ///< machine-readable kind of OpenAI's, or empty
  int64_t retry_after = 0;  ///< seconds, with 429 and 503
  std::string allow = {};   ///< methods, with 405
};
/// Nothing is success.
using MaybeProblem = std::optional<Problem>;

/// A field whose value cannot be used: "PARAM: WHAT".
Problem invalid(const std::string& param, const std::string& what);
/// A field that is understood but not offered here.
Problem unsupported(const std::string& param, const std::string& what);
/// A part of a message that is no text.
Problem text_only(const std::string& where, const std::string& type, const std::string& expected);
Problem not_found(const std::string& message, const std::string& param, const std::string& code);

/// What a failure of the library below means to a client. kInvalidArgument, kUnsupported and
/// kOutOfMemory blame the request, kBusy the moment, all else the server.
Problem problem_of(const Status& status, const std::string& param = "");

/// {"error": {"message", "type", "param", "code"}}
json::Value openai_error(const Problem& problem);
/// {"type": "error", "error": {"type", "message"}, "request_id"}
json::Value anthropic_error(const Problem& problem, const std::string& request_id);

}  // namespace trine::server

#define TRINE_RETURN_IF_PROBLEM(expr)                                     \
  do {                                                                    \
    if (::trine::server::MaybeProblem problem_ = (expr)) return problem_; \
  } while (0)
