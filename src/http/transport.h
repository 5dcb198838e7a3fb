// What a connection needs of the outside: a loop with a clock, and a byte stream. The network gives
// them over sockets (network.cc), tests and the fuzzer over memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace trine::http {

using Time = std::chrono::steady_clock::time_point;

/// Calls one function when its time has come. Lives and is used on the loop's thread.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void set(Time due) = 0;  ///< replaces the earlier time
};

class Loop {
 public:
  virtual ~Loop() = default;
  /// Runs the task on the loop's thread, later. Any thread; false once the loop has stopped.
  virtual bool post(std::function<void()> task) = 0;
  virtual Time now() const = 0;  ///< any thread
  virtual std::unique_ptr<Timer> make_timer(std::function<void()> on_due) = 0;
};

enum class Io { kOk, kEnd, kFailed };

/// A byte stream of one peer. At most one read and one write at a time. Callbacks come from the
/// loop, never from within the call. After close() the pending ones come with kFailed.
class Transport {
 public:
  using Done = std::function<void(Io, size_t)>;

  virtual ~Transport() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(char* data, size_t size, Done done) = 0;
  virtual void write_some(const char* data, size_t size, Done done) = 0;
  virtual void shutdown_write() = 0;     ///< the peer sees the end; reading goes on
  virtual void close() = 0;              ///< at once
  virtual bool peer_closed() const = 0;  ///< without reading: the peer's end is in sight
  virtual bool secure() const = 0;
};

}  // namespace trine::http
