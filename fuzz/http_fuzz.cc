// HTTP: any bytes give well-formed answers or none, the same however they are cut, and leave
// nothing behind. The first byte chooses how the input is cut and whether the peer ends.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "http/connection.h"
#include "support/memory_transport.h"

namespace {

using trine::http::Connection;
using trine::http::Context;
using trine::http::Exchange;
using trine::http::Headers;
using trine::http::Options;
using trine::http::Request;
using trine::testing::MemoryLoop;
using trine::testing::MemoryPeer;
using trine::testing::MemoryTransport;

void require(bool holds) {
  if (!holds) std::abort();
}

Options small_limits() {
  Options options;
  options.header_bytes_max = 2'000;
  options.target_bytes_max = 500;
  options.header_fields_max = 20;
  options.body_bytes_max = 3'000;
  options.body_bytes_total_max = 2'500;
  options.write_buffer_bytes_max = 4'000;
  options.cors_origins = {"https://a.example"};
  return options;
}

void check_request(const Request& request) {
  const Options limits = small_limits();
  require(static_cast<int64_t>(request.body.size()) <= limits.body_bytes_max);
  require(static_cast<int64_t>(request.target.size()) <= limits.target_bytes_max);
  require(static_cast<int64_t>(request.headers.size()) <= limits.header_fields_max);
  require(request.path.find('\0') == std::string::npos);
  require(request.headers.count("Host") <= 1);
  require(request.headers.count("Content-Length") + request.headers.count("Transfer-Encoding") <=
          1);
  for (const auto& [name, value] : request.headers) {
    require(!name.empty() && name.find_first_of(" \t\r\n:") == std::string::npos);
    require(value.find_first_of(std::string("\r\n\0", 3)) == std::string::npos);
  }
}

// What requests were understood, and what was answered but for dates and identifiers.
struct Outcome {
  std::string requests;
  std::vector<std::string> statuses;
  bool operator==(const Outcome&) const = default;
};

std::vector<std::string> statuses_of(const std::string& answers) {
  std::vector<std::string> out;
  const std::string mark = "HTTP/1.1 ";
  for (size_t at = answers.find(mark); at != std::string::npos; at = answers.find(mark, at + 1)) {
    out.push_back(answers.substr(at + mark.size(), 3));
  }
  return out;
}

// Answers without any byte of the request in them, so that statuses can be counted.
void answer(const Request& request, Exchange& exchange) {
  if (request.method == "GET") {
    exchange.begin(200, {{"Content-Type", "text/plain"}});
    exchange.write("streamed");
    exchange.end();
  } else {
    exchange.respond(200, {{"Content-Type", "text/plain"}}, "whole");
  }
}

Outcome run(const std::string& input, size_t step, bool ends) {
  Outcome outcome;
  const auto context = std::make_shared<Context>(
      small_limits(), [&](const Request& request, const std::shared_ptr<Exchange>& exchange) {
        check_request(request);
        outcome.requests += request.method + " " + request.target + " " + request.body + "\n";
        answer(request, *exchange);
      });
  const auto loop = std::make_shared<MemoryLoop>();
  const auto peer = std::make_shared<MemoryPeer>();
  require(context->admit("fuzz") == Context::Admission::kYes);
  bool is_gone = false;
  auto connection = std::make_shared<Connection>(
      context, loop, std::make_unique<MemoryTransport>(*loop, peer), "fuzz", [&](Connection*) {
        require(!is_gone);
        is_gone = true;
        context->leave("fuzz");
      });
  connection->start(std::nullopt);
  loop->run();
  for (size_t at = 0; at < input.size(); at += step) {
    peer->send(input.substr(at, step));
    loop->run();
  }
  if (ends) peer->end();
  loop->pass(std::chrono::minutes(5));  // every limit has passed: nothing may be open
  require(is_gone && peer->is_closed);
  const auto stats = context->stats();
  require(stats.connections_open == 0 && stats.body_bytes == 0);
  outcome.statuses = statuses_of(peer->from_server);
  // An interim answer depends on whether the body had come.
  std::erase(outcome.statuses, "100");
  for (const std::string& status : outcome.statuses) {
    require(status[0] != '5' || status == "505" || status == "503");  // 503: the sum of bodies
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 20'000) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t step = 1 + data[0] / 2;
  const bool ends = data[0] % 2 == 1;
  const Outcome whole = run(input, input.size() + 1, ends);
  const Outcome cut = run(input, step, ends);
  require(whole == cut);
  return 0;
}
