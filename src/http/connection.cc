#include "http/connection.h"

#include <algorithm>

#include "http/cors.h"

namespace trine::http {
namespace {

// How often the peer's end is looked for when nothing can be read.
constexpr Milliseconds kPeerCheck{1000};

Headers refusal_headers(Refusal kind) {
  Headers headers{{"Content-Type", "application/json"}};
  const int status = describe(kind).status;
  if (status == 405) headers.add("Allow", kAllowedMethods);
  if (status == 503 || status == 429) headers.add("Retry-After", "5");
  return headers;
}

}  // namespace

Connection::Connection(std::shared_ptr<Context> context, std::shared_ptr<Loop> loop,
                       std::unique_ptr<Transport> transport, std::string address,
                       std::function<void(Connection*)> on_gone)
    : context_(std::move(context)),
      loop_(std::move(loop)),
      transport_(std::move(transport)),
      address_(std::move(address)),
      on_gone_(std::move(on_gone)) {}

void Connection::start(std::optional<Refusal> refusal) {
  refusal_at_start_ = refusal;
  timer_ = loop_->make_timer([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_timer();
  });
  deadline_ = loop_->now() + context_->options().header_timeout;
  if (!transport_->secure()) return ready();
  transport_->handshake([self = shared_from_this()](Io io, size_t) {
    if (self->phase_ != Phase::kHandshake) return;
    if (io != Io::kOk) return self->cut(CloseReason::kPeerGone);
    self->ready();
  });
  arm();
}

void Connection::ready() {
  if (refusal_at_start_) {
    refuse(*refusal_at_start_);
  } else {
    enter_idle(deadline_);  // the first header's time runs since the connection was accepted
  }
  want_read();
  arm();
}

void Connection::enter_idle(Time deadline) {
  phase_ = Phase::kIdle;
  deadline_ = deadline;
  parser_.reset();
}

void Connection::drain() {
  if (phase_ == Phase::kIdle && input_.empty()) cut(CloseReason::kStopped);
}

void Connection::stop() { cut(CloseReason::kStopped); }

// ---- reading

void Connection::want_read() {
  if (is_reading_ || has_ended_ || phase_ == Phase::kClosed || phase_ == Phase::kHandshake) return;
  if (phase_ == Phase::kAnswering && input_.size() >= kReadAheadBytesMax) return;
  is_reading_ = true;
  transport_->read_some(
      block_.data(), block_.size(),
      [self = shared_from_this()](Io io, size_t size) { self->on_read(io, size); });
}

void Connection::on_read(Io io, size_t size) {
  is_reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (io == Io::kFailed) return cut(CloseReason::kPeerGone);
  if (io == Io::kEnd) {
    on_end();
  } else {
    context_->count_received(static_cast<int64_t>(size));
    if (phase_ != Phase::kLinger && !is_refused_) input_.append(block_.data(), size);
    advance();
  }
  want_read();
  arm();
}

void Connection::on_end() {
  has_ended_ = true;
  switch (phase_) {
    case Phase::kHead:
    case Phase::kBody:
      return refuse({Refusal::kBadRequest, "the connection ended within a request"});
    case Phase::kAnswering:
      if (outbox_->ended()) return;  // the rest is written; a peer that has gone fails the write
      break;
    case Phase::kHandshake:
    case Phase::kIdle:
    case Phase::kLinger:
    case Phase::kClosed: break;
  }
  cut(CloseReason::kPeerGone);
}

void Connection::advance() {
  bool goes_on = true;
  while (goes_on) {
    switch (phase_) {
      case Phase::kIdle: goes_on = begin_request(); break;
      case Phase::kHead: goes_on = read_head(); break;
      case Phase::kBody: goes_on = read_body(); break;
      case Phase::kHandshake:
      case Phase::kAnswering:
      case Phase::kLinger:
      case Phase::kClosed: goes_on = false; break;
    }
  }
}

bool Connection::begin_request() {
  // Empty lines before a request are ignored (RFC 9112 section 2.2).
  size_t blank = 0;
  while (input_.compare(blank, 2, "\r\n") == 0) blank += 2;
  input_.erase(0, blank);
  if (input_.empty() || input_ == "\r") return false;
  if (!is_first_) deadline_ = loop_->now() + context_->options().header_timeout;
  rules_ = ResponseRules();
  scanner_ = HeadScanner();
  parser_ = std::make_unique<RequestParser>(context_->options());
  phase_ = Phase::kHead;
  return true;
}

bool Connection::read_head() {
  // One byte more than allowed is looked at, so that the answer does not depend on how bytes
  // arrive.
  const auto limit = static_cast<size_t>(context_->options().header_bytes_max);
  const HeadScanner::State state = scanner_.scan(std::string_view(input_).substr(0, limit + 1));
  if (state == HeadScanner::State::kBad) {
    refuse({Refusal::kBadRequest, scanner_.fault()});
    return false;
  }
  const bool is_complete = state == HeadScanner::State::kComplete;
  if (is_complete ? scanner_.size() > limit : input_.size() > limit) {
    refuse({scanner_.has_line() ? Refusal::kHeadersTooLarge : Refusal::kTargetTooLong,
            "the header is longer than " + std::to_string(limit) + " bytes"});
    return false;
  }
  if (!is_complete) return false;

  std::optional<Fault> fault =
      parser_->parse_head(std::string_view(input_).substr(0, scanner_.size()));
  input_.erase(0, scanner_.size());
  const Request& request = parser_->request();
  rules_.version_minor = request.version_minor;
  rules_.is_head = request.method == "HEAD";
  rules_.keep_alive = parser_->keep_alive();
  rules_.cors_origin = allowed_origin(context_->options(), request.headers);
  if (fault) {
    refuse(*fault);
    return false;
  }
  phase_ = Phase::kBody;
  deadline_ = loop_->now() + context_->options().body_timeout;
  const bool waits = request.headers.count("Expect") > 0 && request.version_minor >= 1;
  if (waits && !parser_->done() && input_.empty()) {
    sending_ = "HTTP/1.1 100 Continue\r\n\r\n";
    is_answer_ = false;
    pump();
  }
  return true;
}

bool Connection::read_body() {
  size_t used = 0;
  std::optional<Fault> fault = parser_->parse_body(input_, &used);
  input_.erase(0, used);
  const auto size = static_cast<int64_t>(parser_->request().body.size());
  if (!context_->take_body_bytes(size - body_bytes_)) {
    fault = Fault{Refusal::kBodiesTooLarge, describe(Refusal::kBodiesTooLarge).message};
  } else {
    body_bytes_ = size;
  }
  if (fault) {
    refuse(*fault);
    return false;
  }
  if (!parser_->done()) return false;
  dispatch();
  return true;
}

void Connection::release_body() {
  context_->give_body_bytes(body_bytes_);
  body_bytes_ = 0;
}

// ---- answering

void Connection::dispatch() {
  release_body();
  if (context_->draining()) return refuse(Refusal::kDraining);
  Request request = std::move(parser_->request());
  parser_.reset();
  request.id = context_->next_request_id();
  request.remote_address = address_;
  request.secure = transport_->secure();
  rules_.request_id = request.id;
  context_->count_request();
  if (is_preflight(request) && rules_.cors_origin.empty()) return refuse(Refusal::kOrigin);
  open_outbox(rules_);
  if (!answer_preflight(request)) run_handler(std::move(request));
}

bool Connection::answer_preflight(const Request& request) {
  if (is_preflight(request)) {
    return outbox_->respond(204, preflight_headers(request.headers), "");
  }
  if (request.path == "*") return outbox_->respond(204, {{"Allow", kAllowedMethods}}, "");
  return false;
}

void Connection::run_handler(Request request) {
  std::shared_ptr<Exchange> exchange = make_exchange(outbox_);
  try {
    context_->handler()(std::move(request), exchange);
  } catch (...) {  // a handler's fault ends its own request, nothing else
    context_->count(Refusal::kHandlerFailed);
    (void)outbox_->respond(
        describe(Refusal::kHandlerFailed).status, refusal_headers(Refusal::kHandlerFailed),
        context_->error_body(Refusal::kHandlerFailed, describe(Refusal::kHandlerFailed).message));
  }
}

void Connection::open_outbox(const ResponseRules& rules) {
  outbox_ = std::make_shared<Outbox>(context_, loop_, rules, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_wake();
  });
  phase_ = Phase::kAnswering;
}

