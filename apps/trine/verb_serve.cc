// trine serve: the server, until SIGTERM or Ctrl-C. Options come from the command line, from the
// environment (TRINE_SERVE_PORT for --port) and from a file (--config), in this order.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "common.h"
#include "model_options.h"
#include "number_options.h"
#include "progress.h"
#include "trine/page/page.h"
#include "trine/server.h"
#include "verbs.h"

namespace trine::cli {
namespace {

volatile std::sig_atomic_t g_signal = 0;

// The first asks for a drain, the second ends the process.
extern "C" void on_signal(int signal) {
  if (g_signal != 0) ::_exit(128 + signal);
  g_signal = signal;
}

struct ServeVerb {
  ModelOptions model;
  ServerOptions server;
  std::string config;
  std::string log_file;
  std::string request_log_file;
  double drain_s = 30;
};

// Lines to a file or stderr, from several threads.
class LineWriter {
 public:
  // "-" is stderr, "" nothing.
  Status open(const std::string& path) {
    if (path.empty() || path == "-") return Status();
    file_.open(path, std::ios::app);
    if (!file_) return {Code::kIo, path + ": cannot be opened for writing"};
    return Status();
  }
  std::function<void(const std::string&)> callback(const std::string& path) {
    if (path.empty()) return {};
    return [this, to_stderr = path == "-"](const std::string& line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::ostream& out = to_stderr ? std::cerr : file_;
      out << line << "\n" << std::flush;
    };
  }

 private:
  std::mutex mutex_;
  std::ofstream file_;
};

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// One line "name = value" of the file: an option that was given elsewhere stays as it is.
std::string apply_line(CLI::App* verb, const std::string& line) {
  const size_t equals = line.find('=');
  const std::string name = trimmed(line.substr(0, equals));
  CLI::Option* option = verb->get_option_no_throw("--" + name);
  if (option == nullptr || name == "config" || name == "help") return "no option --" + name;
  if (option->count() > 0) return "";
  const bool is_flag = option->get_expected_min() == 0;
  const std::string value = equals == std::string::npos ? "true" : trimmed(line.substr(equals + 1));
  if (equals == std::string::npos && !is_flag) return "--" + name + " needs a value";
  try {
    option->add_result(value);
    option->run_callback();
  } catch (const CLI::Error& error) {
    return error.what();
  }
  return "";
}

int apply_config(CLI::App* verb, const std::string& path) {
  const Result<std::string> text = read_input(path);
  if (!text.ok()) return fail(text.status());
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line[0] == '#' || line[0] == ';' || line[0] == '[') continue;
    const std::string problem = apply_line(verb, line);
    if (!problem.empty())
      return fail_usage("serve", path + ": line " + std::to_string(number) + ": " + problem);
  }
  return kDone;
}

