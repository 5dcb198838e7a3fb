// A server for one model: HTTP, the OpenAI and Anthropic APIs, continuous batching, prefix reuse.
//
//   auto server = trine::Server::start("models/k3-nano", {});
//   std::cerr << server->description();
//   ... server->port() ...
//   server->drain(30);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trine/model.h"
#include "trine/status.h"

namespace trine {

/// A file of a web page, served at GET path.
struct ServerPage {
  std::string path;
  std::string content_type;
  std::string body;
};

struct ServerOptions {
  // The engine. load.context and load.sequences are ignored: these are they.
  LoadOptions load;
  int64_t context = 0;              ///< tokens of a request, prompt and answer; 0 = 16384
  int64_t concurrency = 0;          ///< requests at once; 0 = 16
  int64_t snapshot_bytes = -1;      ///< for prefix reuse; -1 = two slots per concurrent request
  int64_t memory_bytes = 0;         ///< all of the process; 0 = what is available
  int64_t queue_max = 256;          ///< requests that wait before a 429
  int64_t snapshot_spacing = 1024;  ///< tokens between snapshots of a long prompt
  double step_ms = 500;             ///< a pass takes about that at most while somebody decodes
  std::string snapshot_dir;         ///< file tier of snapshots; empty: none
  int64_t snapshot_dir_bytes = int64_t{16} << 30;

  // The network.
  std::string host = "127.0.0.1";
  int port = 8080;  ///< 0 = any free one
  std::string tls_certificate;
  std::string tls_key;
  std::vector<std::string> cors_origins;
  int64_t connections_max = 512;
  int64_t header_bytes_max = 32 * 1024;
  int64_t body_bytes_max = int64_t{32} << 20;
  int64_t write_buffer_bytes_max = int64_t{1} << 20;  ///< unsent bytes of one stream
  double idle_timeout_s = 75;
  double keep_alive_s = 10;  ///< a client that waits hears something at least that often

  // Who may ask for what.
  std::vector<std::string> api_keys;  ///< empty: everybody
  std::string api_key_file;           ///< one key a line, # for remarks; beside api_keys
  int64_t requests_per_key_max = 0;   ///< running ones; 0 = no limit
  int64_t prompt_tokens_max = 0;      ///< 0 = what the context allows
  int64_t n_max = 16;
  double request_timeout_s = 0;  ///< from arrival to the end; 0 = none

  // What requests mean.
  std::vector<std::string> model_names;  ///< empty: the folder's name
  int64_t default_max_tokens = 4096;
  float temperature = 1.0f;
  float top_p = 0.95f;
  bool vendor_strict = false;      ///< sampling is fixed as the vendor's own service has it
  bool usage_counts_stub = false;  ///< count the generation prompt's last tag as prompt
  int api_threads = 2;

  std::string version = "0";
  std::vector<ServerPage> pages;
  /// One JSON object a line for each event; neither text of requests nor keys.
  std::function<void(const std::string& line)> log;
  /// One JSON object a line for each generation: arrival and token counts, a trace for trine bench.
  std::function<void(const std::string& line)> request_log;
};

class Server {
 public:
  /// Loads the model, then opens the port. Errors name what is wrong and what to do.
  static Result<Server> start(const std::string& folder, ServerOptions options);
  /// Cuts what is still running.
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  int port() const;
  /// What was decided at start: memory, slots, address. Several lines.
  const std::string& description() const;
  /// Takes nothing new and lets running answers end, for at most that many seconds. Whether all
  /// did. May be called from any thread.
  bool drain(double seconds);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace trine