void Connection::refuse(Refusal kind) { refuse(Fault{kind, describe(kind).message}); }

// What follows a refused request cannot be trusted to start where it seems to: the connection ends.
void Connection::refuse(const Fault& fault) {
  context_->count(fault.kind);
  release_body();
  is_refused_ = true;
  input_ = std::string();
  parser_.reset();
  if (rules_.request_id.empty()) rules_.request_id = context_->next_request_id();
  rules_.keep_alive = false;
  open_outbox(rules_);
  (void)outbox_->respond(describe(fault.kind).status, refusal_headers(fault.kind),
                         context_->error_body(fault.kind, fault.message));
}

void Connection::on_wake() {
  if (outbox_ == nullptr || phase_ == Phase::kClosed) return;
  outbox_->awake();
  if (const auto failure = outbox_->failure()) return cut(*failure);
  pump();
  arm();
}

void Connection::pump() {
  if (is_writing_ || phase_ == Phase::kClosed) return;
  if (sending_done_ == sending_.size()) {
    sending_done_ = 0;
    sending_.clear();
    if (outbox_ == nullptr) return;
    sending_ = outbox_->take();
    is_answer_ = true;
    if (sending_.empty()) {
      if (outbox_->finished()) answered();
      return;
    }
  }
  is_writing_ = true;
  write_deadline_ = loop_->now() + context_->options().write_timeout;
  transport_->write_some(
      sending_.data() + sending_done_, sending_.size() - sending_done_,
      [self = shared_from_this()](Io io, size_t size) { self->on_written(io, size); });
}

