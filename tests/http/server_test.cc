// The server over real sockets. Nothing here sleeps: what is waited for is an event.
#include "http/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "client.h"

namespace trine::http {
namespace {

using std::chrono::minutes;
using std::chrono::steady_clock;

// A server whose handler answers at once, or keeps the exchange for the test (paths under /keep).
class ServerTest : public ::testing::Test {
 protected:
  void start(Options options = {}) {
    auto server = Server::start(
        std::move(options), [this](Request request, std::shared_ptr<Exchange> exchange) {
          if (request.path.starts_with("/keep")) {
            const std::lock_guard lock(mutex_);
            kept_.push_back(std::move(exchange));
            changed_.notify_all();
          } else {
            exchange->respond(200, {}, request.method + " " + request.target + " " + request.body);
          }
        });
    ASSERT_TRUE(server.ok()) << server.status().to_string();
    server_ = std::move(server).value();
    ASSERT_GT(server_->port(), 0);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->stop();
    server_.reset();
  }

  int port() const { return server_->port(); }
  std::shared_ptr<Exchange> kept(size_t index = 0) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, minutes(1), [&] { return kept_.size() > index; }));
    return kept_.size() > index ? kept_[index] : nullptr;
  }
  // Counters follow events with a little delay: waited for, with a limit that only a failure
  // reaches.
  void wait_until(const std::function<bool(const Stats&)>& is_so, const char* what) {
    const auto end = steady_clock::now() + minutes(1);
    while (!is_so(server_->stats())) {
      if (steady_clock::now() > end) {
        FAIL() << "never: " << what;
      }
      std::this_thread::yield();
    }
  }
  void expect_works() {
    Client client(port());
    ASSERT_TRUE(client.send(get("/works")));
    EXPECT_EQ(client.read_response().body, "GET /works ");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Exchange>> kept_;
  std::unique_ptr<Server> server_;
};

std::future<CloseReason> reason_of_close(Exchange& exchange) {
  auto promise = std::make_shared<std::promise<CloseReason>>();
  std::future<CloseReason> future = promise->get_future();
  exchange.on_close(
      [promise](CloseReason reason) { promise->set_value(reason); });  // once: or throws
  return future;
}

void expect_reason(std::future<CloseReason>& future, CloseReason expected) {
  ASSERT_EQ(future.wait_for(minutes(1)), std::future_status::ready);
  EXPECT_EQ(future.get(), expected);
}

int thread_count() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "Threads:") {
      int count = 0;
      file >> count;
      return count;
    }
  }
  return -1;
}

TEST_F(ServerTest, AnswersOnOneConnectionAgainAndAgain) {
  start();
  Client client(port());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(client.send(get("/" + std::to_string(i))));
    EXPECT_EQ(client.read_response().body, "GET /" + std::to_string(i) + " ");
  }
  std::string pipelined;
  for (int i = 0; i < 50; ++i) pipelined += get("/p" + std::to_string(i));
  ASSERT_TRUE(client.send(pipelined));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_response().body, "GET /p" + std::to_string(i) + " ");
  }
  EXPECT_EQ(server_->stats().connections_total, 1);
  EXPECT_EQ(server_->stats().requests_total, 100);
}

TEST_F(ServerTest, TakesALargeBodyAndGivesItBack) {
  start();
  const std::string body(20'000'000, 'b');
  Client client(port());
  std::thread sender([&] {
    EXPECT_TRUE(
        client.send("POST /big HTTP/1.1\r\nHost: h\r\nContent-Length: 20000000\r\n\r\n" + body));
  });
  const Response response = client.read_response();
  sender.join();
  EXPECT_EQ(response.body.size(), body.size() + 10);
  EXPECT_EQ(server_->stats().body_bytes, 0);
}

