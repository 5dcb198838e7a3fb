#include "http/outbox.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace trine::http {
namespace {

class OutboxExchange final : public Exchange {
 public:
  explicit OutboxExchange(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  ~OutboxExchange() override { outbox_->abandon(); }
  OutboxExchange(const OutboxExchange&) = delete;
  OutboxExchange& operator=(const OutboxExchange&) = delete;

  bool respond(int status, Headers headers, std::string body) override {
    return outbox_->respond(status, headers, body);
  }
  bool begin(int status, Headers headers) override { return outbox_->begin(status, headers); }
  bool write(std::string_view bytes) override { return outbox_->write(bytes); }
  bool end() override { return outbox_->end(); }
  bool closed() const override { return outbox_->closed(); }
  void on_close(std::function<void(CloseReason)> callback) override {
    outbox_->on_close(std::move(callback));
  }
  void keep_alive_every(Milliseconds period, std::string bytes) override {
    outbox_->keep_alive_every(period, std::move(bytes));
  }
  int64_t queued_bytes() const override { return outbox_->queued_bytes(); }

 private:
  const std::shared_ptr<Outbox> outbox_;
};

std::string chunk_head(size_t size) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

// What a callback throws is its own business and ends here.
void tell(const std::function<void(CloseReason)>& callback, CloseReason reason) {
  try {
    callback(reason);
  } catch (...) {
    return;
  }
}

}  // namespace

std::shared_ptr<Exchange> make_exchange(std::shared_ptr<Outbox> outbox) {
  return std::make_shared<OutboxExchange>(std::move(outbox));
}

Outbox::Outbox(std::shared_ptr<Context> context, std::shared_ptr<Loop> loop, ResponseRules rules,
               std::function<void()> wake)
    : context_(std::move(context)),
      loop_(std::move(loop)),
      rules_(std::move(rules)),
      wake_(std::move(wake)) {}

// One wake on its way is enough, however many tokens are written meanwhile.
void Outbox::wake(bool already) {
  if (!already) (void)loop_->post(wake_);
}

void Outbox::append(std::string_view bytes) {
  const size_t before = pending_.size();
  if (is_chunked_) pending_ += chunk_head(bytes.size());
  pending_ += bytes;
  if (is_chunked_) pending_ += "\r\n";
  queued_ += static_cast<int64_t>(pending_.size() - before);
  written_ = loop_->now();
}

bool Outbox::begin_locked(int status, const Headers& headers, Framing framing, int64_t length) {
  if (is_closed_ || phase_ != Phase::kWaiting) return false;
  keeps_alive_ = rules_.keep_alive && framing != Framing::kUntilClose && !context_->draining();
  pending_ = response_head(status, headers, rules_, framing, length, keeps_alive_);
  queued_ = static_cast<int64_t>(pending_.size());
  drops_body_ = rules_.is_head || is_bodyless(status);
  is_chunked_ = framing == Framing::kChunked;
  written_ = loop_->now();
  phase_ = Phase::kStreaming;
  return true;
}

bool Outbox::respond(int status, const Headers& headers, std::string_view body) {
  std::function<void(CloseReason)> dropped;  // destroyed after the lock: it may own anything
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    const Framing framing = is_bodyless(status) ? Framing::kNoBody : Framing::kLength;
    if (!begin_locked(status, headers, framing, static_cast<int64_t>(body.size()))) return false;
    if (!drops_body_) append(body);
    phase_ = Phase::kEnded;
    dropped.swap(on_close_);
    already = std::exchange(is_awake_, true);
  }
  wake(already);
  return true;
}

bool Outbox::begin(int status, const Headers& headers) {
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    Framing framing = rules_.version_minor >= 1 ? Framing::kChunked : Framing::kUntilClose;
    if (is_bodyless(status)) framing = Framing::kNoBody;
    if (!begin_locked(status, headers, framing, 0)) return false;
    already = std::exchange(is_awake_, true);
  }
  wake(already);
  return true;
}

