// A service that says what the test wrote, and an exchange that remembers what it was given.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/exchange.h"
#include "serving/service.h"
#include "trine/tokenizer.h"

namespace trine::server::test {

/// Runs all requests in turns of one token on a thread of its own. Thread-safe as a Service is.
class FakeService : public serving::Service {
 public:
  explicit FakeService(const Tokenizer& tokenizer);
  ~FakeService() override;

  /// What request `index` (in the order of submits) says: control tokens spelled.
  std::function<std::string(const serving::Request& request, size_t index)> script;
  std::atomic<bool> busy{false};     ///< submit is refused
  std::atomic<bool> held{false};     ///< nothing goes on
  std::atomic<int64_t> fail_at{-1};  ///< token after which requests end with kNotFinite
  std::atomic<int64_t> cached{2};    ///< what `admitted` says
  std::atomic<int64_t> context_size{4096};
  std::atomic<int64_t> flushes{0};

  std::vector<serving::Request> requests() const;
  std::vector<serving::RequestId> cancelled() const;
  int64_t mask_calls() const { return masks_; }
  /// Waits until so many were submitted; false after ten seconds.
  bool wait_for_submits(size_t count) const;

  Result<serving::RequestId> submit(serving::Request request,
                                    std::shared_ptr<serving::Sink> sink) override;
  void cancel(serving::RequestId id) override;
  void flush_cache() override { ++flushes; }
  serving::Gauges gauges() const override;
  serving::Counters counters() const override;
  int64_t context() const override { return context_size; }
  int64_t vocab_size() const override { return tokenizer_.vocab_size(); }

 private:
  struct Running {
    serving::Request request;
    std::shared_ptr<serving::Sink> sink;
    std::vector<int32_t> says;
    size_t said = 0;
    bool begun = false;
    bool cancelled = false;
  };
  void run();
  bool step(Running* running);
  void end(const Running& running, serving::Finish finish, const Status& status = {});

  const Tokenizer& tokenizer_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<serving::RequestId, std::shared_ptr<Running>> running_;
  std::vector<serving::Request> requests_;
  std::vector<serving::RequestId> cancelled_;
  std::atomic<int64_t> masks_{0};
  bool stopped_ = false;
  std::thread thread_;
};

class FakeExchange : public http::Exchange {
 public:
  bool respond(int status, http::Headers headers, std::string body) override;
  bool begin(int status, http::Headers headers) override;
  bool write(std::string_view bytes) override;
  bool end() override;
  bool closed() const override;
  void on_close(std::function<void(http::CloseReason)> callback) override;
  void keep_alive_every(http::Milliseconds period, std::string bytes) override;
  int64_t queued_bytes() const override { return 0; }

  /// The client goes.
  void close();
  /// Waits for the answer's end; false after ten seconds.
  bool wait() const;
  bool wait_for_text(const std::string& text) const;

  int status() const;
  std::string body() const;
  std::string header(const std::string& name) const;
  std::string keep_alive_bytes() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int status_ = 0;
  http::Headers headers_;
  std::string body_;
  bool done_ = false;
  bool closed_ = false;
  std::string keep_alive_;
  std::function<void(http::CloseReason)> callback_;
};

}  // namespace trine::server::test