TEST_F(ServerTest, RefusesABodyThatGrowsByChunksAndItsSenderCanReadWhy) {
  Options options;
  options.body_bytes_max = 100'000;
  start(options);
  Client client(port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"));
  // Far more than the limit, all of it before anything is read.
  for (int i = 0; i < 2'000 && client.send("1000\r\n" + std::string(4096, 'x') + "\r\n"); ++i)
    continue;
  const Response response = client.read_response();
  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(response.is_complete);
  EXPECT_EQ(server_->stats().of(Refusal::kBodyTooLarge), 1);
}

TEST_F(ServerTest, SeesAClientThatLeavesWhileItsRequestIsWorkedOn) {
  start();
  enum class Way { kClose, kReset, kHalf };
  size_t index = 0;
  for (const bool streams : {false, true}) {
    for (const Way way : {Way::kClose, Way::kReset, Way::kHalf}) {
      Client client(port());
      ASSERT_TRUE(client.send(get("/keep")));
      const auto exchange = kept(index++);
      ASSERT_NE(exchange, nullptr);
      auto reason = reason_of_close(*exchange);
      if (streams) {
        EXPECT_TRUE(exchange->begin(200, {{"Content-Type", "text/event-stream"}}));
        EXPECT_TRUE(exchange->write("data: 1\n\n"));
        client.read_until("data: 1\n\n");
      }
      if (way == Way::kClose) client.close();
      if (way == Way::kReset) client.reset();
      if (way == Way::kHalf) client.end();
      expect_reason(reason, CloseReason::kPeerGone);
      EXPECT_TRUE(exchange->closed());
      EXPECT_FALSE(exchange->write("late"));
    }
  }
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
  EXPECT_EQ(server_->stats().of(CloseReason::kPeerGone), 6);
}

TEST_F(ServerTest, StreamsFromAnotherThreadWhileOthersAreServed) {
  start();
  Client client(port());
  ASSERT_TRUE(client.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  std::string expected;
  std::thread writer([&] {
    EXPECT_TRUE(exchange->begin(200, {}));
    for (int i = 0; i < 2'000; ++i) {
      const std::string piece = "token " + std::to_string(i) + "\n";
      expected += piece;
      EXPECT_TRUE(exchange->write(piece));
      if (i % 500 == 0) expect_works();
    }
    EXPECT_TRUE(exchange->end());
  });
  const Response response = client.read_response();
  writer.join();
  EXPECT_TRUE(response.is_complete);
  EXPECT_EQ(response.body, expected);
  ASSERT_TRUE(client.send(get("/again")));
  EXPECT_EQ(client.read_response().body, "GET /again ");
}

TEST_F(ServerTest, CutsAReaderThatDoesNotRead) {
  Options options;
  options.write_buffer_bytes_max = 256 * 1024;
  start(options);
  const auto client = Client::with_small_buffer(port());
  ASSERT_TRUE(client->send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  auto reason = reason_of_close(*exchange);
  EXPECT_TRUE(exchange->begin(200, {}));
  const std::string piece(16 * 1024, 'x');
  int64_t written = 0;
  // The system's own buffers fill first: a few megabytes.
  while (exchange->write(piece)) {
    ASSERT_LE(exchange->queued_bytes(), options.write_buffer_bytes_max);
    written += 16 * 1024;
    ASSERT_LT(written, int64_t{1} << 30);
  }
  expect_reason(reason, CloseReason::kSlowReader);
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "closed");
  expect_works();
}

TEST_F(ServerTest, HoldsThreeHundredIdleClientsWithOneThread) {
  const int before = thread_count();
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    ASSERT_TRUE(clients.back()->connected());
  }
  wait_until([](const Stats& stats) { return stats.connections_open == 300; }, "300 open");
  EXPECT_EQ(thread_count(), before + 1);
  for (const auto& client : clients) ASSERT_TRUE(client->send(get("/idle")));
  for (const auto& client : clients) EXPECT_EQ(client->read_response().body, "GET /idle ");
  EXPECT_EQ(thread_count(), before + 1);
  clients.clear();
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
}

TEST_F(ServerTest, ServesWithSeveralThreads) {
  Options options;
  options.threads = 3;
  start(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) expect_works();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->stats().requests_total, 200);
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
}

TEST_F(ServerTest, TooManyConnectionsAreToldSo) {
  Options options;
  options.connections_max = 3;
  start(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    ASSERT_TRUE(clients.back()->send(get("/in")));
    EXPECT_EQ(clients.back()->read_response().status, 200);
  }
  Client refused(port());
  ASSERT_TRUE(refused.send(get("/out")));
  const Response response = refused.read_response();
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("too_many_connections"), std::string::npos);
  EXPECT_NE(response.head.find("Retry-After"), std::string::npos);
  refused.close();
  clients.clear();
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
  expect_works();
}

