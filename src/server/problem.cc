#include "server/problem.h"

namespace trine::server {
namespace {

const char* openai_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

const char* anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

json::Value text_or_null(const std::string& text) {
  return text.empty() ? json::Value() : json::Value(text);
}

}  // namespace

Problem invalid(const std::string& param, const std::string& what) {
  return {400, param.empty() ? what : param + ": " + what, param, "invalid_value", 0};
}

Problem unsupported(const std::string& param, const std::string& what) {
  return {400, param + ": " + what, param, "unsupported_parameter", 0};
}

Problem text_only(const std::string& where, const std::string& type, const std::string& expected) {
  return {400,
          where + ".type: found " + json::quote(type) + ", expected " + json::quote(expected) +
              ": this server reads text only",
          where + ".type", "unsupported_content", 0};
}

Problem not_found(const std::string& message, const std::string& param, const std::string& code) {
  return {404, message, param, code, 0};
}

Problem problem_of(const Status& status, const std::string& param) {
  switch (status.code()) {
    case Code::kOk:
    case Code::kInvalidArgument: return {400, status.message(), param, "invalid_value", 0};
    case Code::kUnsupported: return {400, status.message(), param, "unsupported_value", 0};
    case Code::kOutOfMemory: return {400, status.message(), param, "context_length_exceeded", 0};
    case Code::kNotFound: return {404, status.message(), param, "not_found", 0};
    case Code::kBusy: return {429, status.message(), param, "server_busy", 1};
    case Code::kCancelled: return {503, status.message(), param, "cancelled", 1};
    case Code::kNotFinite: return {500, status.message(), param, "not_finite", 0};
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal: break;
  }
  return {500, status.message(), param, "internal_error", 0};
}

json::Value openai_error(const Problem& problem) {
  json::Value error;
  error.set("message", problem.message);
  error.set("type", openai_type(problem.status));
  error.set("param", text_or_null(problem.param));
  error.set("code", text_or_null(problem.code));
  json::Value out;
  out.set("error", std::move(error));
  return out;
}

json::Value anthropic_error(const Problem& problem, const std::string& request_id) {
  json::Value error;
  error.set("type", anthropic_type(problem.status));
  error.set("message", problem.message);
  json::Value out;
  out.set("type", "error");
  out.set("error", std::move(error));
  out.set("request_id", request_id);
  return out;
}

}  // namespace trine::server
