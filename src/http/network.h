// Sockets, TLS and io threads, by Boost.Asio: the only file of it is network.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/options.h"
#include "http/transport.h"
#include "trine/status.h"

namespace trine::http {

class Network {
 public:
  /// A new connection: on its loop's thread. `loop_index` counts from 0 to options.threads - 1.
  using Accept =
      std::function<void(size_t loop_index, std::shared_ptr<Loop> loop,
                         std::unique_ptr<Transport> transport, const std::string& address)>;

  /// Binds and listens on every address of the host's name, at once with all errors.
  static Result<std::unique_ptr<Network>> open(const Options& options, Accept accept);
  virtual ~Network() = default;

  virtual Status run() = 0;  ///< starts the threads
  virtual int port() const = 0;
  virtual std::shared_ptr<Loop> loop(size_t index) const = 0;
  /// The port is closed when this returns. Not to be called by an io thread.
  virtual void stop_accepting() = 0;
  /// Ends the threads once their connections are gone; the caller has cut them.
  virtual void join() = 0;
};

}  // namespace trine::http