void Connection::on_written(Io io, size_t size) {
  is_writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (io != Io::kOk) return cut(CloseReason::kPeerGone);
  context_->count_sent(static_cast<int64_t>(size));
  sending_done_ += size;
  if (is_answer_ && outbox_ != nullptr) outbox_->sent(static_cast<int64_t>(size));
  pump();
  arm();
}

void Connection::answered() {
  const bool goes_on = outbox_->keeps_alive() && !is_refused_ && !has_ended_;
  outbox_.reset();
  is_first_ = false;
  if (!goes_on || (context_->draining() && input_.empty())) return linger();
  enter_idle(loop_->now() + context_->options().idle_timeout);
  advance();
  want_read();
}

// Closing with unread bytes would reset the connection and could take the answer back from the
// peer.
void Connection::linger() {
  if (has_ended_) return cut(CloseReason::kPeerGone);
  phase_ = Phase::kLinger;
  deadline_ = loop_->now() + context_->options().linger_timeout;
  input_ = std::string();
  transport_->shutdown_write();
  want_read();
}

void Connection::cut(CloseReason reason) {
  if (phase_ == Phase::kClosed) return;
  const auto self = shared_from_this();
  phase_ = Phase::kClosed;
  transport_->close();
  timer_.reset();
  release_body();
  if (outbox_ != nullptr) {
    if (!outbox_->finished()) context_->count(outbox_->failure().value_or(reason));
    outbox_->close(reason);
    outbox_.reset();
  }
  on_gone_(this);
}

// ---- time

void Connection::arm() {
  if (phase_ == Phase::kClosed) return;
  std::optional<Time> due;
  const auto consider = [&](Time time) { due = due ? std::min(*due, time) : time; };
  if (phase_ != Phase::kAnswering) consider(deadline_);
  if (is_writing_) consider(write_deadline_);
  if (phase_ == Phase::kAnswering) {
    if (const auto time = outbox_->keep_alive_due()) consider(*time);
    if (!is_reading_ && !has_ended_) consider(loop_->now() + kPeerCheck);
  }
  // A timer that fires too early arms itself again: cheaper than moving it with each token.
  if (!due || (armed_ && *armed_ <= *due)) return;
  armed_ = due;
  timer_->set(*due);
}

void Connection::on_timer() {
  armed_.reset();
  if (phase_ == Phase::kClosed) return;
  const Time now = loop_->now();
  if (is_writing_ && now >= write_deadline_) return cut(CloseReason::kWriteTimeout);
  if (phase_ == Phase::kAnswering) {
    outbox_->keep_alive(now);
    pump();
  }
  if (phase_ == Phase::kAnswering && !is_reading_ && !has_ended_ && transport_->peer_closed()) {
    on_end();
  } else if (phase_ != Phase::kAnswering && phase_ != Phase::kClosed && now >= deadline_) {
    on_deadline();
  }
  arm();
}

void Connection::on_deadline() {
  switch (phase_) {
    case Phase::kHead: return refuse(Refusal::kHeaderTimeout);
    case Phase::kBody: return refuse(Refusal::kBodyTimeout);
    case Phase::kHandshake:
    case Phase::kIdle:
    case Phase::kLinger: return cut(CloseReason::kPeerGone);
    case Phase::kAnswering:
    case Phase::kClosed: return;
  }
}

}  // namespace trine::http
