#include "http/message.h"

#include <algorithm>

namespace trine::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Percent escapes, and in a query + for a blank.
bool decode(std::string_view text, bool is_query, std::string* out) {
  out->clear();
  out->reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      if (c == '\0') return false;
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    out->push_back(c);
  }
  return true;
}

bool parse_query(std::string_view text, Request* request) {
  std::string name;
  std::string value;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (!decode(pair.substr(0, equals), true, &name)) return false;
    const bool has_value = equals != std::string_view::npos;
    if (!decode(has_value ? pair.substr(equals + 1) : "", true, &value)) return false;
    request->query[name] = value;
  }
  return true;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (same_name(field.first, name)) return &field.second;
  }
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (const Field& field : fields_) {
    if (!same_name(field.first, name)) continue;
    std::string_view rest = field.second;
    while (!rest.empty()) {
      const std::string_view member = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), member.size() + 1));
      if (same_name(trimmed(member), token)) return true;
    }
  }
  return false;
}

size_t Headers::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(
      begin(), end(), [&](const Field& field) { return same_name(field.first, name); }));
}

bool split_target(std::string_view target, Request* request) {
  request->target = std::string(target);
  request->path.clear();
  request->query.clear();
  if (target == "*") {
    request->path = "*";
    return request->method == "OPTIONS";
  }
  // Absolute form, as proxies send it: the host is dropped, since one server has one host.
  const size_t scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    const std::string_view name = target.substr(0, scheme);
    if (!same_name(name, "http") && !same_name(name, "https")) return false;
    target.remove_prefix(scheme + 3);
    target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
    if (target.empty() || target.starts_with('?')) request->path = "/";
  } else if (!target.starts_with('/')) {
    return false;
  }
  if (target.find('#') != std::string_view::npos) return false;
  const size_t mark = target.find('?');
  std::string path;
  if (!decode(target.substr(0, mark), false, &path)) return false;
  if (!path.empty()) request->path = std::move(path);
  return mark == std::string_view::npos || parse_query(target.substr(mark + 1), request);
}

const char* reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

}  // namespace trine::http
