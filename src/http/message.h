// A request as a handler sees it: parsed, bounded, and independent of the connection it came from.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trine::http {

/// Same text but for the case of ASCII letters: how names of header fields compare.
bool same_name(std::string_view a, std::string_view b);

/// Header fields in the order they came in; names compare without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  /// The value of the first field of that name, or nullptr.
  const std::string* find(std::string_view name) const;
  /// The same, and an empty text where there is none.
  std::string_view get(std::string_view name) const;
  /// Whether one of the comma-separated members of all fields of that name is `token`.
  bool has_token(std::string_view name, std::string_view token) const;
  size_t count(std::string_view name) const;

  size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

struct Request {
  std::string id;                                         ///< of this server's own, unique in it
  std::string method;                                     ///< GET, POST, ... as sent
  std::string target;                                     ///< as sent: /v1/models?limit=3
  std::string path;                                       ///< decoded, without the query
  std::map<std::string, std::string, std::less<>> query;  ///< decoded; of equal names the last
  Headers headers;
  std::string body;            ///< whole, chunks joined
  std::string remote_address;  ///< numeric, without port
  int version_minor = 1;       ///< HTTP/1.x
  bool secure = false;         ///< came by TLS
};

/// Splits and decodes a target (origin form, or absolute form without its host) into path and
/// query. False when an escape is broken, a character is not allowed or a zero byte would result.
bool split_target(std::string_view target, Request* request);

/// "Not Found" for 404; "Status" for numbers without a name.
const char* reason_phrase(int status);

}  // namespace trine::http
