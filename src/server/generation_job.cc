#include "server/generation_job.h"

#include <algorithm>
#include <utility>

namespace trine::server {
namespace {

using Verdict = serving::Sink::Verdict;
using Steady = std::chrono::steady_clock;

// Parts of one request that the service has at once; more would fill the queue for everybody else.
constexpr int64_t kRunningMax = 16;

double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

const char* id_prefix(ApiKind api) {
  switch (api) {
    case ApiKind::kChat: return "chatcmpl-";
    case ApiKind::kCompletions: return "cmpl-";
    case ApiKind::kResponses: return "resp_";
    case ApiKind::kMessages: break;
  }
  return "msg_";
}

AnswerToken answer_token(const serving::Token& token) {
  AnswerToken out;
  out.id = token.id;
  out.has_logprob = token.logprobs != nullptr;
  if (out.has_logprob) {
    out.logprob = token.logprobs->logprob;
    out.top = token.logprobs->top;
  }
  return out;
}

}  // namespace

class GenerationJob::ChoiceSink : public serving::Sink {
 public:
  ChoiceSink(std::shared_ptr<GenerationJob> job, size_t index)
      : job_(std::move(job)), index_(index) {}

  void admitted(int64_t cached_tokens) override { job_->admitted(index_, cached_tokens); }
  void prefilled(int64_t done, int64_t total) override { job_->prefilled(index_, done, total); }
  void prompt_token(int64_t index, const serving::Token& token) override {
    job_->prompt_token(index_, index, token);
  }
  // Only the step thread uses the output, so that no lock is held while masks are computed.
  bool mask(std::span<uint64_t> allowed) override {
    return job_->parts_[index_].output->mask(allowed);
  }
  Verdict token(const serving::Token& token) override { return job_->token(index_, token); }
  void finished(const serving::Outcome& outcome) override { job_->finished(index_, outcome); }

