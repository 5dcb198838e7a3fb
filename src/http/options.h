// Where a server listens and what it allows: every limit of the front, with its default.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "http/refusal.h"

namespace trine::http {

using Milliseconds = std::chrono::milliseconds;

struct Options {
  std::string host = "127.0.0.1";  ///< a name or a numeric address; "::" is every address
  int port = 0;                    ///< 0: any free one
  int threads = 1;                 ///< io threads; each connection stays with one of them

  std::string tls_certificate_file;  ///< PEM, the server's first; with a key file: TLS 1.2 and 1.3
  std::string tls_key_file;          ///< PEM, not encrypted

  int64_t header_bytes_max = 32 * 1024;  ///< request line and fields
  int64_t target_bytes_max = 8 * 1024;
  int64_t header_fields_max = 100;
  int64_t body_bytes_max = int64_t{32} << 20;
  int64_t body_bytes_total_max = int64_t{512} << 20;  ///< of all bodies that are being received
  int64_t write_buffer_bytes_max = int64_t{1} << 20;  ///< unsent bytes of one stream

  int64_t connections_max = 512;
  int64_t connections_per_address_max = 0;  ///< 0: as many as there are

  Milliseconds header_timeout{15'000};  ///< connection or first byte, to the end of the header
  Milliseconds body_timeout{120'000};   ///< end of the header to end of the body
  Milliseconds idle_timeout{75'000};    ///< between requests
  Milliseconds write_timeout{60'000};   ///< without any byte leaving
  Milliseconds linger_timeout{5'000};   ///< for the peer to take the last answer and close

  std::vector<std::string> cors_origins;  ///< exact, or "*"; empty: no browser page of elsewhere

  /// The body of the front's own refusals; error_json() where this is empty.
  std::function<std::string(const RefusalText& kind, const std::string& message)> error_body;
};

}  // namespace trine::http
