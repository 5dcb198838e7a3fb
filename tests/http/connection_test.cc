// The connection as a state machine: order, framing, ends. Time is in timeout_test.cc.
#include "http/connection.h"

#include "base/json.h"
#include "connection_fixture.h"

namespace trine::http {
namespace {

constexpr const char* kGet = "GET /a?x=1&y=a%20b+c HTTP/1.1\r\nHost: h\r\n\r\n";

Handler echo() {
  return [](const Request& request, const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(200, {{"Content-Type", "text/plain"}},
                      request.method + " " + request.target + " " + request.body);
  };
}

std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

TEST_F(ConnectionTest, GivesTheHandlerADecodedRequest) {
  open();
  send(
      "POST /a%2Fb/\xc3\xa4?x=1&y=a%20b+c&x=2&flag HTTP/1.1\r\nhOsT: h\r\nX-Two: 1\r\nx-two: 2\r\n"
      "Content-Length: 5\r\n\r\nhello");
  ASSERT_EQ(requests_.size(), 1u);
  const Request& request = requests_[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a/b/\xc3\xa4");
  EXPECT_EQ(request.query.at("x"), "2");
  EXPECT_EQ(request.query.at("y"), "a b c");
  EXPECT_EQ(request.query.at("flag"), "");
  EXPECT_EQ(request.headers.get("HOST"), "h");
  EXPECT_EQ(request.headers.get("x-TWO"), "1");
  EXPECT_EQ(request.headers.count("X-Two"), 2u);
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(request.remote_address, "peer");
  EXPECT_FALSE(request.id.empty());
}

TEST_F(ConnectionTest, AnswersWithLengthDateAndId) {
  open({}, echo());
  send(kGet);
  const std::string response = received();
  EXPECT_EQ(status_of(response), 200);
  EXPECT_NE(response.find("Content-Length: 21\r\n"), std::string::npos) << response;
  EXPECT_NE(response.find("\r\nDate: "), std::string::npos);
  EXPECT_NE(response.find(" GMT\r\n"), std::string::npos);
  EXPECT_NE(response.find("\r\nX-Request-Id: req-"), std::string::npos);
  EXPECT_EQ(response.find("Connection:"), std::string::npos);
  EXPECT_EQ(body_of(response), "GET /a?x=1&y=a%20b+c ");
  EXPECT_FALSE(is_closed());
}

TEST_F(ConnectionTest, AnswersPipelinedRequestsInOrderWhateverTheCut) {
  const std::string requests = get("/1") +
                               "POST /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3;x=\"y\"\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n" +
                               "\r\n\r\n" + get("/3") +
                               "POST /4 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy" +
                               get("/5", "Connection: close\r\n");
  for (size_t step = 1; step <= requests.size(); ++step) {
    peer_ = std::make_shared<testing::MemoryPeer>();
    open({}, echo());
    for (size_t at = 0; at < requests.size(); at += step) send(requests.substr(at, step));
    const std::string all = received();
    size_t position = 0;
    for (const char* body : {"\r\n\r\nGET /1 HTTP", "\r\n\r\nPOST /2 abcdeHTTP",
                             "\r\n\r\nGET /3 HTTP", "\r\n\r\nPOST /4 xyHTTP", "\r\n\r\nGET /5 "}) {
      position = all.find(body, position);
      ASSERT_NE(position, std::string::npos) << body << " at step " << step << "\n" << all;
    }
    EXPECT_TRUE(peer_->write_ended);
    end();
    EXPECT_TRUE(is_closed());
  }
}

TEST_F(ConnectionTest, AnswersAPipelinedRequestOnlyAfterTheOneBefore) {
  open();
  send(get("/1") + get("/2"));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_TRUE(exchanges_[0]->respond(200, {}, "one"));
  EXPECT_NE(received().find("one"), std::string::npos);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[1].path, "/2");
  EXPECT_TRUE(exchanges_[1]->respond(200, {}, "two"));
  EXPECT_NE(received().find("two"), std::string::npos);
}

TEST_F(ConnectionTest, StreamsChunks) {
  open();
  send(kGet);
  Exchange& exchange = *exchanges_.at(0);
  EXPECT_FALSE(exchange.write("too early"));
  EXPECT_TRUE(exchange.begin(200, {{"Content-Type", "text/event-stream"}}));
  const std::string head = received();
  EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << head;
  EXPECT_EQ(body_of(head), "");
  EXPECT_TRUE(exchange.write("data: 1\n\n"));
  EXPECT_EQ(received(), "9\r\ndata: 1\n\n\r\n");
  EXPECT_TRUE(exchange.write(""));
  EXPECT_EQ(received(), "");
  EXPECT_TRUE(exchange.write(std::string(300, 'x')));
  EXPECT_EQ(received(), "12c\r\n" + std::string(300, 'x') + "\r\n");
  EXPECT_TRUE(exchange.end());
  EXPECT_EQ(received(), "0\r\n\r\n");
  EXPECT_FALSE(exchange.write("too late"));
  EXPECT_FALSE(exchange.end());
  EXPECT_FALSE(exchange.respond(200, {}, ""));
  EXPECT_FALSE(exchange.closed());
  send(get("/next"));
  EXPECT_EQ(requests_.size(), 2u);
}

TEST_F(ConnectionTest, StreamsToHttp10UntilTheEnd) {
  open();
  send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_EQ(exchanges_.size(), 1u);
  EXPECT_TRUE(exchanges_[0]->begin(200, {}));
  EXPECT_TRUE(exchanges_[0]->write("raw"));
  EXPECT_TRUE(exchanges_[0]->end());
  const std::string response = received();
  EXPECT_EQ(body_of(response), "raw");
  EXPECT_EQ(response.find("chunked"), std::string::npos);
  EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(peer_->write_ended);
}

TEST_F(ConnectionTest, KeepsAnHttp10ConnectionThatAsks) {
  open({}, echo());
  send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
  EXPECT_NE(received().find("Connection: keep-alive\r\n"), std::string::npos);
  send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(received().find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(peer_->write_ended);
}

TEST_F(ConnectionTest, SendsNoBodyForHeadAnd204) {
  open({}, [](const Request& request, const std::shared_ptr<Exchange>& exchange) {
    if (request.path == "/stream") {
      exchange->begin(200, {});
      EXPECT_TRUE(exchange->write("never sent"));
      exchange->end();
    } else {
      exchange->respond(request.path == "/204" ? 204 : 200, {}, "hello");
    }
  });
  send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  std::string response = received();
  EXPECT_NE(response.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_EQ(body_of(response), "");
  send("HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(body_of(received()), "");
  send(get("/204"));
  response = received();
  EXPECT_EQ(status_of(response), 204);
  EXPECT_EQ(response.find("Content-Length"), std::string::npos);
  EXPECT_EQ(body_of(response), "");
  EXPECT_FALSE(is_closed());
}

TEST_F(ConnectionTest, NoValueOfAHandlerAddsAField) {
  open({}, [](const Request&, const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(200,
                      {{"X-A", "1\r\nX-Evil: 2"},
                       {"X Bad", "3"},
                       {"Content-Length", "999"},
                       {"Connection", "upgrade"},
                       {"Transfer-Encoding", "gzip"}},
                      "body");
  });
  send(kGet);
  const std::string response = received();
  EXPECT_NE(response.find("X-A: 1  X-Evil: 2\r\n"), std::string::npos);
  for (const char* absent : {"\nX-Evil", "X Bad", "999", "upgrade", "gzip"}) {
    EXPECT_EQ(response.find(absent), std::string::npos) << absent;
  }
}

TEST_F(ConnectionTest, AsksForABodyThatWaits) {
  open({}, echo());
  send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(received(), "HTTP/1.1 100 Continue\r\n\r\n");
  send("abc");
  EXPECT_EQ(body_of(received()), "POST / abc");
  send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(body_of(received()), "POST / abc")
      << "a body that came with the header needs no asking";
}

TEST_F(ConnectionTest, RefusesABodyThatWaitsWithoutAskingForIt) {
  Options options;
  options.body_bytes_max = 10;
  open(options, echo());
  send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(status_of(received()), 413);
}

TEST_F(ConnectionTest, APeerThatLeavesIsToldAtOnceWhileWorkedOn) {
  for (const bool streams : {false, true}) {
    peer_ = std::make_shared<testing::MemoryPeer>();
    exchanges_.clear();
    open();
    send(kGet);
    if (streams) {
      EXPECT_TRUE(exchanges_.at(0)->begin(200, {}));
      loop_->run();
    }
    std::vector<CloseReason> told;
    exchanges_.at(0)->on_close([&](CloseReason reason) { told.push_back(reason); });
    EXPECT_FALSE(exchanges_[0]->closed());
    end();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0], CloseReason::kPeerGone);
    EXPECT_TRUE(exchanges_[0]->closed());
    EXPECT_FALSE(exchanges_[0]->respond(200, {}, "late"));
    EXPECT_FALSE(exchanges_[0]->write("late"));
    EXPECT_TRUE(is_closed());
    EXPECT_EQ(context_->stats().of(CloseReason::kPeerGone), 1);
    // Who asks late is told still.
    exchanges_[0]->on_close([&](CloseReason reason) { told.push_back(reason); });
    loop_->run();
    EXPECT_EQ(told.size(), 2u);
  }
}

TEST_F(ConnectionTest, AnAnswerThatIsCompleteIsWrittenToAPeerThatSendsNoMore) {
  open();
  peer_->take(0);
  send(kGet);
  int told = 0;
  exchanges_.at(0)->on_close([&](CloseReason) { ++told; });
  EXPECT_TRUE(exchanges_[0]->respond(200, {}, "all of it"));
  end();
  EXPECT_FALSE(is_closed());
  peer_->take(-1);
  EXPECT_EQ(body_of(received()), "all of it");
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(told, 0);
}

TEST_F(ConnectionTest, ASlowReaderIsCutAtTheBound) {
  Options options;
  options.write_buffer_bytes_max = 10'000;
  open(options);
  send(kGet);
  Exchange& exchange = *exchanges_.at(0);
  EXPECT_TRUE(exchange.begin(200, {}));
  loop_->run();
  std::vector<CloseReason> told;
  exchange.on_close([&](CloseReason reason) { told.push_back(reason); });
  peer_->take(0);
  int written = 0;
  while (exchange.write(std::string(100, 'x'))) {
    ASSERT_LE(exchange.queued_bytes(), 10'000);
    ASSERT_LT(++written, 1000);
    if (written % 7 == 0) loop_->run();
  }
  EXPECT_GT(written, 90);
  EXPECT_TRUE(exchange.closed());
  loop_->run();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], CloseReason::kSlowReader);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(context_->stats().of(CloseReason::kSlowReader), 1);
}

TEST_F(ConnectionTest, AReaderThatCatchesUpIsNotCut) {
  Options options;
  options.write_buffer_bytes_max = 1'000;
  open(options);
  send(kGet);
  EXPECT_TRUE(exchanges_.at(0)->begin(200, {}));
  loop_->run();
  for (int i = 0; i < 100; ++i) {
    peer_->take(0);
    EXPECT_TRUE(exchanges_[0]->write(std::string(900, 'x'))) << i;
    loop_->run();
    EXPECT_GT(exchanges_[0]->queued_bytes(), 900);
    peer_->take(-1);
    loop_->run();
    EXPECT_EQ(exchanges_[0]->queued_bytes(), 0);
  }
  EXPECT_TRUE(exchanges_[0]->end());
}

TEST_F(ConnectionTest, AHandlerThatThrowsOrForgetsIsA500AndGoesOn) {
  open({}, [](const Request& request, const std::shared_ptr<Exchange>&) {
    if (request.path == "/throw") throw std::runtime_error("no");
  });
  send(get("/throw"));
  EXPECT_EQ(status_of(received()), 500);
  send(get("/forget"));
  EXPECT_EQ(status_of(received()), 500);
  EXPECT_EQ(context_->stats().of(Refusal::kHandlerFailed), 1);
  EXPECT_EQ(context_->stats().of(Refusal::kNoAnswer), 1);
  EXPECT_FALSE(is_closed());
}

TEST_F(ConnectionTest, AnAbandonedStreamIsCutWithoutItsLastChunk) {
  open();
  send(kGet);
  EXPECT_TRUE(exchanges_.at(0)->begin(200, {}));
  EXPECT_TRUE(exchanges_[0]->write("part"));
  loop_->run();
  exchanges_.clear();
  EXPECT_EQ(received().find("0\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(is_closed());
}

TEST_F(ConnectionTest, ReadingPausesBehindABusyRequestAndNothingIsLost) {
  open();
  send(get("/slow"));
  std::string rest;
  for (int i = 0; i < 5000; ++i) rest += get("/" + std::to_string(i));
  send(rest);
  EXPECT_GT(peer_->to_server.size(), 0u) << "the server read without bound";
  for (size_t i = 0; i < 5001; ++i) {
    ASSERT_EQ(exchanges_.size(), i + 1);
    ASSERT_TRUE(exchanges_[i]->respond(200, {}, ""));
    loop_->run();
  }
  for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(requests_[i + 1].path, "/" + std::to_string(i));
}

TEST_F(ConnectionTest, APeerThatLeavesIsSeenWhileReadingPauses) {
  open();
  send(get("/slow"));
  int told = 0;
  exchanges_.at(0)->on_close([&](CloseReason) { ++told; });
  send(std::string(200'000, 'x'));
  loop_->pass(seconds(5));
  EXPECT_EQ(told, 0);
  peer_->end();
  loop_->pass(seconds(1));
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(is_closed());
}

TEST_F(ConnectionTest, DrainingEndsIdleConnectionsAndRefusesNewRequests) {
  open();
  send(get("/1"));
  context_->set_draining();
  connection_->drain();
  EXPECT_FALSE(is_closed());
  send(get("/2"));
  EXPECT_TRUE(exchanges_.at(0)->respond(200, {}, "one"));
  const std::string response = received();
  EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(response.find("one"), std::string::npos);
  EXPECT_EQ(requests_.size(), 1u);
  end();
  EXPECT_TRUE(is_closed());
}

TEST_F(ConnectionTest, StopTellsTheHandler) {
  open();
  send(kGet);
  std::vector<CloseReason> told;
  exchanges_.at(0)->on_close([&](CloseReason reason) { told.push_back(reason); });
  connection_->stop();
  EXPECT_EQ(told, std::vector{CloseReason::kStopped});
}

TEST_F(ConnectionTest, OnlyAllowedOriginsMayUseTheServer) {
  Options options;
  options.cors_origins = {"https://good.example"};
  open(options, echo());
  const auto preflight = [&](const std::string& origin) {
    send("OPTIONS /v1 HTTP/1.1\r\nHost: h\r\nOrigin: " + origin +
         "\r\nAccess-Control-Request-Method: POST\r\n"
         "Access-Control-Request-Headers: authorization, x-a\r\n\r\n");
    return received();
  };
  const std::string good = preflight("https://good.example");
  EXPECT_EQ(status_of(good), 204);
  EXPECT_NE(good.find("Access-Control-Allow-Origin: https://good.example\r\n"), std::string::npos);
  EXPECT_NE(good.find("Access-Control-Allow-Headers: authorization, x-a\r\n"), std::string::npos);
  EXPECT_NE(good.find("Vary: Origin\r\n"), std::string::npos);
  send(get("/", "Origin: https://good.example\r\n"));
  EXPECT_NE(received().find("Access-Control-Allow-Origin: https://good.example"),
            std::string::npos);
  send(get("/", "Origin: https://bad.example\r\n"));
  EXPECT_EQ(received().find("Access-Control-Allow-Origin"), std::string::npos);
  const std::string bad = preflight("https://bad.example");
  EXPECT_EQ(status_of(bad), 403);
  EXPECT_EQ(bad.find("Access-Control-Allow-Origin"), std::string::npos);
}

TEST_F(ConnectionTest, ErrorBodiesAreJsonAndTheirFormCanBeGiven) {
  open({}, echo());
  send("nonsense\r\n\r\n");
  const std::string response = received();
  const auto body = json::parse(body_of(response), "body");
  ASSERT_TRUE(body.ok()) << response;
  const json::Value* error = body->find("error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->find("type")->as_string(), "invalid_request_error");
  EXPECT_EQ(error->find("code")->as_string(), "bad_request");
  EXPECT_FALSE(error->find("message")->as_string().empty());
  EXPECT_NE(response.find("Content-Type: application/json\r\n"), std::string::npos);
  end();

  peer_ = std::make_shared<testing::MemoryPeer>();
  Options options;
  options.error_body = [](const RefusalText& kind, const std::string&) {
    return std::string("mine: ") + kind.name;
  };
  open(options, echo());
  send("nonsense\r\n\r\n");
  EXPECT_EQ(body_of(received()), "mine: bad_request");
}

}  // namespace
}  // namespace trine::http
