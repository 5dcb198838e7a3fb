// An HTTP/1.1 server: gives complete, bounded requests to one handler and streams its answers.
//
// One io thread serves all connections (Options::threads changes that); none is spent on a client
// that waits. docs/decisions/0005-http.md says what it is made of and why.
#pragma once

#include <memory>

#include "http/context.h"
#include "http/exchange.h"
#include "http/message.h"
#include "http/options.h"
#include "http/stats.h"
#include "trine/status.h"

namespace trine::http {

class Server {
 private:
  class Impl;

 public:
  explicit Server(std::unique_ptr<Impl> impl);  ///< of start()'s own
  /// Binds, reads the TLS files and starts the io threads, or says what is wrong. `handler` is run
  /// by io threads and must return at once; what it keeps alive lives until the server's end.
  static Result<std::unique_ptr<Server>> start(Options options, Handler handler);
  ~Server();  ///< stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  bool secure() const;
  Stats stats() const;

  // None of these may be called from the handler or from on_close().

  /// Closes the port; connections go on.
  void stop_accepting();
  /// Closes the port and idle connections, refuses new requests (503), and waits for the running
  /// answers. Whether all had ended by the deadline; the rest goes on until stop().
  bool drain(std::chrono::steady_clock::time_point deadline);
  /// Cuts all connections (on_close is called with kStopped) and ends the io threads.
  void stop();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::http
