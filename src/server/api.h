// Everything between HTTP and tokens: routes, keys, limits, the formats of all APIs, metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/exchange.h"
#include "http/message.h"
#include "http/stats.h"
#include "server/generation.h"
#include "serving/service.h"
#include "trine/tokenizer.h"

namespace trine::server {

/// A file of the web page.
struct Page {
  std::string path;  ///< "/"
  std::string content_type;
  std::string body;
};

/// One generation request in numbers, without text: what `--log-requests` records.
struct RequestTrace {
  double arrival_seconds = 0;  ///< since the server's start
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t max_tokens = 0;
};

struct ApiOptions {
  std::vector<std::string> model_names = {"trine"};  ///< the first is what answers say
  std::string version;
  float temperature = 1.0f;
  float top_p = 0.95f;
  bool vendor_strict = false;
  bool usage_counts_stub = false;  ///< prompt_tokens with the generation prompt's last tag
  int64_t default_max_tokens = 4096;
  int64_t prompt_tokens_max = 0;  ///< 0: what the context allows
  int64_t n_max = 16;
  std::vector<std::string> keys;
  int64_t running_per_client_max = 0;  ///< 0: no limit
  int threads = 2;
  size_t queue_max = 1024;                       ///< requests that wait for these threads
  std::chrono::milliseconds request_timeout{0};  ///< 0: none
  std::chrono::milliseconds keep_alive{10'000};
  std::vector<Page> pages;

  std::vector<int32_t> end_tokens;  ///< beside those of the chat format
  std::function<http::Stats()> http_stats;
  /// One JSON object for each event. Called by several threads.
  std::function<void(const json::Value&)> log;
  std::function<void(const RequestTrace&)> trace;
};

class Api {
 public:
  /// Both must outlive it; the service must have ended all requests before the Api goes.
  Api(const Tokenizer& tokenizer, serving::Service& service, ApiOptions options);
  ~Api();

  /// The handler of the HTTP server: returns at once.
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange);

  /// /ready says no from now on; requests that come are refused with 503.
  void drain();
  /// Ends the threads; what waits for them is dropped.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine::server
