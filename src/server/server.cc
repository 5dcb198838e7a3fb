// A whole server put together: model service, api and HTTP front, in the order in which they must
// start and end.
#include "trine/server.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/try.h"
#include "http/server.h"
#include "platform/file.h"
#include "server/access.h"
#include "server/api.h"
#include "serving/model_service.h"
#include "trine/tokenizer.h"

namespace trine {
namespace {

using std::chrono::milliseconds;

milliseconds as_milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(seconds * 1000));
}

serving::ModelServiceOptions service_options(const ServerOptions& options) {
  serving::ModelServiceOptions out;
  out.load = options.load;
  out.memory.context = options.context;
  out.memory.concurrency = options.concurrency;
  out.memory.snapshot_bytes = options.snapshot_bytes;
  out.memory.memory_bytes = options.memory_bytes;
  out.queue_max = options.queue_max;
  out.snapshot_spacing = options.snapshot_spacing;
  out.step_ms = options.step_ms;
  out.snapshot_dir = options.snapshot_dir;
  out.snapshot_dir_bytes = options.snapshot_dir_bytes;
  if (options.log) {
    out.admitted = [log = options.log](const serving::Admission& admission) {
      json::Value entry;
      entry.set("event", "admitted");
      entry.set("id", admission.id);
      entry.set("prompt_tokens", admission.prompt_tokens);
      entry.set("cached_tokens", admission.cached_tokens);
      entry.set("prefix", admission.reason);
      log(json::dump(entry));
    };
  }
  return out;
}

http::Options http_options(const ServerOptions& options) {
  http::Options out;
  out.host = options.host;
  out.port = options.port;
  out.tls_certificate_file = options.tls_certificate;
  out.tls_key_file = options.tls_key;
  out.cors_origins = options.cors_origins;
  out.connections_max = options.connections_max;
  out.header_bytes_max = options.header_bytes_max;
  out.body_bytes_max = options.body_bytes_max;
  out.write_buffer_bytes_max = options.write_buffer_bytes_max;
  out.idle_timeout = as_milliseconds(options.idle_timeout_s);
  return out;
}

constexpr int64_t kKeyFileBytesMax = 1 << 20;

std::string folder_name(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::weakly_canonical(folder, ignored);
  const std::string name = path.filename().string();
  return name.empty() ? "trine" : name;
}

Status add_keys(ServerOptions* options) {
  for (const std::string& key : options->api_keys)
    if (key.empty()) return {Code::kInvalidArgument, "api keys: one is empty"};
  if (options->api_key_file.empty()) return Status();
  Result<std::string> text = read_file(options->api_key_file, kKeyFileBytesMax);
  if (!text.ok()) return text.status();
  TRINE_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                         server::parse_keys(*text, options->api_key_file));
  options->api_keys.insert(options->api_keys.end(), keys.begin(), keys.end());
  return Status();
}

server::ApiOptions api_options(const ServerOptions& options) {
  server::ApiOptions out;
  out.model_names = options.model_names;
  out.version = options.version;
  out.temperature = options.temperature;
  out.top_p = options.top_p;
  out.vendor_strict = options.vendor_strict;
  out.usage_counts_stub = options.usage_counts_stub;
  out.default_max_tokens = options.default_max_tokens;
  out.prompt_tokens_max = options.prompt_tokens_max;
  out.n_max = options.n_max;
  out.keys = options.api_keys;
  out.running_per_client_max = options.requests_per_key_max;
  out.threads = options.api_threads;
  out.request_timeout = as_milliseconds(options.request_timeout_s);
  out.keep_alive = as_milliseconds(options.keep_alive_s);
  for (const ServerPage& page : options.pages)
    out.pages.push_back({page.path, page.content_type, page.body});
  if (options.log) out.log = [log = options.log](const json::Value& v) { log(json::dump(v)); };
  if (options.request_log) {
    out.trace = [log = options.request_log](const server::RequestTrace& trace) {
      json::Value entry;
      entry.set("arrival_s", trace.arrival_seconds);
      entry.set("prompt_tokens", trace.prompt_tokens);
      entry.set("cached_tokens", trace.cached_tokens);
      entry.set("completion_tokens", trace.completion_tokens);
      entry.set("max_tokens", trace.max_tokens);
      log(json::dump(entry));
    };
  }
  return out;
}

}  // namespace

struct Server::Impl {
  explicit Impl(Tokenizer t) : tokenizer(std::move(t)) {}
  // Sockets first, then the threads that submit, then the service, whose last calls still reach the
  // api.
  ~Impl() {
    if (http) http->stop();
    if (api) api->stop();
    service.reset();
  }

  Tokenizer tokenizer;
  std::unique_ptr<server::Api> api;
  std::unique_ptr<serving::ModelService> service;
  std::unique_ptr<http::Server> http;
  std::atomic<const http::Server*> front{nullptr};  // a request may ask before start() is done
  std::string description;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

Result<Server> Server::start(const std::string& folder, ServerOptions options) {
  TRINE_RETURN_IF_ERROR(add_keys(&options));
  if (options.model_names.empty()) options.model_names = {folder_name(folder)};
  TRINE_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(folder));
  auto impl = std::make_unique<Impl>(std::move(tokenizer));
  TRINE_ASSIGN_OR_RETURN(impl->service,
                         serving::ModelService::start(folder, service_options(options)));
  server::ApiOptions api = api_options(options);
  api.end_tokens = impl->service->end_tokens();
  api.http_stats = [impl = impl.get()] {
    const http::Server* front = impl->front;
    return front == nullptr ? http::Stats() : front->stats();
  };
  impl->api = std::make_unique<server::Api>(impl->tokenizer, *impl->service, std::move(api));
  TRINE_ASSIGN_OR_RETURN(
      impl->http,
      http::Server::start(
          http_options(options),
          [api = impl->api.get()](http::Request request, std::shared_ptr<http::Exchange> exchange) {
            api->handle(std::move(request), std::move(exchange));
          }));
  impl->front = impl->http.get();
  const bool has_keys = !options.api_keys.empty();
  impl->description = serving::describe(impl->service->plan());
  if (!impl->description.ends_with('\n')) impl->description += '\n';
  impl->description += "model      " + options.model_names.front() + "\n";
  impl->description += "keys       " +
                       (has_keys ? std::to_string(options.api_keys.size())
                                 : std::string("none: everybody may ask")) +
                       "\n";
  impl->description += std::string("listening  ") + (impl->http->secure() ? "https" : "http") +
                       "://" + options.host + ":" + std::to_string(impl->http->port()) + "\n";
  return Server(std::move(impl));
}

int Server::port() const { return impl_->http->port(); }

const std::string& Server::description() const { return impl_->description; }

bool Server::drain(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + as_milliseconds(seconds);
  impl_->api->drain();
  const bool all = impl_->http->drain(deadline);
  impl_->service->drain(deadline);
  return all;
}

}  // namespace trine
