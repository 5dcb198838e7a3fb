// Routes about the server itself.
#include <array>
#include <ctime>

#include "server/chat_request.h"
#include "server/fields.h"
#include "server/messages_request.h"
#include "server/responses_request.h"
#include "server/routes.h"

namespace trine::server {
namespace {

using json::Value;

constexpr std::string_view kModelsPath = "/v1/models/";

std::string iso_time(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  std::array<char, 32> text = {};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

// OpenAI's words and Anthropic's in one object.
Value model_object(const ApiContext& context, const std::string& name) {
  const int64_t age = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::steady_clock::now() - context.started)
                          .count();
  const int64_t created = unix_seconds() - age;
  Value out;
  out.set("id", name);
  out.set("object", "model");
  out.set("created", created);
  out.set("owned_by", "trine");
  out.set("type", "model");
  out.set("display_name", name);
  out.set("created_at", iso_time(created));
  out.set("max_model_len", context.service.context());
  return out;
}

Value status_object(const char* status) {
  Value out;
  out.set("status", status);
  return out;
}

constexpr auto kRoutes = std::to_array<Route>({
    {.method = "POST",
     .path = "/v1/chat/completions",
     .serve = serve_chat,
     .generates = true,
     .body = &kChatRequest,
     .summary = "Chat (OpenAI)"},
    {.method = "POST",
     .path = "/v1/completions",
     .serve = serve_completions,
     .generates = true,
     .body = &kCompletionRequest,
     .summary = "Text completion (OpenAI)"},
    {.method = "POST",
     .path = "/v1/responses",
     .serve = serve_responses,
     .generates = true,
     .body = &kResponsesRequest,
     .summary = "Responses (OpenAI)"},
    {.method = "POST",
     .path = "/v1/messages",
     .serve = serve_messages,
     .generates = true,
     .body = &kMessagesRequest,
     .summary = "Messages (Anthropic)"},
    {.method = "POST",
     .path = "/v1/messages/count_tokens",
     .serve = serve_count_tokens,
     .body = &kCountTokensRequest,
     .summary = "Tokens of a prompt (Anthropic)"},
    {.method = "GET",
     .path = "/v1/models",
     .serve = serve_models,
     .quick = true,
     .summary = "The models that are served"},
    {.method = "GET",
     .path = "/v1/models/{id}",
     .serve = serve_model,
     .quick = true,
     .summary = "One of them"},
    {.method = "POST",
     .path = "/tokenize",
     .serve = serve_tokenize,
     .body = &kTokenizeRequest,
     .summary = "Text to token ids"},
    {.method = "POST",
     .path = "/detokenize",
     .serve = serve_detokenize,
     .body = &kDetokenizeRequest,
     .summary = "Token ids to text"},
    {.method = "GET",
     .path = "/tokenizer_info",
     .serve = serve_tokenizer_info,
     .quick = true,
     .summary = "What the tokenizer is"},
    {.method = "POST",
     .path = "/render",
     .serve = serve_render,
     .body = &kChatRequest,
     .summary = "The prompt of a chat request"},
    {.method = "GET",
     .path = "/health",
     .serve = serve_health,
     .quick = true,
     .open = true,
     .summary = "200 once requests can be answered"},
    {.method = "GET",
     .path = "/ready",
     .serve = serve_ready,
     .quick = true,
     .open = true,
     .summary = "200 while new requests are welcome"},
    {.method = "GET",
     .path = "/version",
     .serve = serve_version,
     .quick = true,
     .open = true,
     .summary = "The version"},
    {.method = "GET",
     .path = "/metrics",
     .serve = serve_metrics,
     .summary = "Figures for Prometheus"},
    {.method = "POST",
     .path = "/cache/flush",
     .serve = serve_flush,
     .summary = "Forget all prefixes that no request uses"},
    {.method = "GET",
     .path = "/openapi.json",
     .serve = serve_openapi,
     .open = true,
     .summary = "This description"},
});

}  // namespace

std::span<const Route> routes() { return kRoutes; }

void serve_models(ApiContext& context, Call call) {
  Value data = Value::array();
  for (const std::string& name : context.options.model_names)
    data.push(model_object(context, name));
  Value out;
  out.set("object", "list");
  out.set("data", std::move(data));
  out.set("has_more", false);
  out.set("first_id", context.options.model_names.front());
  out.set("last_id", context.options.model_names.back());
  respond(context, call, 200, out);
}

void serve_model(ApiContext& context, Call call) {
  const std::string name = call.request.path.substr(kModelsPath.size());
  if (const MaybeProblem problem = check_model(context, name))
    return refuse(context, call, *problem);
  respond(context, call, 200, model_object(context, name));
}

void serve_health(ApiContext& context, Call call) {
  respond(context, call, 200, status_object("ok"));
}

void serve_ready(ApiContext& context, Call call) {
  const serving::Gauges gauges = context.service.gauges();
  if (context.draining) return respond(context, call, 503, status_object("draining"));
  if (gauges.queue_limit > 0 && gauges.waiting >= gauges.queue_limit)
    return respond(context, call, 503, status_object("queue is full"));
  respond(context, call, 200, status_object("ready"));
}

void serve_version(ApiContext& context, Call call) {
  Value out;
  out.set("version", context.options.version);
  respond(context, call, 200, out);
}

void serve_metrics(ApiContext& context, Call call) {
  const http::Stats http =
      context.options.http_stats ? context.options.http_stats() : http::Stats();
  call.exchange->respond(
      200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
      context.metrics.text(context.service.gauges(), context.service.counters(), http));
}

void serve_flush(ApiContext& context, Call call) {
  context.service.flush_cache();
  respond(context, call, 200, status_object("flushed"));
}

void serve_openapi(ApiContext& context, Call call) {
  respond(context, call, 200, openapi(context.options));
}

}  // namespace trine::server