TEST_F(ServerTest, OneAddressMayNotTakeAll) {
  Options options;
  options.connections_per_address_max = 2;
  start(options);
  Client first(port());
  Client second(port());
  wait_until([](const Stats& stats) { return stats.connections_open == 2; }, "two open");
  Client third(port());
  ASSERT_TRUE(third.send(get("/")));
  EXPECT_EQ(third.read_response().status, 429);
  third.close();
  first.close();
  wait_until([](const Stats& stats) { return stats.connections_open == 1; }, "one open");
  expect_works();
}

TEST_F(ServerTest, FloodsOfConnectionsBeyondEvenRefusalAreDropped) {
  Options options;
  options.connections_max = 1;
  start(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<Client>(port()));
  wait_until([](const Stats& stats) { return stats.connections_total == 200; }, "all came");
  EXPECT_LE(server_->stats().connections_open, 65);
  EXPECT_GE(server_->stats().connections_dropped, 200 - 65);
  clients.clear();
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
  expect_works();
}

// ---- ends

TEST_F(ServerTest, DrainWaitsForAnswersAndRefusesTheRest) {
  start();
  Client idle(port());
  ASSERT_TRUE(idle.send(get("/")));
  EXPECT_EQ(idle.read_response().status, 200);
  Client busy(port());
  ASSERT_TRUE(busy.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  EXPECT_TRUE(exchange->begin(200, {}));
  auto drained = std::async(std::launch::async,
                            [&] { return server_->drain(steady_clock::now() + minutes(1)); });
  EXPECT_EQ(idle.read_to_end(), "") << "an idle connection is closed";
  EXPECT_FALSE(Client(port()).connected()) << "the port is closed";
  EXPECT_TRUE(exchange->write("the rest"));
  EXPECT_TRUE(exchange->end());
  EXPECT_EQ(busy.read_response().body, "the rest");
  busy.close();
  EXPECT_TRUE(drained.get());
}

TEST_F(ServerTest, DrainGivesUpAtItsDeadlineAndStopCutsTheRest) {
  start();
  Client busy(port());
  ASSERT_TRUE(busy.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  auto reason = reason_of_close(*exchange);
  EXPECT_FALSE(server_->drain(steady_clock::now()));
  EXPECT_FALSE(exchange->closed());
  server_->stop();
  expect_reason(reason, CloseReason::kStopped);
  EXPECT_EQ(busy.read_to_end(), "");
  EXPECT_EQ(server_->stats().connections_open, 0);
}

TEST_F(ServerTest, AnExchangeMayOutliveItsServer) {
  start();
  Client client(port());
  ASSERT_TRUE(client.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  server_.reset();
  EXPECT_TRUE(exchange->closed());
  EXPECT_FALSE(exchange->respond(200, {}, ""));
  int told = 0;
  exchange->on_close([&](CloseReason) { ++told; });
  EXPECT_EQ(told, 1);
  exchange->keep_alive_every(Milliseconds(1), ":");
}

TEST_F(ServerTest, StopsWhileClientsComeAndGo) {
  start();
  std::atomic<bool> goes_on{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, port = port()] {
      while (goes_on) {
        Client client(port);
        if (!client.connected() || !client.send(get("/keep"))) continue;
        client.close();
      }
    });
  }
  wait_until([](const Stats& stats) { return stats.requests_total > 200; }, "some requests");
  server_->stop();
  goes_on = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->stats().connections_open, 0);
  for (const auto& exchange : kept_) EXPECT_TRUE(exchange->closed());
}

// ---- robustness

// Something like a request, wrong in up to three places.
std::string malformed(std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  static const std::vector<std::string> kSeeds = {
      get("/v1/models?a=b%20c", "Accept: */*\r\n"),
      "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 17\r\n\r\n{\"messages\": "
      "[]} ",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
  };
  std::string out = kSeeds[below(kSeeds.size())];
  const size_t faults = 1 + below(3);
  for (size_t i = 0; i < faults && !out.empty(); ++i) {
    const size_t at = below(out.size());
    switch (below(6)) {
      case 0: out[at] = static_cast<char>(random()); break;
      case 1: out.erase(at, 1 + below(10)); break;
      case 2: out.insert(at, std::string(1 + below(20), static_cast<char>(random()))); break;
      case 3: out.insert(at, "\r\n"); break;
      case 4: out.insert(at, out.substr(below(out.size()), below(60))); break;
      default: out.resize(at); break;
    }
  }
  return out;
}

