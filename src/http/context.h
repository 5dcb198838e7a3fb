// What all connections of one server share: options, handler, counters and the number of places.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "http/exchange.h"
#include "http/stats.h"

namespace trine::http {

/// Called by an io thread for each complete request; it hands the work on and returns at once.
using Handler = std::function<void(Request request, std::shared_ptr<Exchange> exchange)>;

class Context {
 public:
  Context(Options options, Handler handler);

  const Options& options() const { return options_; }
  const Handler& handler() const { return handler_; }
  std::string next_request_id();
  std::string error_body(Refusal kind, const std::string& message) const;

  bool draining() const { return draining_; }
  void set_draining() { draining_ = true; }

  enum class Admission { kYes, kFull, kAddressFull, kDrop };
  /// Every answer but kDrop counts an open connection, which leave() gives back.
  Admission admit(const std::string& address);
  void leave(const std::string& address);
  /// Whether all have left by then.
  bool wait_until_empty(std::chrono::steady_clock::time_point deadline);

  /// Room for more bytes of bodies being received; false changes nothing.
  bool take_body_bytes(int64_t bytes);
  void give_body_bytes(int64_t bytes) { body_bytes_ -= bytes; }

  void count_request() { ++requests_; }
  void count_received(int64_t bytes) { received_ += bytes; }
  void count_sent(int64_t bytes) { sent_ += bytes; }
  void count(Refusal kind) { ++refused_[static_cast<size_t>(kind)]; }
  void count(CloseReason reason) { ++cut_[static_cast<size_t>(reason)]; }
  Stats stats() const;

 private:
  const Options options_;
  const Handler handler_;
  std::string id_prefix_;
  std::atomic<int64_t> next_id_{1};
  std::atomic<bool> draining_{false};

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::map<std::string, int64_t, std::less<>> of_address_;
  int64_t open_ = 0;
  int64_t total_ = 0;
  int64_t dropped_ = 0;

  std::atomic<int64_t> body_bytes_{0};
  std::atomic<int64_t> requests_{0};
  std::atomic<int64_t> received_{0};
  std::atomic<int64_t> sent_{0};
  std::array<std::atomic<int64_t>, kRefusalKinds> refused_{};
  std::array<std::atomic<int64_t>, kCloseReasons> cut_{};
};

}  // namespace trine::http
