// One request from bytes, by Boost.Beast's parser with this server's limits and stricter framing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/options.h"

namespace trine::http {

/// Why a request is refused; the message is more exact than the kind's own.
struct Fault {
  Refusal kind = Refusal::kBadRequest;
  std::string message;
};

class RequestParser {
 public:
  explicit RequestParser(const Options& options);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// The whole header, as HeadScanner found it. To be called once, first.
  std::optional<Fault> parse_head(std::string_view head);
  /// Takes what belongs to the body from the front of `input` and says how much that was. What is
  /// behind the body (the next request) is left.
  std::optional<Fault> parse_body(std::string_view input, size_t* used);

  bool done() const;        ///< the request is complete
  bool keep_alive() const;  ///< the client wants to go on with this connection (after the header)
  Request& request() { return request_; }

 private:
  class Impl;

  Request request_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::http
