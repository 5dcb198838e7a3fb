// A client of raw bytes over a real socket, plain or TLS. It waits for events, with one generous
// limit after which a test fails instead of hanging.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace trine::http {

struct Response {
  int status = 0;  ///< 0: none came
  std::string head;
  std::string body;          ///< chunks joined
  bool is_complete = false;  ///< the end of the body was seen
};

class Client {
 public:
  explicit Client(int port, const std::string& host = "127.0.0.1");
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return fd_ >= 0; }
  /// A receive buffer as small as the system allows: a reader that is soon full.
  static std::unique_ptr<Client> with_small_buffer(int port);
  /// Speaks TLS from here on, trusting this certificate only. False when the handshake fails.
  bool start_tls(const std::string& certificate_file, int version_max = 0);

  bool send(std::string_view bytes);
  /// Reads until the text is there, and returns all that was read since the last call. Fails the
  /// test if the connection ends first.
  std::string read_until(std::string_view text);
  /// The next response, body included. `is_head`: without a body whatever its length says.
  Response read_response(bool is_head = false);
  std::string read_to_end();
  void end();    ///< closes the sending side
  void close();  ///< closes
  void reset();  ///< closes with a reset

 private:
  void connect_to(int port, const std::string& host, int receive_bytes);
  bool read_more();

  int fd_ = -1;
  ssl_ctx_st* tls_context_ = nullptr;
  ssl_st* tls_ = nullptr;
  std::string buffer_;
};

inline std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

}  // namespace trine::http
