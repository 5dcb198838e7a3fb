#include "server/api_context.h"

#include <algorithm>

#include "server/generation_job.h"

namespace trine::server {

void ApiContext::watch(const std::shared_ptr<GenerationJob>& job) {
  const std::lock_guard<std::mutex> lock(watched_mutex);
  watched.push_back(job);
}

void ApiContext::keep_jobs_alive() {
  std::vector<std::shared_ptr<GenerationJob>> late;
  {
    const std::lock_guard<std::mutex> lock(watched_mutex);
    std::erase_if(watched, [](const auto& job) { return job.expired(); });
    for (const std::weak_ptr<GenerationJob>& weak : watched) {
      std::shared_ptr<GenerationJob> job = weak.lock();
      // One tick of the clock before the time is over.
      if (job != nullptr && std::chrono::steady_clock::now() - job->call().arrival >
                                options.keep_alive - std::chrono::milliseconds(1500))
        late.push_back(std::move(job));
    }
  }
  for (const std::shared_ptr<GenerationJob>& job : late) job->keep_alive();
}

RequestRules rules_of(const ApiContext& context) {
  RequestRules rules;
  rules.vocab_size = context.service.vocab_size();
  rules.n_max = context.options.n_max;
  rules.vendor_strict = context.options.vendor_strict;
  rules.temperature = context.options.temperature;
  rules.top_p = context.options.top_p;
  return rules;
}

void respond(ApiContext& context, const Call& call, int status, const json::Value& body,
             http::Headers headers) {
  headers.add("Content-Type", "application/json");
  context.metrics.count_answer(call.route, status);
  call.exchange->respond(status, std::move(headers), json::dump(body));
}

void refuse(ApiContext& context, const Call& call, const Problem& problem) {
  http::Headers headers;
  if (problem.retry_after > 0) headers.add("Retry-After", std::to_string(problem.retry_after));
  if (!problem.allow.empty()) headers.add("Allow", problem.allow);
  if (problem.status == 401) headers.add("WWW-Authenticate", "Bearer");
  const auto answer = [&] {
    respond(context, call, problem.status,
            call.anthropic ? anthropic_error(problem, call.request.id) : openai_error(problem),
            std::move(headers));
  };
  if (!context.options.log) return answer();
  // The message may quote the request: it is for the client only.
  json::Value entry;
  entry.set("event", "refused");
  entry.set("request_id", call.request.id);
  entry.set("route", call.route);
  entry.set("status", problem.status);
  entry.set("code", problem.code);
  entry.set("client", call.client);
  context.options.log(entry);
  answer();
}

MaybeProblem parse_body(const Call& call, json::Value* out) {
  Result<json::Value> body = json::parse(call.request.body, "body");
  if (!body.ok()) {
    Problem problem = {400, body.status().message(), "", "invalid_json", 0};
    return problem;
  }
  if (!body->is_object())
    return Problem{400, "body: expected a JSON object", "", "invalid_json", 0};
  *out = *std::move(body);
  return std::nullopt;
}

MaybeProblem check_model(const ApiContext& context, const std::string& model) {
  const std::vector<std::string>& names = context.options.model_names;
  if (model.empty() || std::find(names.begin(), names.end(), model) != names.end())
    return std::nullopt;
  return not_found(
      "model: found " + json::quote(model) + ", this server has " + json::quote(names.front()),
      "model", "model_not_found");
}

std::string model_name(const ApiContext& context, const std::string& asked) {
  return asked.empty() ? context.options.model_names.front() : asked;
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace trine::server