// HTTP of another version is well-formed, and 505 is its answer: not a fault of the server.
int server_faults(const std::string& responses) {
  int count = 0;
  for (size_t at = responses.find("HTTP/1.1 5"); at != std::string::npos;
       at = responses.find("HTTP/1.1 5", at + 1)) {
    count += responses.compare(at + 9, 3, "505") != 0;
  }
  return count;
}

TEST_F(ServerTest, TenThousandMalformedRequestsHarmNobody) {
  start();
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const std::string request = malformed(random);
    Client client(port());
    ASSERT_TRUE(client.connected());
    (void)client.send(request);
    if (i % 3 == 0) {
      client.reset();
    } else if (i % 3 == 1) {
      client.end();
      ASSERT_EQ(server_faults(client.read_to_end()), 0) << "to " << request;
    }
  }
  expect_works();
  wait_until([](const Stats& stats) { return stats.connections_open == 0; }, "all closed");
  const Stats stats = server_->stats();
  EXPECT_EQ(stats.body_bytes, 0);
  EXPECT_GT(stats.of(Refusal::kBadRequest), 1'000);
  for (const Refusal kind : {Refusal::kHandlerFailed, Refusal::kNoAnswer, Refusal::kConnections,
                             Refusal::kBodiesTooLarge, Refusal::kDraining}) {
    EXPECT_EQ(stats.of(kind), 0) << describe(kind).name;
  }
}

TEST_F(ServerTest, ACommentComesByTheWallClock) {
  start();
  Client client(port());
  ASSERT_TRUE(client.send(get("/keep")));
  const auto exchange = kept();
  ASSERT_NE(exchange, nullptr);
  EXPECT_TRUE(exchange->begin(200, {}));
  exchange->keep_alive_every(Milliseconds(5), ": keep-alive\n\n");
  for (int i = 0; i < 5; ++i) client.read_until(": keep-alive\n\n");
  EXPECT_TRUE(exchange->end());
}

// ---- start

Status start_status(Options options) {
  return Server::start(std::move(options), [](const Request&, const std::shared_ptr<Exchange>&) {})
      .status();
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  start();
  Options options;
  options.port = port();
  Status status = start_status(options);
  EXPECT_EQ(status.code(), Code::kBusy);
  EXPECT_NE(status.message().find("127.0.0.1:" + std::to_string(port())), std::string::npos);
  EXPECT_NE(status.message().find("another port"), std::string::npos) << status.message();

  options.port = 70'000;
  EXPECT_EQ(start_status(options).code(), Code::kInvalidArgument);
  options.port = 0;
  for (const char* host : {"", "256.1.1.1", "no such host", "host.invalid", "203.0.113.7"}) {
    options.host = host;
    status = start_status(options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << host << ": " << status.message();
    EXPECT_NE(status.message().find(host), std::string::npos) << status.message();
  }
}

TEST_F(ServerTest, ListensOnANameAndOnIpv6WhereThereIsOne) {
  Options options;
  options.host = "localhost";
  start(options);
  expect_works();
  if (!std::ifstream("/proc/net/if_inet6").good()) GTEST_SKIP() << "this machine has no IPv6";
  server_.reset();
  options.host = "::";
  start(options);
  expect_works();  // by IPv4
  Client client(port(), "::1");
  if (!client.connected()) GTEST_SKIP() << "IPv6 is switched off here";
  ASSERT_TRUE(client.send(get("/six")));
  EXPECT_EQ(client.read_response().body, "GET /six ");
}

TEST_F(ServerTest, RestartsOnThePortItHad) {
  start();
  Options options;
  options.port = port();
  expect_works();
  server_.reset();
  start(options);
  EXPECT_EQ(port(), options.port);
  expect_works();
}

}  // namespace
}  // namespace trine::http
