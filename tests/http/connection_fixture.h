// One connection in memory with a handler that a test gives: no sockets, no waiting.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/connection.h"
#include "support/memory_transport.h"

namespace trine::http {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ConnectionTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (connection_ != nullptr) connection_->stop();
    loop_->run();
    EXPECT_TRUE(peer_->is_closed || context_ == nullptr) << "a connection was left open";
    exchanges_.clear();
    requests_.clear();
    if (context_ != nullptr) {
      EXPECT_EQ(context_->stats().connections_open, 0);
      EXPECT_EQ(context_->stats().body_bytes, 0);
    }
  }

  /// Without a handler requests and exchanges are kept for the test to answer.
  void open(Options options = {}, Handler handler = nullptr) {
    if (handler == nullptr) {
      handler = [this](Request request, std::shared_ptr<Exchange> exchange) {
        requests_.push_back(std::move(request));
        exchanges_.push_back(std::move(exchange));
      };
    }
    context_ = std::make_shared<Context>(std::move(options), std::move(handler));
    ASSERT_EQ(context_->admit("peer"), Context::Admission::kYes);
    connection_ = std::make_shared<Connection>(
        context_, loop_, std::make_unique<testing::MemoryTransport>(*loop_, peer_), "peer",
        [this](Connection*) {
          context_->leave("peer");
          connection_.reset();
        });
    connection_->start(std::nullopt);
    loop_->run();
  }
  void send(std::string_view bytes) {
    peer_->send(bytes);
    loop_->run();
  }
  void end() {
    peer_->end();
    loop_->run();
  }
  /// What the server has said since the last call.
  std::string received() {
    loop_->run();
    return std::exchange(peer_->from_server, std::string());
  }
  bool is_closed() const { return peer_->is_closed; }

  std::shared_ptr<testing::MemoryLoop> loop_ = std::make_shared<testing::MemoryLoop>();
  std::shared_ptr<testing::MemoryPeer> peer_ = std::make_shared<testing::MemoryPeer>();
  std::shared_ptr<Context> context_;
  std::shared_ptr<Connection> connection_;
  std::vector<Request> requests_;
  std::vector<std::shared_ptr<Exchange>> exchanges_;
};

inline int status_of(const std::string& response) {
  return response.size() > 12 ? std::stoi(response.substr(9, 3)) : 0;
}
inline std::string body_of(const std::string& response) {
  const size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

}  // namespace trine::http
