// One generation request at work: its answers as requests of the service, their tokens as pieces of
// the answer, its end as the exchange's end.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/answer.h"
#include "server/api_context.h"
#include "server/generation.h"
#include "server/prompts.h"

namespace trine::server {

class GenerationJob : public std::enable_shared_from_this<GenerationJob> {
 public:
  GenerationJob(ApiContext& context, Call call, GenerationRequest request,
                std::vector<Prompt> prompts);

  /// Submits what can be submitted. On a problem nothing was sent, and the caller answers.
  MaybeProblem start();
  Call& call() { return call_; }
  /// A whole answer that takes long: begins it, so that blanks can keep the connection alive.
  void keep_alive();

 private:
  class ChoiceSink;
  // One answer: a request of the service.
  struct Part {
    std::unique_ptr<Output> output;
    serving::RequestId id = -1;
    bool ended = false;
    bool prompt_sent = false;
    bool has_content = false;         // or calls: the reasoning is over
    std::vector<AnswerToken> prompt;  // with echo and logprobs
    Usage usage;
    std::chrono::steady_clock::time_point last_token;
  };

  using Lock = std::unique_lock<std::mutex>;

  MaybeProblem pump();
  void resume();  // pump, later
  Result<serving::RequestId> submit(size_t index);
  void client_gone();
  size_t prompt_of(size_t index) const { return index / static_cast<size_t>(request_.n); }
  bool is_first(size_t index) const { return index % static_cast<size_t>(request_.n) == 0; }

  // With the lock held:
  void begin();
  void send(const std::string& bytes);
  void send_prompt(size_t index);
  void add_events(size_t index, const std::vector<OutputEvent>& events, const AnswerToken* token);
  MaybeProblem end_part(size_t index, const serving::Outcome& outcome);
  void release_siblings(size_t index);
  void finish();
  void note_end(const char* how, int status);
  Usage total() const;
  // Gives the lock back:
  void cancel_rest(Lock lock);
  void fail(Lock lock, const Problem& problem);

  // From the sinks.
  void admitted(size_t index, int64_t cached);
  void prefilled(size_t index, int64_t done, int64_t total);
  void prompt_token(size_t index, int64_t position, const serving::Token& token);
  serving::Sink::Verdict token(size_t index, const serving::Token& token);
  void finished(size_t index, const serving::Outcome& outcome);

  ApiContext& context_;
  Call call_;
  const GenerationRequest request_;
  std::vector<Prompt> prompts_;
  uint64_t seed_ = 0;

  // Guards all below; never held while the service is called.
  std::mutex mutex_;
  std::unique_ptr<Answer> answer_;
  std::vector<Part> parts_;
  std::deque<size_t> waiting_;  // not submitted yet
  int64_t running_ = 0;
  size_t ended_ = 0;
  bool over_ = false;         // nothing will be sent any more
  bool must_resume_ = false;  // something that waits may be submitted now
  bool begun_ = false;        // of the exchange
  bool has_token_ = false;
  double queue_ms_ = 0, ttft_ms_ = 0;  // of the first part
};

}  // namespace trine::server
