// The scripted service and the remembering exchange; see the header.
#include "server/fake_service.h"

#include <chrono>

namespace trine::server::test {
namespace {
constexpr std::chrono::seconds kPatience{10};
}

FakeService::FakeService(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  thread_ = std::thread([this] { run(); });
}

FakeService::~FakeService() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<serving::Request> FakeService::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

std::vector<serving::RequestId> FakeService::cancelled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_;
}

bool FakeService::wait_for_submits(size_t count) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return requests_.size() >= count; });
}

Result<serving::RequestId> FakeService::submit(serving::Request request,
                                               std::shared_ptr<serving::Sink> sink) {
  if (busy) return Status(Code::kBusy, "all 1 places of the queue are taken; try again later");
  auto running = std::make_shared<Running>();
  running->request = request;
  running->sink = std::move(sink);
  serving::RequestId id = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running->says = tokenizer_.encode(script(request, requests_.size()), true);
    requests_.push_back(std::move(request));
    id = static_cast<serving::RequestId>(requests_.size());
    running_[id] = std::move(running);
  }
  changed_.notify_all();
  return id;
}

void FakeService::cancel(serving::RequestId id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    found->second->cancelled = true;
    cancelled_.push_back(id);
  }
  changed_.notify_all();
}

serving::Gauges FakeService::gauges() const {
  serving::Gauges out;
  out.queue_limit = 64;
  out.slots = 4;
  return out;
}

serving::Counters FakeService::counters() const {
  serving::Counters out;
  const std::lock_guard<std::mutex> lock(mutex_);
  out.submitted = static_cast<int64_t>(requests_.size());
  return out;
}

void FakeService::run() {
  while (true) {
    std::vector<std::pair<serving::RequestId, std::shared_ptr<Running>>> now;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(5),
                        [this] { return stopped_ || (!running_.empty() && !held); });
      if (stopped_) {
        for (const auto& [id, running] : running_) now.emplace_back(id, running);
        lock.unlock();
        for (const auto& [id, running] : now) end(*running, serving::Finish::kCancelled);
        return;
      }
      for (const auto& [id, running] : running_)
        if (!held || running->cancelled) now.emplace_back(id, running);
    }
    for (const auto& [id, running] : now) {
      if (step(running.get())) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      running_.erase(id);
    }
  }
}

// False when the request has ended.
bool FakeService::step(Running* running) {
  serving::Sink& sink = *running->sink;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (running->cancelled) running->says.clear();
  }
  if (running->cancelled) {
    end(*running, serving::Finish::kCancelled);
    return false;
  }
  const auto size = static_cast<int64_t>(running->request.prompt.size());
  serving::TokenLogprobs logprobs;
  if (!running->begun) {
    running->begun = true;
    sink.admitted(cached);
    sink.prefilled(size, size);
    for (int64_t i = 1; i < size && running->request.prompt_logprobs; ++i) {
      const int32_t id = running->request.prompt[static_cast<size_t>(i)];
      logprobs = {-0.5f, {{id, -0.5f}}};
      sink.prompt_token(i, {id, &logprobs});
    }
  }
  const auto said = static_cast<int64_t>(running->said);
  if (said >= running->request.max_tokens) {
    end(*running, serving::Finish::kLength);
    return false;
  }
  if (fail_at >= 0 && said >= fail_at) {
    end(*running, serving::Finish::kError, Status(Code::kNotFinite, "a row was not finite"));
    return false;
  }
  if (running->said == running->says.size()) {
    end(*running, serving::Finish::kStop);
    return false;
  }
  std::vector<uint64_t> allowed(static_cast<size_t>((vocab_size() + 63) / 64), ~uint64_t{0});
  if (sink.mask(allowed)) ++masks_;
  const int32_t id = running->says[running->said++];
  logprobs = {-0.25f, {}};
  for (int k = 0; k < running->request.top_logprobs; ++k)
    logprobs.top.emplace_back(k == 0 ? id : k, -0.25f - static_cast<float>(k));
  const serving::Token token{id, running->request.top_logprobs >= 0 ? &logprobs : nullptr};
  if (sink.token(token) == serving::Sink::Verdict::kGoOn) return true;
  end(*running, serving::Finish::kStop);
  return false;
}

void FakeService::end(const Running& running, serving::Finish finish, const Status& status) {
  serving::Outcome outcome;
  outcome.finish = finish;
  outcome.status = status;
  outcome.prompt_tokens = static_cast<int64_t>(running.request.prompt.size());
  outcome.completion_tokens = static_cast<int64_t>(running.said);
  running.sink->finished(outcome);
}

bool FakeExchange::respond(int status, http::Headers headers, std::string body) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || status_ != 0) return false;
  status_ = status;
  headers_ = std::move(headers);
  body_ = std::move(body);
  done_ = true;
  changed_.notify_all();
  return true;
}

bool FakeExchange::begin(int status, http::Headers headers) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || status_ != 0) return false;
  status_ = status;
  headers_ = std::move(headers);
  changed_.notify_all();
  return true;
}

bool FakeExchange::write(std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_ || done_) return false;
  body_ += bytes;
  changed_.notify_all();
  return true;
}

bool FakeExchange::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  changed_.notify_all();
  return !closed_;
}

bool FakeExchange::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

void FakeExchange::on_close(std::function<void(http::CloseReason)> callback) {
  bool is_late = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_late = closed_;
    if (!is_late) callback_ = callback;
  }
  if (is_late) callback(http::CloseReason::kPeerGone);
}

void FakeExchange::keep_alive_every(http::Milliseconds /*period*/, std::string bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  keep_alive_ = std::move(bytes);
}

void FakeExchange::close() {
  std::function<void(http::CloseReason)> callback;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    if (!done_) callback = callback_;
  }
  if (callback) callback(http::CloseReason::kPeerGone);
}

bool FakeExchange::wait() const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, [this] { return done_; });
}

bool FakeExchange::wait_for_text(const std::string& text) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return body_.find(text) != std::string::npos; });
}

int FakeExchange::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

std::string FakeExchange::body() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return body_;
}

std::string FakeExchange::header(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::string(headers_.get(name));
}

std::string FakeExchange::keep_alive_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return keep_alive_;
}

}  // namespace trine::server::test
