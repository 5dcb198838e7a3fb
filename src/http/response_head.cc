#include "http/response_head.h"

#include <array>
#include <chrono>

namespace trine::http {
namespace {

// The front says these itself.
constexpr std::array<std::string_view, 6> kOwned = {
    "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Date", "X-Request-Id"};

bool is_owned(std::string_view name) {
  for (const std::string_view owned : kOwned) {
    if (same_name(name, owned)) return true;
  }
  return false;
}

bool is_token(std::string_view name) {
  for (const char c : name) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    const bool mark = std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    if (!alphanumeric && !mark) return false;
  }
  return !name.empty();
}

void add_field(std::string_view name, std::string_view value, std::string* out) {
  out->append(name).append(": ");
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out->push_back((byte < 0x20 && c != '\t') || byte == 0x7f ? ' ' : c);
  }
  out->append("\r\n");
}

std::string two_digits(unsigned number) {
  const std::string text = std::to_string(number);
  return number < 10 ? "0" + text : text;
}

// RFC 9110 section 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT.
std::string http_date() {
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const auto seconds = static_cast<unsigned>((now - day).count());
  std::string out = kDays[std::chrono::weekday(day).c_encoding()];
  out += ", " + two_digits(static_cast<unsigned>(date.day())) + " ";
  out += kMonths[static_cast<unsigned>(date.month()) - 1];
  out += " " + std::to_string(static_cast<int>(date.year())) + " " + two_digits(seconds / 3600);
  return out + ":" + two_digits(seconds / 60 % 60) + ":" + two_digits(seconds % 60) + " GMT";
}

}  // namespace

bool is_bodyless(int status) { return status < 200 || status == 204 || status == 304; }

std::string response_head(int status, const Headers& headers, const ResponseRules& rules,
                          Framing framing, int64_t length, bool keep_alive) {
  // An answer to HTTP/1.0 too says 1.1: the version is the server's, the framing suits the client.
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + reason_phrase(status) + "\r\n";
  for (const auto& [name, value] : headers) {
    if (is_token(name) && !is_owned(name)) add_field(name, value, &out);
  }
  if (framing == Framing::kLength) add_field("Content-Length", std::to_string(length), &out);
  if (framing == Framing::kChunked) add_field("Transfer-Encoding", "chunked", &out);
  if (!keep_alive) {
    add_field("Connection", "close", &out);
  } else if (rules.version_minor == 0) {
    add_field("Connection", "keep-alive", &out);
  }
  if (!rules.cors_origin.empty()) {
    add_field("Access-Control-Allow-Origin", rules.cors_origin, &out);
    add_field("Access-Control-Expose-Headers", "X-Request-Id", &out);
    if (rules.cors_origin != "*") add_field("Vary", "Origin", &out);
  }
  if (!rules.request_id.empty()) add_field("X-Request-Id", rules.request_id, &out);
  add_field("Date", http_date(), &out);
  return out + "\r\n";
}

}  // namespace trine::http
