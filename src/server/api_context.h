// What the parts of one Api share.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/access.h"
#include "server/api.h"
#include "server/constraint.h"
#include "server/ids.h"
#include "server/metrics.h"
#include "server/worker_pool.h"

namespace trine::server {

class GenerationJob;

struct ApiContext {
  ApiContext(const Tokenizer& t, serving::Service& s, ApiOptions o)
      : tokenizer(t),
        service(s),
        options(std::move(o)),
        access(options.keys, options.running_per_client_max),
        constraints(tokenizer, options.end_tokens),
        pool(options.threads, options.queue_max) {}

  const Tokenizer& tokenizer;
  serving::Service& service;
  const ApiOptions options;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  Metrics metrics;
  Access access;
  ConstraintMaker constraints;
  IdMaker ids;
  std::atomic<bool> draining{false};
  /// Jobs with whole answers, which keep_jobs_alive looks at.
  void watch(const std::shared_ptr<GenerationJob>& job);
  /// Lets those that have waited long begin.
  void keep_jobs_alive();

  std::mutex watched_mutex;
  std::vector<std::weak_ptr<GenerationJob>> watched;
  WorkerPool pool;  // last: its tasks use the others
};

/// A request on its way, with what is said about it at its end.
struct Call {
  http::Request request;
  std::shared_ptr<http::Exchange> exchange;
  std::string route;  ///< as in metrics: "/v1/models/{id}"
  bool anthropic = false;
  std::string client;  ///< of Access
  std::chrono::steady_clock::time_point arrival;
  std::unique_ptr<Access::Running> running;
};

RequestRules rules_of(const ApiContext& context);

/// Answers with JSON; counts and logs it.
void respond(ApiContext& context, const Call& call, int status, const json::Value& body,
             http::Headers headers = {});
/// The same with a problem, in the words of the call's API.
void refuse(ApiContext& context, const Call& call, const Problem& problem);
/// The body, as JSON.
MaybeProblem parse_body(const Call& call, json::Value* out);
/// A model that is not served is 404.
MaybeProblem check_model(const ApiContext& context, const std::string& model);
/// What answers call the model.
std::string model_name(const ApiContext& context, const std::string& asked);
int64_t unix_seconds();

}  // namespace trine::server
