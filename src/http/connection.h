// One client's connection: reads requests one after the other, gives each to the handler, writes
// its answer, and watches the peer all the while. A state machine on its loop's thread, without
// sockets.
//
// A read is always pending, also while a request is worked on: that is how a peer that leaves is
// seen at once. What it sends meanwhile (pipelined requests) is kept up to kReadAheadBytesMax; then
// reading pauses and the peer's end is looked for every second instead. The end of the peer's
// sending side counts as its leaving, unless the answer is complete and only has to be written.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/context.h"
#include "http/head_scan.h"
#include "http/outbox.h"
#include "http/request_parser.h"
#include "http/transport.h"

namespace trine::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static constexpr size_t kReadAheadBytesMax = 64 * 1024;

  /// `on_gone` is called once, from the loop, when nothing of the connection is left to do. The
  /// owner keeps the reference until then.
  Connection(std::shared_ptr<Context> context, std::shared_ptr<Loop> loop,
             std::unique_ptr<Transport> transport, std::string address,
             std::function<void(Connection*)> on_gone);

  // All on the loop's thread.
  void start(std::optional<Refusal> refusal);  ///< a refusal is told, then the connection ends
  void drain();                                ///< ends an idle one; others end with their answer
  void stop();                                 ///< ends at once

 private:
  enum class Phase {
    kHandshake,  // TLS
    kIdle,       // nothing of the next request has come
    kHead,
    kBody,
    kAnswering,  // the outbox is there
    kLinger,     // all is sent; the peer may take it and close
    kClosed,
  };

  void ready();
  void enter_idle(Time deadline);
  void want_read();
  void on_read(Io io, size_t size);
  void on_end();
  void advance();
  bool begin_request();
  bool read_head();
  bool read_body();
  void dispatch();
  void run_handler(Request request);
  bool answer_preflight(const Request& request);
  void open_outbox(const ResponseRules& rules);
  void refuse(const Fault& fault);
  void refuse(Refusal kind);
  void release_body();

  void on_wake();
  void pump();
  void on_written(Io io, size_t size);
  void answered();
  void linger();
  void cut(CloseReason reason);

  void arm();
  void on_timer();
  void on_deadline();

  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Loop> loop_;
  const std::unique_ptr<Transport> transport_;
  const std::string address_;
  const std::function<void(Connection*)> on_gone_;
  std::unique_ptr<Timer> timer_;
  std::optional<Time> armed_;  // when the timer fires

  Phase phase_ = Phase::kHandshake;
  Time deadline_;  // of the phase; none while answering
  std::optional<Refusal> refusal_at_start_;
  bool is_first_ = true;     // no request has been answered
  bool is_refused_ = false;  // what else comes is not a request
  bool has_ended_ = false;   // the peer sends no more

  std::array<char, 16 * 1024> block_{};
  bool is_reading_ = false;
  std::string input_;  // read, not parsed
  HeadScanner scanner_;
  std::unique_ptr<RequestParser> parser_;
  ResponseRules rules_;
  int64_t body_bytes_ = 0;  // taken from the context

  std::shared_ptr<Outbox> outbox_;
  std::string sending_;
  size_t sending_done_ = 0;
  bool is_answer_ = false;  // sending_ is the outbox's, not an interim response
  bool is_writing_ = false;
  Time write_deadline_;
};

}  // namespace trine::http
