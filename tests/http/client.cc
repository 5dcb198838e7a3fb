#include "client.h"

#include <gtest/gtest.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace trine::http {
namespace {

constexpr int kWaitMsMax = 60'000;

bool wait_for(int fd, short events) {
  pollfd state{fd, events, 0};
  if (::poll(&state, 1, kWaitMsMax) == 1) return true;
  ADD_FAILURE() << "nothing happened for " << kWaitMsMax << " ms";
  return false;
}

}  // namespace

Client::Client(int port, const std::string& host) { connect_to(port, host, 0); }

std::unique_ptr<Client> Client::with_small_buffer(int port) {
  auto client = std::make_unique<Client>(0, "");
  client->connect_to(port, "127.0.0.1", 1);
  return client;
}

void Client::connect_to(int port, const std::string& host, int receive_bytes) {
  if (host.empty()) return;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  fd_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ >= 0 && receive_bytes > 0) {
    (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  }
  if (fd_ >= 0 && ::connect(fd_, found->ai_addr, found->ai_addrlen) != 0) close();
  ::freeaddrinfo(found);
}

Client::~Client() { close(); }

bool Client::start_tls(const std::string& certificate_file, int version_max) {
  tls_context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(tls_context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_locations(tls_context_, certificate_file.c_str(), nullptr);
  SSL_CTX_set_min_proto_version(tls_context_, TLS1_VERSION);
  SSL_CTX_set_security_level(tls_context_, 0);  // so that old versions can be offered
  if (version_max != 0) SSL_CTX_set_max_proto_version(tls_context_, version_max);
  tls_ = SSL_new(tls_context_);
  SSL_set_fd(tls_, fd_);
  return SSL_connect(tls_) == 1;
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    int64_t sent = 0;
    if (tls_ != nullptr) {
      sent = SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()));
    } else {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Client::read_more() {
  std::array<char, 64 * 1024> block{};
  int64_t size = 0;
  if (tls_ != nullptr) {
    if (SSL_pending(tls_) == 0 && !wait_for(fd_, POLLIN)) return false;
    size = SSL_read(tls_, block.data(), static_cast<int>(block.size()));
  } else {
    if (!wait_for(fd_, POLLIN)) return false;
    size = ::recv(fd_, block.data(), block.size(), 0);
  }
  if (size <= 0) return false;
  buffer_.append(block.data(), static_cast<size_t>(size));
  return true;
}

std::string Client::read_until(std::string_view text) {
  size_t from = 0;
  while (true) {
    const size_t found = buffer_.find(text, from);
    if (found != std::string::npos) {
      std::string out = buffer_.substr(0, found + text.size());
      buffer_.erase(0, out.size());
      return out;
    }
    from = buffer_.size() - std::min(buffer_.size(), text.size());
    if (!read_more()) {
      ADD_FAILURE() << "the connection ended before '" << text << "'";
      return std::exchange(buffer_, std::string());
    }
  }
}

Response Client::read_response(bool is_head) {
  Response out;
  while (buffer_.find("\r\n\r\n") == std::string::npos) {
    if (!read_more()) return out;
  }
  out.head = read_until("\r\n\r\n");
  out.status = std::atoi(out.head.c_str() + 9);
  if (is_head || out.status == 204 || out.status < 200) {
    out.is_complete = true;
    return out;
  }
  const size_t length = out.head.find("Content-Length: ");
  if (length != std::string::npos) {
    const auto size = static_cast<size_t>(std::atoll(out.head.c_str() + length + 16));
    while (buffer_.size() < size) {
      if (!read_more()) break;
    }
    out.is_complete = buffer_.size() >= size;
    out.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  } else if (out.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    while (true) {
      const size_t size = std::strtoull(read_until("\r\n").c_str(), nullptr, 16);
      std::string chunk;
      while (chunk.size() < size + 2) {
        if (buffer_.empty() && !read_more()) return out;
        const std::string part = buffer_.substr(0, size + 2 - chunk.size());
        buffer_.erase(0, part.size());
        chunk += part;
      }
      out.body += chunk.substr(0, size);
      if (size == 0) break;
    }
    out.is_complete = true;
  } else {
    out.body = read_to_end();
    out.is_complete = true;
  }
  return out;
}

std::string Client::read_to_end() {
  while (read_more()) continue;
  return std::exchange(buffer_, std::string());
}

void Client::end() { ::shutdown(fd_, SHUT_WR); }

void Client::close() {
  SSL_free(std::exchange(tls_, nullptr));
  SSL_CTX_free(std::exchange(tls_context_, nullptr));
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Client::reset() {
  const linger now{1, 0};
  (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

}  // namespace trine::http