 private:
  std::shared_ptr<GenerationJob> job_;
  size_t index_;
};

GenerationJob::GenerationJob(ApiContext& context, Call call, GenerationRequest request,
                             std::vector<Prompt> prompts)
    : context_(context),
      call_(std::move(call)),
      request_(std::move(request)),
      prompts_(std::move(prompts)),
      parts_(prompts_.size() * static_cast<size_t>(request_.n)) {
  seed_ = request_.has_seed ? request_.request.sampling.seed : context_.ids.random();
  AnswerInfo info;
  info.id = context_.ids.next(id_prefix(request_.api));
  info.model = model_name(context_, request_.model);
  info.created = unix_seconds();
  info.new_id = [ids = &context_.ids](const char* prefix) { return ids->next(prefix); };
  for (Prompt& prompt : prompts_) {
    info.prompt_tokens += prompt.counted;
    info.prompt_texts.push_back(std::move(prompt.text));
  }
  answer_ = Answer::make(request_, std::move(info), context_.tokenizer);
  for (size_t i = 0; i < parts_.size(); ++i)
    if (is_first(i)) waiting_.push_back(i);
}

MaybeProblem GenerationJob::start() {
  const bool shaped = request_.shape.kind != Shape::Kind::kFree;
  const bool must_call = request_.tool_use.choice == ToolUse::Choice::kRequired;
  if (request_.request.ignore_eos && (shaped || must_call)) {
    return invalid("ignore_eos", "cannot be kept together with " +
                                     (shaped ? constrained_field(request_) : "tool_choice"));
  }
  if (request_.shape.kind == Shape::Kind::kGrammar && must_call)
    return invalid("grammar", "cannot be kept together with a tool_choice that asks for a call");
  const ConstraintSpec spec = constraint_spec(request_);
  for (Part& part : parts_) {
    OutputOptions options;
    options.chat = request_.api != ApiKind::kCompletions;
    options.thinking = request_.thinking;
    options.stop = request_.stop;
    options.include_stop = request_.include_stop;
    options.ignore_eos = request_.request.ignore_eos;
    options.pieces = request_.logprobs && !options.chat;
    options.end_ids = request_.request.stop_token_ids;
    if (!options.ignore_eos) {
      for (const int32_t id : context_.options.end_tokens) options.end_ids.push_back(id);
    }
    Result<std::shared_ptr<Constraint>> made = context_.constraints.make(spec);
    if (!made.ok()) return problem_of(made.status(), constrained_field(request_));
    options.constraint = *std::move(made);
    part.output = std::make_unique<Output>(context_.tokenizer, std::move(options));
  }
  call_.exchange->on_close([weak = weak_from_this()](http::CloseReason) {
    if (const std::shared_ptr<GenerationJob> job = weak.lock()) job->client_gone();
  });
  return pump();
}

// Submits what waits, as far as the service and the client's share allow.
MaybeProblem GenerationJob::pump() {
  while (true) {
    size_t index = 0;
    {
      const Lock lock(mutex_);
      if (over_ || waiting_.empty() || running_ >= kRunningMax) return std::nullopt;
      index = waiting_.front();
      waiting_.pop_front();
      ++running_;
    }
    Result<serving::RequestId> id = submit(index);
    {
      const Lock lock(mutex_);
      if (!id.ok()) {
        --running_;
        waiting_.push_front(index);
        // The end of another part tries again.
        if (id.status().code() == Code::kBusy && running_ > 0) return std::nullopt;
        return problem_of(id.status());
      }
      parts_[index].id = *id;
      if (!over_) {
        begin();
        continue;
      }
    }
    context_.service.cancel(*id);
  }
}

void GenerationJob::resume() {
  if (const MaybeProblem problem = pump()) fail(Lock(mutex_), *problem);
}

Result<serving::RequestId> GenerationJob::submit(size_t index) {
  serving::Request request = request_.request;
  request.prompt = prompts_[prompt_of(index)].ids;
  request.sampling.seed = seed_ + index % static_cast<size_t>(request_.n);
  request.client = call_.client;
  // A prompt's first answer tells its log probabilities; the others take them from there.
  request.prompt_logprobs = request_.request.prompt_logprobs && is_first(index);
  if (context_.options.request_timeout.count() > 0)
    request.deadline = call_.arrival + context_.options.request_timeout;
  return context_.service.submit(std::move(request),
                                 std::make_shared<ChoiceSink>(shared_from_this(), index));
}

void GenerationJob::client_gone() {
  Lock lock(mutex_);
  if (over_) return;
  note_end("client_gone", 499);
  cancel_rest(std::move(lock));
}

void GenerationJob::cancel_rest(Lock lock) {
  over_ = true;
  waiting_.clear();
  std::vector<serving::RequestId> ids;
  for (const Part& part : parts_)
    if (part.id >= 0 && !part.ended) ids.push_back(part.id);
  lock.unlock();
  for (const serving::RequestId id : ids) context_.service.cancel(id);
}

void GenerationJob::fail(Lock lock, const Problem& problem) {
  if (over_) return;
  note_end(problem.code.c_str(), problem.status);
  if (!begun_) {
    const bool anthropic = request_.api == ApiKind::kMessages;
    http::Headers headers = {{"Content-Type", "application/json"}};
    if (problem.retry_after > 0) headers.add("Retry-After", std::to_string(problem.retry_after));
    call_.exchange->respond(
        problem.status, std::move(headers),
        json::dump(anthropic ? anthropic_error(problem, call_.request.id) : openai_error(problem)));
  } else {
    call_.exchange->write(request_.stream ? answer_->fail(problem)
                                          : json::dump(openai_error(problem)));
    call_.exchange->end();
  }
  cancel_rest(std::move(lock));
}

void GenerationJob::keep_alive() {
  const Lock lock(mutex_);
  if (over_ || begun_ || request_.stream) return;
  begun_ = true;
  call_.exchange->begin(200, {{"Content-Type", "application/json"}});
  call_.exchange->keep_alive_every(context_.options.keep_alive, " ");
  call_.exchange->write(" ");
}

// A stream's head. Everything that writes to a stream calls this before it asks the answer for the
// text: what the answer says first, must be sent first.
void GenerationJob::begin() {
  if (begun_ || !request_.stream) return;
  begun_ = true;
  call_.exchange->begin(200, {{"Content-Type", "text/event-stream; charset=utf-8"},
                              {"Cache-Control", "no-cache"},
                              {"X-Accel-Buffering", "no"}});
  call_.exchange->keep_alive_every(context_.options.keep_alive, ": keep-alive\n\n");
  send(answer_->begin());
}

void GenerationJob::send(const std::string& bytes) {
  if (request_.stream && !bytes.empty())
    call_.exchange->write(bytes);  // that it failed is told by on_close
}

Usage GenerationJob::total() const {
  Usage out;
  for (size_t i = 0; i < prompts_.size(); ++i) {
    out.prompt += prompts_[i].counted;
    out.cached += parts_[i * static_cast<size_t>(request_.n)].usage.cached;
  }
  for (const Part& part : parts_) {
    out.completion += part.usage.completion;
    out.reasoning += part.usage.reasoning;
  }
  return out;
}

void GenerationJob::admitted(size_t index, int64_t cached) {
  const Lock lock(mutex_);
  Usage& usage = parts_[index].usage;
  // Told again after a preemption: what counts is what was there at first.
  if (usage.completion == 0) usage.cached = std::min(cached, prompts_[prompt_of(index)].counted);
}

void GenerationJob::prefilled(size_t index, int64_t done, int64_t total) {
  if (!request_.progress) return;
  const Lock lock(mutex_);
  if (over_ || parts_[index].usage.completion > 0) return;
  begin();
  send(answer_->progress(done, total, parts_[index].usage.cached));
}

void GenerationJob::prompt_token(size_t index, int64_t /*position*/, const serving::Token& token) {
  const Lock lock(mutex_);
  parts_[index].prompt.push_back(answer_token(token));
}

// The prompt of an echo is complete when the answer begins.
void GenerationJob::send_prompt(size_t index) {
  Part& part = parts_[index];
  if (!request_.request.prompt_logprobs || part.prompt_sent) return;
  part.prompt_sent = true;
  const size_t first = prompt_of(index) * static_cast<size_t>(request_.n);
  std::vector<AnswerToken> prompt;
  prompt.push_back({prompts_[prompt_of(index)].ids[0], false, 0.0f, {}});
  const std::vector<AnswerToken>& rest = parts_[first].prompt;
  prompt.insert(prompt.end(), rest.begin(), rest.end());
  send(answer_->prompt_read(index, std::move(prompt)));
}

void GenerationJob::add_events(size_t index, const std::vector<OutputEvent>& events,
                               const AnswerToken* token) {
  Part& part = parts_[index];
  for (const OutputEvent& event : events) {
    if (event.kind == OutputEvent::Kind::kReasoning)
      part.usage.reasoning = part.usage.completion;
    else
      part.has_content = true;
  }
  const bool has_pieces = request_.logprobs && request_.api == ApiKind::kCompletions;
  send(answer_->add(index, events, token,
                    has_pieces ? part.output->take_pieces() : std::vector<TokenPiece>(), total()));
}

Verdict GenerationJob::token(size_t index, const serving::Token& token) {
  const Steady::time_point now = Steady::now();
  Lock lock(mutex_);
  if (over_) return Verdict::kStop;
  begin();
  Part& part = parts_[index];
  if (!has_token_) {
    has_token_ = true;
    const double ttft = seconds_since(call_.arrival);
    ttft_ms_ = ttft * 1000;
    context_.metrics.ttft().observe(ttft);
  }
  if (part.usage.completion > 0)
    context_.metrics.inter_token().observe(
        std::chrono::duration<double>(now - part.last_token).count());
  part.last_token = now;
  if (part.usage.completion++ == 0) {
    send_prompt(index);
    release_siblings(index);
  }
  std::vector<OutputEvent> events;
  const bool stop = part.output->push(token.id, &events);
  const AnswerToken kept = answer_token(token);
  add_events(index, events, request_.logprobs ? &kept : nullptr);
  const bool resumes = std::exchange(must_resume_, false);
  lock.unlock();
  if (resumes) context_.pool.post_always([job = shared_from_this()] { job->resume(); });
  return stop ? Verdict::kStop : Verdict::kGoOn;
}

// The other answers to a prompt wait for the first: what it has read, they need not read.
void GenerationJob::release_siblings(size_t index) {
  if (!is_first(index)) return;
  for (size_t i = 1; i < static_cast<size_t>(request_.n); ++i) waiting_.push_back(index + i);
  must_resume_ = !waiting_.empty();
}

MaybeProblem GenerationJob::end_part(size_t index, const serving::Outcome& outcome) {
  Part& part = parts_[index];
  if (outcome.finish == serving::Finish::kError) return problem_of(outcome.status);
  if (outcome.finish == serving::Finish::kCancelled)
    return Problem{503, "the server is shutting down", "", "shutting_down", 1};
  if (outcome.finish == serving::Finish::kDeadline && part.usage.completion == 0)
    return Problem{503, "the time for this request was over before its first token", "",
                   "request_timeout", 1};
  begin();
  send_prompt(index);
  if (part.usage.completion == 0) release_siblings(index);
  std::vector<OutputEvent> events;
  part.output->finish(&events);
  add_events(index, events, nullptr);
  // Reasoning that was not closed is all that there is.
  if (part.usage.reasoning > 0 && !part.has_content) part.usage.reasoning = part.usage.completion;
  EndReason reason = EndReason::kStop;
  if (part.output->stopped_by_string())
    reason = EndReason::kStopString;
  else if (outcome.finish != serving::Finish::kStop)
    reason = EndReason::kLength;
  send(answer_->end_choice(index, reason, part.output->stop_string()));
  return std::nullopt;
}

void GenerationJob::finished(size_t index, const serving::Outcome& outcome) {
  Lock lock(mutex_);
  Part& part = parts_[index];
  part.ended = true;
  --running_;
  if (over_) return;
  if (queue_ms_ == 0) queue_ms_ = outcome.queue_ms;
  context_.metrics.queue().observe(outcome.queue_ms / 1000);
  if (const MaybeProblem problem = end_part(index, outcome)) return fail(std::move(lock), *problem);
  if (++ended_ == parts_.size()) return finish();
  must_resume_ = false;
  if (waiting_.empty()) return;
  lock.unlock();
  context_.pool.post_always([job = shared_from_this()] { job->resume(); });
}

void GenerationJob::finish() {
  over_ = true;
  note_end("done", 200);  // first, so that who has the answer finds it in the figures
  const Usage usage = total();
  if (request_.stream) {
    call_.exchange->write(answer_->end(usage));
    call_.exchange->end();
  } else {
    std::string body = json::dump(answer_->whole(usage));
    if (!begun_) {
      call_.exchange->respond(200, {{"Content-Type", "application/json"}}, std::move(body));
    } else {
      call_.exchange->write(body);
      call_.exchange->end();
    }
  }
}

void GenerationJob::note_end(const char* how, int status) {
  const double seconds = seconds_since(call_.arrival);
  const Usage usage = total();
  context_.metrics.count_answer(call_.route, status);
  if (status == 200) context_.metrics.end_to_end().observe(seconds);
  if (context_.options.trace)
    context_.options.trace({std::chrono::duration<double>(call_.arrival - context_.started).count(),
                            usage.prompt, usage.cached, usage.completion,
                            request_.request.max_tokens});
  if (!context_.options.log) return;
  json::Value entry;
  entry.set("event", "request");
  entry.set("request_id", call_.request.id);
  entry.set("route", call_.route);
  entry.set("status", status);
  entry.set("end", how);
  entry.set("client", call_.client);
  entry.set("stream", request_.stream);
  entry.set("prompt_tokens", usage.prompt);
  entry.set("cached_tokens", usage.cached);
  entry.set("completion_tokens", usage.completion);
  entry.set("queue_ms", queue_ms_);
  entry.set("ttft_ms", ttft_ms_);
  entry.set("total_ms", seconds * 1000);
  context_.options.log(entry);
}

}  // namespace trine::server