bool Outbox::write(std::string_view bytes) {
  bool fits = true;
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || phase_ != Phase::kStreaming) return false;
    if (bytes.empty() || drops_body_) return true;  // an empty chunk would be the end
    constexpr int64_t kFramingBytesMax = 20;
    const auto size = static_cast<int64_t>(bytes.size()) + (is_chunked_ ? kFramingBytesMax : 0);
    fits = queued_ + size <= context_->options().write_buffer_bytes_max;
    if (fits) {
      append(bytes);
    } else {
      is_closed_ = true;
      reason_ = CloseReason::kSlowReader;
      pending_ = std::string();
    }
    already = std::exchange(is_awake_, true);
  }
  wake(already);
  return fits;
}

bool Outbox::end() {
  std::function<void(CloseReason)> dropped;
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || phase_ != Phase::kStreaming) return false;
    if (is_chunked_ && !drops_body_) {
      constexpr std::string_view kLastChunk = "0\r\n\r\n";
      pending_ += kLastChunk;
      queued_ += static_cast<int64_t>(kLastChunk.size());
    }
    phase_ = Phase::kEnded;
    dropped.swap(on_close_);
    already = std::exchange(is_awake_, true);
  }
  wake(already);
  return true;
}

void Outbox::abandon() {
  bool is_waiting = false;
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || phase_ == Phase::kEnded) return;
    is_waiting = phase_ == Phase::kWaiting;
    if (!is_waiting) {
      is_closed_ = true;
      reason_ = CloseReason::kAbandoned;
      already = std::exchange(is_awake_, true);
    }
  }
  if (!is_waiting) return wake(already);
  context_->count(Refusal::kNoAnswer);
  (void)respond(describe(Refusal::kNoAnswer).status, {{"Content-Type", "application/json"}},
                context_->error_body(Refusal::kNoAnswer, describe(Refusal::kNoAnswer).message));
}

bool Outbox::closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

void Outbox::on_close(std::function<void(CloseReason)> callback) {
  CloseReason reason = CloseReason::kPeerGone;
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_ && phase_ == Phase::kEnded) return;
    if (!has_told_) {
      on_close_.swap(callback);  // the old one is destroyed after the lock
      return;
    }
    reason = reason_.value_or(reason);
  }
  if (!loop_->post([callback, reason] { tell(callback, reason); })) tell(callback, reason);
}

void Outbox::keep_alive_every(Milliseconds period, std::string bytes) {
  bool already = true;
  {
    const std::lock_guard lock(mutex_);
    period_ = period;
    comment_ = std::move(bytes);
    already = std::exchange(is_awake_, true);
  }
  wake(already);
}

int64_t Outbox::queued_bytes() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void Outbox::awake() {
  const std::lock_guard lock(mutex_);
  is_awake_ = false;
}

std::string Outbox::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, std::string());
}

void Outbox::sent(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  queued_ -= bytes;
}

bool Outbox::ended() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kEnded;
}

bool Outbox::finished() const {
  const std::lock_guard lock(mutex_);
  return phase_ == Phase::kEnded && queued_ == 0;
}

bool Outbox::keeps_alive() const {
  const std::lock_guard lock(mutex_);
  return keeps_alive_;
}

std::optional<CloseReason> Outbox::failure() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

std::optional<Time> Outbox::keep_alive_due() const {
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kStreaming || period_.count() <= 0 || is_closed_) return std::nullopt;
  return written_ + period_;
}

void Outbox::keep_alive(Time now) {
  const std::lock_guard lock(mutex_);
  if (phase_ != Phase::kStreaming || period_.count() <= 0 || is_closed_) return;
  if (now < written_ + period_) return;
  // A peer that has not taken what is there is not kept alive by more.
  if (queued_ == 0 && !drops_body_ && !comment_.empty()) append(comment_);
  written_ = now;
}

void Outbox::close(CloseReason reason) {
  std::function<void(CloseReason)> callback;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_told_, true)) return;
    is_closed_ = is_closed_ || phase_ != Phase::kEnded;
    if (!reason_) reason_ = reason;
    reason = *reason_;
    pending_ = std::string();
    callback.swap(on_close_);
  }
  if (callback) tell(callback, reason);
}

}  // namespace trine::http
