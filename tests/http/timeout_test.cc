// Every time limit of a connection, by a clock that the test moves: never early, never missed.
#include "connection_fixture.h"

namespace trine::http {
namespace {

constexpr const char* kGet = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

using TimeoutTest = ConnectionTest;

TEST_F(TimeoutTest, AConnectionThatSaysNothingIsClosed) {
  open();
  loop_->pass(milliseconds(14'999));
  EXPECT_FALSE(is_closed());
  loop_->pass(milliseconds(1));
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(received(), "");
}

TEST_F(TimeoutTest, AHeaderThatTricklesIsA408HoweverOftenAByteComes) {
  open();
  for (int i = 0; i < 14; ++i) {
    send(i == 0 ? "GET / HTTP/1.1\r\nX: " : "x");
    loop_->pass(seconds(1));
    ASSERT_EQ(received(), "") << i;
  }
  loop_->pass(seconds(1));
  EXPECT_EQ(status_of(received()), 408);
  EXPECT_TRUE(peer_->write_ended);
  EXPECT_EQ(context_->stats().of(Refusal::kHeaderTimeout), 1);
  loop_->pass(milliseconds(4'999));
  EXPECT_FALSE(is_closed()) << "the peer has time to read";
  loop_->pass(milliseconds(1));
  EXPECT_TRUE(is_closed());
}

TEST_F(TimeoutTest, ABodyThatTricklesIsA408) {
  open();
  send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 119; ++i) {
    send("x");
    loop_->pass(seconds(1));
    ASSERT_EQ(received(), "") << i;
  }
  loop_->pass(seconds(1));
  EXPECT_EQ(status_of(received()), 408);
  EXPECT_EQ(context_->stats().of(Refusal::kBodyTimeout), 1);
  EXPECT_EQ(context_->stats().body_bytes, 0);
}

TEST_F(TimeoutTest, AnIdleConnectionIsClosedAndABusyOneIsNot) {
  open();
  send(kGet);
  loop_->pass(seconds(3'600));
  EXPECT_FALSE(is_closed()) << "an hour of work is no idleness";
  EXPECT_TRUE(exchanges_.at(0)->respond(200, {}, ""));
  EXPECT_EQ(status_of(received()), 200);
  loop_->pass(milliseconds(74'999));
  EXPECT_FALSE(is_closed());
  loop_->pass(milliseconds(1));
  EXPECT_TRUE(is_closed());
}

TEST_F(TimeoutTest, ANewRequestHasItsOwnTimeForTheHeader) {
  open({}, [](const Request&, const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(200, {}, "");
  });
  send(kGet);
  (void)received();
  loop_->pass(seconds(74));
  send("GET ");
  loop_->pass(seconds(14));
  send("/ HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(status_of(received()), 200);
}

TEST_F(TimeoutTest, AWriteWithoutProgressIsCut) {
  open();
  send(kGet);
  std::vector<CloseReason> told;
  exchanges_.at(0)->on_close([&](CloseReason reason) { told.push_back(reason); });
  peer_->take(0);
  EXPECT_TRUE(exchanges_[0]->begin(200, {}));
  EXPECT_TRUE(exchanges_[0]->write(std::string(1000, 'x')));
  loop_->run();
  for (int i = 0; i < 10; ++i) {  // a byte now and then is progress
    loop_->pass(seconds(59));
    peer_->take(1);
    loop_->run();
  }
  EXPECT_TRUE(told.empty());
  loop_->pass(milliseconds(60'000));
  EXPECT_EQ(told, std::vector{CloseReason::kWriteTimeout});
  EXPECT_TRUE(is_closed());
}

TEST_F(TimeoutTest, AStreamHearsAtLeastOneCommentInEachPeriod) {
  open();
  send(kGet);
  Exchange& exchange = *exchanges_.at(0);
  exchange.keep_alive_every(milliseconds(10'000), ": keep-alive\n\n");
  EXPECT_TRUE(exchange.begin(200, {}));
  (void)received();
  const std::string comment = "e\r\n: keep-alive\n\n\r\n";
  loop_->pass(milliseconds(9'999));
  EXPECT_EQ(received(), "");
  loop_->pass(milliseconds(1));
  EXPECT_EQ(received(), comment);
  loop_->pass(seconds(35));
  EXPECT_EQ(received(), comment + comment + comment);
  EXPECT_TRUE(exchange.write("data"));  // at 45 s
  (void)received();
  loop_->pass(milliseconds(9'999));
  EXPECT_EQ(received(), "");
  loop_->pass(milliseconds(1));
  EXPECT_EQ(received(), comment);
  EXPECT_TRUE(exchange.end());
  (void)received();
  loop_->pass(seconds(30));
  EXPECT_EQ(received(), "");
}

TEST_F(TimeoutTest, CommentsDoNotPileUpBeforeAPeerThatTakesNothing) {
  Options options;
  options.write_timeout = milliseconds(3'600'000);
  open(options);
  send(kGet);
  exchanges_.at(0)->keep_alive_every(milliseconds(10'000), ": keep-alive\n\n");
  EXPECT_TRUE(exchanges_[0]->begin(200, {}));
  (void)received();
  peer_->take(0);
  EXPECT_TRUE(exchanges_[0]->write("data"));
  loop_->run();
  const int64_t before = exchanges_[0]->queued_bytes();
  loop_->pass(seconds(3'000));
  EXPECT_EQ(exchanges_[0]->queued_bytes(), before);
}

TEST_F(TimeoutTest, APeerThatNeverClosesAfterTheLastAnswerIsClosed) {
  open({}, [](const Request&, const std::shared_ptr<Exchange>& exchange) {
    exchange->respond(200, {}, "bye");
  });
  send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(body_of(received()), "bye");
  EXPECT_TRUE(peer_->write_ended);
  EXPECT_FALSE(is_closed());
  for (int i = 0; i < 5; ++i) {
    send("more of what nobody reads");
    loop_->pass(seconds(1));
  }
  EXPECT_TRUE(is_closed());
}

}  // namespace
}  // namespace trine::http
