// The answer to one request, given by any thread at any time: whole, or as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/options.h"

namespace trine::http {

/// Why an answer could not be finished.
enum class CloseReason {
  kPeerGone,      ///< the client closed its connection, or half of it
  kSlowReader,    ///< more than write_buffer_bytes_max were unsent
  kWriteTimeout,  ///< no byte left for write_timeout
  kStopped,       ///< the server was stopped
  kAbandoned,     ///< the exchange was let go of in the middle of a stream
};
inline constexpr size_t kCloseReasons = static_cast<size_t>(CloseReason::kAbandoned) + 1;
const char* close_reason_name(CloseReason reason);

/// All functions may be called by any thread and none waits. Once the last reference is dropped
/// without an answer, the client gets a 500; in the middle of a stream its connection is cut, so
/// that it cannot take a part for the whole.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// The whole answer. Length, date, connection and CORS fields are added; those given are dropped.
  /// False when the peer has gone or an answer has begun; then nothing is sent. The body's size is
  /// the caller's business: the write buffer's limit is for streams.
  virtual bool respond(int status, Headers headers, std::string body) = 0;

  /// A stream: begin, any number of writes, end. The header goes out at once.
  virtual bool begin(int status, Headers headers) = 0;
  /// False when the peer has gone, or when this would leave more than write_buffer_bytes_max
  /// unsent: then the connection is cut. Either way nobody will read what else is written.
  virtual bool write(std::string_view bytes) = 0;
  virtual bool end() = 0;

  /// Nothing more can be sent: the peer has gone before the answer's end.
  virtual bool closed() const = 0;
  /// Called once, by the io thread, when the peer goes or a limit is hit before the answer was
  /// ended; never after that. Set late, it is called still (by the caller itself if the server has
  /// stopped). It must return at once and should hold the exchange weakly.
  virtual void on_close(std::function<void(CloseReason)> callback) = 0;

  /// From now on to the stream's end, `bytes` are sent whenever nothing was written for `period` by
  /// the wall clock, whatever the writer does.
  virtual void keep_alive_every(Milliseconds period, std::string bytes) = 0;

  /// Bytes accepted and not yet given to the system.
  virtual int64_t queued_bytes() const = 0;
};

}  // namespace trine::http