// TRINE_SERVE_MAX_TOKENS for --max-tokens.
void name_environment(CLI::App* verb) {
  for (CLI::Option* option : verb->get_options()) {
    std::string name = option->get_single_name();
    if (name == "help" || name == "isa") continue;  // TRINE_ISA is read by the option itself
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    option->envname("TRINE_SERVE_" + name);
  }
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

int serve_until_signal(Server* server, double drain_s, bool quiet) {
  while (g_signal == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (!quiet)
    std::cerr << "trine: ending; running answers have " << drain_s
              << " s, a second signal ends at once\n";
  if (!server->drain(drain_s) && !quiet) std::cerr << "trine: some answers were cut\n";
  return kDone;
}

int serve(CLI::App* verb, ServeVerb* options) {
  if (!options->config.empty())
    if (const int code = apply_config(verb, options->config); code != kDone) return code;
  if (const int code = check_model_options(options->model); code != kDone) return code;
  ServerOptions& server = options->server;
  server.load = options->model.load;
  server.context = options->model.load.context;
  server.version = TRINE_VERSION;
  server.pages = {{"/", "text/html; charset=utf-8", page_html()}};
  LineWriter log;
  LineWriter requests;
  for (const auto& [writer, path] :
       {std::pair{&log, &options->log_file}, std::pair{&requests, &options->request_log_file}})
    if (const Status opened = writer->open(*path); !opened.ok()) return fail(opened);
  server.log = log.callback(options->log_file);
  server.request_log = requests.callback(options->request_log_file);

  struct sigaction action = {};
  action.sa_handler = on_signal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  const bool quiet = options->model.quiet;
  Progress loading("loading", Unit::kBytes, quiet);
  server.load.progress = [&](int64_t done, int64_t total) { loading.update(done, total); };
  Result<Server> started = Server::start(options->model.folder, server);
  loading.clear();
  if (!started.ok()) return fail(started.status(), Blame::kOptions);
  if (!quiet) {
    std::cerr << started->description();
    if (!is_loopback(server.host) && server.api_keys.empty() && server.api_key_file.empty())
      std::cerr
          << "trine: warning: others can reach this server and need no key (--api-key-file)\n";
  }
  return serve_until_signal(&*started, options->drain_s, quiet);
}

constexpr double kSecondsMax = 1e6;

void add_network_options(CLI::App* verb, ServerOptions* server) {
  const std::string group = "Network";
  verb->add_option("--host", server->host,
                   "Address to listen on; other than loopback lets others in")
      ->capture_default_str()
      ->group(group);
  add_integer(verb, "--port", &server->port, "Port; 0: any free one", {.max = 65535})->group(group);
  verb->add_option("--tls-certificate", server->tls_certificate, "PEM file; with --tls-key: https")
      ->group(group);
  verb->add_option("--tls-key", server->tls_key, "PEM file of the certificate's key")->group(group);
  verb->add_option("--cors-origin", server->cors_origins,
                   "Origin whose pages may use the server, or *; may be given again")
      ->group(group);
  add_integer(verb, "--connections-max", &server->connections_max, "Open connections at most",
              {.min = 1, .max = 1 << 20})
      ->group(group);
  add_integer(verb, "--header-bytes-max", &server->header_bytes_max, "Bytes of a request's header",
              {.min = 1024, .units = "KM"})
      ->group(group);
  add_integer(verb, "--body-bytes-max", &server->body_bytes_max, "Bytes of a request's body",
              {.min = 1024, .units = "KMG"})
      ->group(group);
  add_real(verb, "--idle-timeout", &server->idle_timeout_s, "Seconds between requests", 0.1,
           kSecondsMax)
      ->group(group);
  add_real(verb, "--keep-alive", &server->keep_alive_s,
           "A client that waits hears something at least every so many seconds", 1, kSecondsMax)
      ->group(group);
}

void add_engine_options(CLI::App* verb, ServerOptions* server) {
  const std::string group = "Engine";
  add_integer(verb, "--concurrency", &server->concurrency, "Requests at once",
              {.min = 1, .max = 4096})
      ->default_str("16")
      ->group(group);
  add_integer(verb, "--memory", &server->memory_bytes,
              "Bytes of the whole process at most, e.g. 64G (default: what is available)",
              {.min = 1, .units = "KMGT"})
      ->default_str("")
      ->group(group);
  add_integer(verb, "--snapshot-memory", &server->snapshot_bytes,
              "Bytes for prefix reuse (default: two snapshots for each of --concurrency)",
              {.units = "KMGT"})
      ->default_str("")
      ->group(group);
  add_integer(verb, "--snapshot-spacing", &server->snapshot_spacing,
              "Tokens between the snapshots of a long prompt", {.min = 64})
      ->group(group);
  verb->add_option("--snapshot-dir", server->snapshot_dir,
                   "Folder for snapshots that memory cannot hold; survives a restart")
      ->group(group);
  add_integer(verb, "--snapshot-dir-bytes", &server->snapshot_dir_bytes, "Bytes of that folder",
              {.min = 1, .units = "KMGT"})
      ->group(group);
  add_integer(verb, "--queue", &server->queue_max, "Requests that wait before a 429", {.min = 1})
      ->group(group);
  add_real(verb, "--step-ms", &server->step_ms,
           "Milliseconds of a pass while somebody decodes, about", 1, kSecondsMax)
      ->group(group);
}

void add_request_options(CLI::App* verb, ServerOptions* server) {
  const std::string group = "Requests";
  verb->add_option("--api-key-file", server->api_key_file, "Keys, one a line; without: everybody")
      ->group(group);
  verb->add_option("--api-key", server->api_keys,
                   "A key (others can see it in the list of processes); may be given again")
      ->group(group);
  add_integer(verb, "--requests-per-key", &server->requests_per_key_max,
              "Running requests of one key at most; 0: no limit", {})
      ->group(group);
  add_integer(verb, "--prompt-tokens-max", &server->prompt_tokens_max,
              "Tokens of a prompt at most; 0: what the context allows", {})
      ->group(group);
  add_integer(verb, "--n-max", &server->n_max, "Answers of one request at most",
              {.min = 1, .max = 1024})
      ->group(group);
  add_real(verb, "--request-timeout", &server->request_timeout_s,
           "Seconds from arrival to the end of an answer; 0: no limit", 0, kSecondsMax)
      ->group(group);
  add_integer(verb, "--max-tokens", &server->default_max_tokens,
              "Tokens of an answer whose request does not say", {.min = 1})
      ->group(group);
  verb->add_option("--model-name", server->model_names,
                   "Name in the API (default: the folder's); may be given again")
      ->group(group);
  add_real(verb, "--temperature", &server->temperature, "Of requests that do not say", 0, 2)
      ->group(group);
  add_real(verb, "--top-p", &server->top_p, "Of requests that do not say", 1e-6, 1)->group(group);
  verb->add_flag("--vendor-strict", server->vendor_strict,
                 "Refuse other sampling than the vendor's service has (temperature 1, top_p 0.95)")
      ->group(group);
  verb->add_flag("--usage-counts-stub", server->usage_counts_stub,
                 "Count the last tag of the generation prompt in prompt_tokens")
      ->group(group);
  add_integer(verb, "--api-threads", &server->api_threads, "Threads that parse and render",
              {.min = 1, .max = 64})
      ->group(group);
}

}  // namespace

void add_serve(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<ServeVerb>();
  CLI::App* verb = app->add_subcommand("serve", "Serve the OpenAI and Anthropic APIs over HTTP");
  verb->group(kUseGroup);
  add_model_options(verb, &options->model);
  add_network_options(verb, &options->server);
  add_engine_options(verb, &options->server);
  add_request_options(verb, &options->server);
  verb->add_option("--log", options->log_file, "File for events as JSON lines; - is stderr");
  verb->add_option("--log-requests", options->request_log_file,
                   "File for arrival times and token counts, a trace that bench can replay");
  add_real(verb, "--drain", &options->drain_s, "Seconds for running answers after SIGTERM", 0,
           kSecondsMax);
  name_environment(verb);
  verb->add_option("--config", options->config,
                   "File with lines \"port = 8080\"; the command line and TRINE_SERVE_PORT win");
  verb->footer(
      "Every option may come from the environment: TRINE_SERVE_PORT is --port.\n"
      "Example:\n"
      "  trine serve models/k3-nano --port 8080 --concurrency 4 --context 4096");
  set_action(verb, exit_code, [verb, options] { return serve(verb, options.get()); });
}

}  // namespace trine::cli
