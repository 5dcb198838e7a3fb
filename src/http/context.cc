#include "http/context.h"

#include <random>

namespace trine::http {
namespace {

// Above connections_max so many may be told why they are refused; the rest is closed.
constexpr int64_t kRefusedAtOnceMax = 64;

// Tells requests of different runs of a server apart in logs.
std::string random_prefix() {
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::string out = "req-";
  for (int i = 0; i < 8; ++i) out += kDigits[device() % 36];
  return out + "-";
}

}  // namespace

const char* close_reason_name(CloseReason reason) {
  switch (reason) {
    case CloseReason::kPeerGone: return "peer_gone";
    case CloseReason::kSlowReader: return "slow_reader";
    case CloseReason::kWriteTimeout: return "write_timeout";
    case CloseReason::kStopped: return "stopped";
    case CloseReason::kAbandoned: return "abandoned";
  }
  return "unknown";
}

Context::Context(Options options, Handler handler)
    : options_(std::move(options)), handler_(std::move(handler)), id_prefix_(random_prefix()) {}

std::string Context::next_request_id() { return id_prefix_ + std::to_string(next_id_++); }

std::string Context::error_body(Refusal kind, const std::string& message) const {
  const RefusalText& text = describe(kind);
  if (options_.error_body) return options_.error_body(text, message);
  return error_json(message, text.type, text.name);
}

Context::Admission Context::admit(const std::string& address) {
  const std::lock_guard lock(mutex_);
  ++total_;
  if (open_ >= options_.connections_max + kRefusedAtOnceMax) {
    ++dropped_;
    return Admission::kDrop;
  }
  const bool is_full = open_ >= options_.connections_max;
  ++open_;
  const int64_t of_address = ++of_address_[address];
  if (is_full) return Admission::kFull;
  const int64_t limit = options_.connections_per_address_max;
  return limit > 0 && of_address > limit ? Admission::kAddressFull : Admission::kYes;
}

void Context::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  --open_;
  const auto it = of_address_.find(address);
  if (it != of_address_.end() && --it->second == 0) of_address_.erase(it);
  left_.notify_all();
}

bool Context::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return left_.wait_until(lock, deadline, [&] { return open_ == 0; });
}

bool Context::take_body_bytes(int64_t bytes) {
  if ((body_bytes_ += bytes) <= options_.body_bytes_total_max) return true;
  body_bytes_ -= bytes;
  return false;
}

Stats Context::stats() const {
  Stats out;
  {
    const std::lock_guard lock(mutex_);
    out.connections_open = open_;
    out.connections_total = total_;
    out.connections_dropped = dropped_;
  }
  out.requests_total = requests_;
  out.bytes_received = received_;
  out.bytes_sent = sent_;
  out.body_bytes = body_bytes_;
  for (size_t i = 0; i < kRefusalKinds; ++i) out.refused[i] = refused_[i];
  for (size_t i = 0; i < kCloseReasons; ++i) out.cut[i] = cut_[i];
  return out;
}

}  // namespace trine::http
