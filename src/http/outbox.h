// One answer on its way: filled by any thread through its Exchange, emptied by the connection on
// the loop's thread. The only state that the two share, under one lock.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/context.h"
#include "http/response_head.h"
#include "http/transport.h"

namespace trine::http {

class Outbox {
 public:
  /// `wake` is run on the loop whenever there is something new for the connection to do.
  Outbox(std::shared_ptr<Context> context, std::shared_ptr<Loop> loop, ResponseRules rules,
         std::function<void()> wake);

  // What Exchange promises; any thread.
  bool respond(int status, const Headers& headers, std::string_view body);
  bool begin(int status, const Headers& headers);
  bool write(std::string_view bytes);
  bool end();
  bool closed() const;
  void on_close(std::function<void(CloseReason)> callback);
  void keep_alive_every(Milliseconds period, std::string bytes);
  int64_t queued_bytes() const;
  /// The last reference is gone: without an end this is a failure.
  void abandon();

  // The connection's side; the loop's thread.
  void awake();              ///< the wake has arrived: the next change sends another
  std::string take();        ///< what is to be written next; empty: nothing now
  void sent(int64_t bytes);  ///< so much of what was taken has left
  bool ended() const;        ///< nothing will be added
  bool finished() const;     ///< and all has left
  bool keeps_alive() const;  ///< of an ended answer: the connection goes on
  std::optional<CloseReason> failure() const;  ///< the connection is to be cut
  std::optional<Time> keep_alive_due() const;
  void keep_alive(Time now);  ///< adds the comment if it is due
  void close(CloseReason reason);

 private:
  enum class Phase { kWaiting, kStreaming, kEnded };

  void append(std::string_view bytes);  // framed; under the lock
  bool begin_locked(int status, const Headers& headers, Framing framing, int64_t length);
  void wake(bool already);

  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Loop> loop_;
  const ResponseRules rules_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;
  Phase phase_ = Phase::kWaiting;
  bool is_chunked_ = false;
  bool drops_body_ = false;  // HEAD, 204, 304: written, not sent
  bool keeps_alive_ = false;
  bool is_awake_ = false;   // a wake is on its way
  bool is_closed_ = false;  // nothing can be sent any more
  bool has_told_ = false;   // close() was called
  std::optional<CloseReason> reason_;
  std::string pending_;
  int64_t queued_ = 0;  // pending and taken, not sent
  std::function<void(CloseReason)> on_close_;
  Milliseconds period_{0};
  std::string comment_;
  Time written_;
};

/// The handle given to the handler.
std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Outbox> outbox);

}  // namespace trine::http
