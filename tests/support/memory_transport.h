// A loop and a byte stream in memory: the clock moves when a test says so, and the peer is two
// texts. For tests and fuzzers that drive a http::Connection without sockets, threads or waiting.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "http/transport.h"
#include "support/memory_loop.h"

namespace trine::testing {

/// The far end of a MemoryTransport.
struct MemoryPeer {
  std::string to_server;     ///< sent, not read by the server
  bool has_ended = false;    ///< the peer closed its sending side
  std::string from_server;   ///< received
  int64_t takes = -1;        ///< bytes that the peer will still take; -1: any
  bool write_ended = false;  ///< the server closed its sending side
  bool is_closed = false;    ///< the server closed

  std::function<void()> changed;  ///< set by the transport
  void send(std::string_view bytes) {
    to_server += bytes;
    if (changed) changed();
  }
  void end() {
    has_ended = true;
    if (changed) changed();
  }
  void take(int64_t bytes) {
    takes = bytes;
    if (changed) changed();
  }
};

class MemoryTransport : public http::Transport {
 public:
  MemoryTransport(MemoryLoop& loop, std::shared_ptr<MemoryPeer> peer)
      : loop_(loop), peer_(std::move(peer)) {
    peer_->changed = [this] { serve(); };
  }
  ~MemoryTransport() override { peer_->changed = nullptr; }
  MemoryTransport(const MemoryTransport&) = delete;
  MemoryTransport& operator=(const MemoryTransport&) = delete;

  void handshake(Done done) override { finish(std::move(done), http::Io::kOk, 0); }
  void read_some(char* data, size_t size, Done done) override {
    read_ = {data, size, std::move(done)};
    serve();
  }
  void write_some(const char* data, size_t size, Done done) override {
    write_ = {data, size, std::move(done)};
    serve();
  }
  void shutdown_write() override { peer_->write_ended = true; }
  void close() override {
    peer_->is_closed = true;
    if (read_.done) finish(std::exchange(read_.done, nullptr), http::Io::kFailed, 0);
    if (write_.done) finish(std::exchange(write_.done, nullptr), http::Io::kFailed, 0);
  }
  bool peer_closed() const override { return peer_->has_ended; }
  bool secure() const override { return false; }

 private:
  template <typename Byte>
  struct Pending {
    Byte* data = nullptr;
    size_t size = 0;
    Done done;
  };

  void finish(Done done, http::Io io, size_t size) {
    loop_.post([done = std::move(done), io, size] { done(io, size); });
  }
  void serve() {
    if (peer_->is_closed) return;
    std::string& input = peer_->to_server;
    if (read_.done && !input.empty()) {
      const size_t size = std::min(read_.size, input.size());
      std::memcpy(read_.data, input.data(), size);
      input.erase(0, size);
      finish(std::exchange(read_.done, nullptr), http::Io::kOk, size);
    } else if (read_.done && peer_->has_ended) {
      finish(std::exchange(read_.done, nullptr), http::Io::kEnd, 0);
    }
    if (write_.done && peer_->takes != 0) {
      size_t size = write_.size;
      if (peer_->takes > 0) size = std::min(size, static_cast<size_t>(peer_->takes));
      if (peer_->takes > 0) peer_->takes -= static_cast<int64_t>(size);
      peer_->from_server.append(write_.data, size);
      finish(std::exchange(write_.done, nullptr), http::Io::kOk, size);
    }
  }

  MemoryLoop& loop_;
  const std::shared_ptr<MemoryPeer> peer_;
  Pending<char> read_;
  Pending<const char> write_;
};

}  // namespace trine::testing
