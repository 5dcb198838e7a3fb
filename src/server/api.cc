// Routing: which handler, by which thread, for whom.
#include "server/api.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <thread>

#include "server/generation_job.h"
#include "server/routes.h"

namespace trine::server {
namespace {

// Does the path fit, with {id} for one segment or more (names of models may have slashes)?
bool fits(std::string_view pattern, std::string_view path) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == path;
  return path.size() > brace && path.substr(0, brace) == pattern.substr(0, brace);
}

std::string allowed_methods(std::string_view path) {
  std::string out;
  for (const Route& route : routes())
    if (fits(route.path, path)) out += (out.empty() ? "" : ", ") + std::string(route.method);
  return out;
}

bool is_anthropic(const http::Request& request) {
  return request.path.starts_with("/v1/messages") ||
         request.headers.find("anthropic-version") != nullptr;
}

}  // namespace

class Api::Impl {
 public:
  Impl(const Tokenizer& tokenizer, serving::Service& service, ApiOptions options)
      : context(tokenizer, service, std::move(options)), ticker_([this] { tick(); }) {}
  ~Impl() { stop(); }

  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  void stop();

  ApiContext context;

 private:
  const Route* find_route(const Call& call, std::optional<Problem>* problem) const;
  bool serve_page(const Call& call);
  void tick();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread ticker_;  // last: it uses the others
};

const Route* Api::Impl::find_route(const Call& call, std::optional<Problem>* problem) const {
  // A HEAD is a GET whose body the front leaves out.
  const std::string method = call.request.method == "HEAD" ? "GET" : call.request.method;
  const std::string& path = call.request.path;
  bool is_known = false;
  for (const Route& route : routes()) {
    if (!fits(route.path, path)) continue;
    is_known = true;
    if (method == route.method) return &route;
  }
  if (is_known)
    *problem =
        Problem{405, call.request.method + " is not used here; " + allowed_methods(path) + " is",
                "",  "method_not_allowed",
                0,   allowed_methods(path)};
  else
    *problem = not_found("there is nothing at " + json::quote(path), "", "not_found");
  return nullptr;
}

bool Api::Impl::serve_page(const Call& call) {
  if (call.request.method != "GET" && call.request.method != "HEAD") return false;
  for (const Page& page : context.options.pages) {
    if (page.path != call.request.path) continue;
    call.exchange->respond(200, {{"Content-Type", page.content_type}}, page.body);
    return true;
  }
  return false;
}

void Api::Impl::handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  Call call;
  call.arrival = std::chrono::steady_clock::now();
  call.request = std::move(request);
  call.exchange = std::move(exchange);
  call.anthropic = is_anthropic(call.request);
  call.route = "other";
  if (serve_page(call)) return;
  std::optional<Problem> problem;
  const Route* route = find_route(call, &problem);
  if (route != nullptr) call.route = std::string(route->path);
  if ((route == nullptr || !route->open) &&
      !context.access.admit(call.request.headers, &call.client))
    return refuse(context, call,
                  {401, "a valid key is needed: Authorization: Bearer KEY, or x-api-key: KEY", "",
                   "invalid_api_key", 0});
  if (route == nullptr) return refuse(context, call, *problem);
  if (route->generates) {
    if (context.draining)
      return refuse(context, call, {503, "the server is shutting down", "", "shutting_down", 1});
    call.running = context.access.begin(call.client);
    if (call.running == nullptr)
      return refuse(context, call,
                    {429,
                     "this key has " + std::to_string(context.access.running_per_client_max()) +
                         " requests running, as many as it may",
                     "", "too_many_requests", 1});
  }
  if (route->quick) return route->serve(context, std::move(call));
  const auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = context.pool.post([this, route, shared] {
    if (!shared->exchange->closed()) route->serve(context, std::move(*shared));
  });
  if (!taken)
    refuse(context, *shared, {429, "the server is busy; try again later", "", "server_busy", 1});
}

// Whole answers that take long are begun in time, so that the client hears something.
void Api::Impl::tick() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; }))
    context.keep_jobs_alive();
}

void Api::Impl::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  context.pool.stop();
}

Api::Api(const Tokenizer& tokenizer, serving::Service& service, ApiOptions options)
    : impl_(std::make_unique<Impl>(tokenizer, service, std::move(options))) {}
Api::~Api() = default;

void Api::handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  impl_->handle(std::move(request), std::move(exchange));
}
void Api::drain() { impl_->context.draining = true; }
void Api::stop() { impl_->stop(); }

}  // namespace trine::server
