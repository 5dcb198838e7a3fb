#include "http/network.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "base/try.h"
#include "http/tls_context.h"

// After the system's headers: netinet/tcp.h and linux/tcp.h do not go together.
#include <netinet/tcp.h>

namespace trine::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Socket = asio::ip::tcp::socket;
using TlsStream = asio::ssl::stream<Socket>;

// Waits so long for descriptors or memory to come back before it accepts again.
constexpr Milliseconds kAcceptPause{100};

Io io_of(const ErrorCode& error) {
  if (!error) return Io::kOk;
  const bool is_end = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  return is_end ? Io::kEnd : Io::kFailed;
}

// A timer may be destroyed while its expiry waits in the queue: what runs then is shared, and
// empty.
class AsioTimer final : public Timer {
 public:
  AsioTimer(asio::io_context& context, std::function<void()> on_due)
      : timer_(context), state_(std::make_shared<State>()) {
    state_->on_due = std::move(on_due);
  }
  ~AsioTimer() override { ++state_->round; }
  AsioTimer(const AsioTimer&) = delete;
  AsioTimer& operator=(const AsioTimer&) = delete;

  void set(Time due) override {
    timer_.expires_at(due);
    timer_.async_wait([state = state_, round = ++state_->round](const ErrorCode& error) {
      if (!error && round == state->round) state->on_due();
    });
  }

 private:
  struct State {
    std::function<void()> on_due;
    uint64_t round = 0;
  };
  asio::steady_timer timer_;
  std::shared_ptr<State> state_;
};

class AsioLoop final : public Loop {
 public:
  AsioLoop() : context_(1), work_(context_.get_executor()) {}

  asio::io_context& context() { return context_; }

  bool post(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    if (has_stopped_) return false;
    asio::post(context_, std::move(task));
    return true;
  }
  Time now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Timer> make_timer(std::function<void()> on_due) override {
    return std::make_unique<AsioTimer>(context_, std::move(on_due));
  }

  void run() {
    thread_ = std::thread([this] {
      // What a callback throws (memory, mostly) ends the connection it held, not the server.
      for (bool goes_on = true; goes_on;) {
        try {
          context_.run();
          goes_on = false;
        } catch (...) {
          goes_on = true;
        }
      }
    });
  }
  bool is_running() const { return thread_.joinable(); }
  // Runs what was posted, and ends when no socket is left.
  void join() {
    {
      const std::lock_guard lock(mutex_);
      has_stopped_ = true;
    }
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::mutex mutex_;
  bool has_stopped_ = false;
};

// A plain or TLS socket. Pending operations hold the stream, which may outlive this object.
template <typename Stream>
class SocketTransport final : public Transport {
 public:
  static constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

  explicit SocketTransport(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  ~SocketTransport() override { SocketTransport::close(); }
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;

  void handshake(Done done) override {
    if constexpr (kIsTls) {
      stream_->async_handshake(TlsStream::server,
                               [stream = stream_, done = std::move(done)](const ErrorCode& error) {
                                 done(io_of(error), 0);
                               });
    } else {
      asio::post(stream_->get_executor(), [done = std::move(done)] { done(Io::kOk, 0); });
    }
  }
  void read_some(char* data, size_t size, Done done) override {
    stream_->async_read_some(asio::buffer(data, size), completion(std::move(done)));
  }
  void write_some(const char* data, size_t size, Done done) override {
    stream_->async_write_some(asio::buffer(data, size), completion(std::move(done)));
  }
  void shutdown_write() override {
    if constexpr (kIsTls) {
      stream_->async_shutdown([stream = stream_](const ErrorCode&) {
        ErrorCode ignored;
        stream->next_layer().shutdown(Socket::shutdown_send, ignored);
      });
    } else {
      ErrorCode ignored;
      stream_->shutdown(Socket::shutdown_send, ignored);
    }
  }
  void close() override {
    ErrorCode ignored;
    socket().close(ignored);
  }
  bool peer_closed() const override {
    pollfd state{socket().native_handle(), POLLRDHUP, 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  bool secure() const override { return kIsTls; }

 private:
  Socket& socket() const {
    if constexpr (kIsTls) {
      return stream_->next_layer();
    } else {
      return *stream_;
    }
  }
  auto completion(Done done) const {
    return [stream = stream_, done = std::move(done)](const ErrorCode& error, size_t size) {
      done(io_of(error), size);
    };
  }

  const std::shared_ptr<Stream> stream_;
};

// A peer that vanished without a word is noticed by the system, within the write timeout.
void set_socket_options(const Options& options, Socket& socket) {
  ErrorCode ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  const int idle_seconds = 30;
  const auto unacknowledged = static_cast<unsigned>(options.write_timeout.count());
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged, sizeof(unacknowledged));
}

class AsioNetwork final : public Network {
 public:
  AsioNetwork(Options options, Accept accept)
      : options_(std::move(options)), accept_(std::move(accept)) {
    for (int i = 0; i < std::max(options_.threads, 1); ++i) {
      loops_.push_back(std::make_shared<AsioLoop>());
    }
  }

  Status listen();
  Status run() override;
  int port() const override { return port_; }
  std::shared_ptr<Loop> loop(size_t index) const override { return loops_[index]; }
  void stop_accepting() override;
  void join() override {
    for (const auto& loop : loops_) loop->join();
  }

 private:
  struct Listener {
    explicit Listener(asio::io_context& context) : acceptor(context), pause(context) {}
    asio::ip::tcp::acceptor acceptor;
    asio::steady_timer pause;
  };

  Status listen_on(const asio::ip::tcp::endpoint& endpoint, ErrorCode* error);
  void accept_next(Listener& listener);
  void take(size_t index, Socket socket);

  const Options options_;
  const Accept accept_;
  std::vector<std::shared_ptr<AsioLoop>> loops_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // of loop 0
  std::optional<asio::ssl::context> tls_;
  int port_ = 0;
  size_t next_loop_ = 0;
};

Status bind_failure(const Options& options, const asio::ip::tcp::endpoint& endpoint,
                    const ErrorCode& error) {
  const bool is_v6 = endpoint.address().is_v6();
  const std::string address = endpoint.address().to_string();
  std::string message = "cannot listen on " + (is_v6 ? "[" + address + "]" : address) + ":" +
                        std::to_string(endpoint.port()) + ": " + error.message();
  if (error == asio::error::address_in_use) {
    return {Code::kBusy, message + "; choose another port, or 0 for any free one"};
  }
  if (error == asio::error::access_denied && endpoint.port() < 1024) {
    return {Code::kIo, message + "; ports below 1024 need privileges: choose a higher one"};
  }
  if (error == asio::error::address_family_not_supported || error.value() == EADDRNOTAVAIL) {
    return {Code::kInvalidArgument, message + "; host '" + options.host +
                                        "' is no address of this machine (127.0.0.1, or 0.0.0.0 "
                                        "for all, always is)"};
  }
  return {Code::kIo, message};
}

Status AsioNetwork::listen_on(const asio::ip::tcp::endpoint& endpoint, ErrorCode* error) {
  auto listener = std::make_unique<Listener>(loops_[0]->context());
  auto& acceptor = listener->acceptor;
  acceptor.open(endpoint.protocol(), *error);
  if (!*error) acceptor.set_option(asio::socket_base::reuse_address(true), *error);
  if (!*error && endpoint.address().is_v6()) {
    const bool is_any = endpoint.address().is_unspecified();  // "::" serves IPv4 as well
    acceptor.set_option(asio::ip::v6_only(!is_any), *error);
  }
  if (!*error) acceptor.bind(endpoint, *error);
  if (!*error) acceptor.listen(asio::socket_base::max_listen_connections, *error);
  if (*error) return bind_failure(options_, endpoint, *error);
  port_ = acceptor.local_endpoint(*error).port();
  listeners_.push_back(std::move(listener));
  return {};
}

Status AsioNetwork::listen() {
  if (options_.port < 0 || options_.port > 65535) {
    return {Code::kInvalidArgument,
            "port " + std::to_string(options_.port) + " is not between 0 and 65535"};
  }
  if (!options_.tls_certificate_file.empty() || !options_.tls_key_file.empty()) {
    if (options_.tls_certificate_file.empty() || options_.tls_key_file.empty()) {
      return {Code::kInvalidArgument, "TLS needs both a certificate file and a key file"};
    }
    TRINE_ASSIGN_OR_RETURN(TlsContext tls,
                           load_tls_context(options_.tls_certificate_file, options_.tls_key_file));
    tls_.emplace(tls.release());
  }
  ErrorCode error;
  asio::ip::tcp::resolver resolver(loops_[0]->context());
  const auto found =
      options_.host.empty()
          ? asio::ip::tcp::resolver::results_type()
          : resolver.resolve(options_.host, "0", asio::ip::tcp::resolver::passive, error);
  if (error || found.empty()) {
    return {Code::kInvalidArgument,
            "host '" + options_.host + "' is neither an address nor a name that resolves" +
                (error ? " (" + error.message() + ")" : "") + "; for example 127.0.0.1 or ::1"};
  }
  // A name may stand for several addresses (localhost: IPv6 and IPv4). Those that this machine does
  // not have are passed over as long as one is left; any other refusal counts.
  Status first_failure;
  int wanted_port = options_.port;
  for (const auto& entry : found) {
    asio::ip::tcp::endpoint endpoint = entry.endpoint();
    endpoint.port(static_cast<uint16_t>(wanted_port));
    Status status = listen_on(endpoint, &error);
    if (status.ok()) wanted_port = port_;
    if (!status.ok() && status.code() != Code::kInvalidArgument) return status;
    if (!status.ok() && first_failure.ok()) first_failure = status;
  }
  return listeners_.empty() ? first_failure : Status();
}

Status AsioNetwork::run() {
  // Signals belong to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    for (const auto& listener : listeners_) accept_next(*listener);
    for (const auto& loop : loops_) loop->run();
  } catch (const std::exception& error) {
    status = Status(Code::kIo, std::string("cannot start an io thread: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void AsioNetwork::accept_next(Listener& listener) {
  const size_t index = next_loop_++ % loops_.size();
  listener.acceptor.async_accept(
      loops_[index]->context(), [this, &listener, index](const ErrorCode& error, Socket socket) {
        if (!listener.acceptor.is_open()) return;
        const bool is_starved = error == asio::error::no_descriptors ||
                                error == asio::error::no_memory || error.value() == ENFILE ||
                                error == asio::error::no_buffer_space;
        if (is_starved) {
          listener.pause.expires_after(kAcceptPause);
          listener.pause.async_wait([this, &listener](const ErrorCode& stopped) {
            if (!stopped && listener.acceptor.is_open()) accept_next(listener);
          });
          return;
        }
        if (!error) take(index, std::move(socket));
        accept_next(listener);
      });
}

void AsioNetwork::take(size_t index, Socket socket) {
  ErrorCode error;
  const auto peer = socket.remote_endpoint(error);
  if (error) return;  // gone already
  set_socket_options(options_, socket);
  asio::ip::address address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  std::shared_ptr<AsioLoop> loop = loops_[index];
  std::unique_ptr<Transport> transport;
  if (tls_) {
    transport = std::make_unique<SocketTransport<TlsStream>>(
        std::make_shared<TlsStream>(std::move(socket), *tls_));
  } else {
    transport =
        std::make_unique<SocketTransport<Socket>>(std::make_shared<Socket>(std::move(socket)));
  }
  // std::function wants what can be copied.
  auto shared = std::make_shared<std::unique_ptr<Transport>>(std::move(transport));
  (void)loop->post([this, index, loop, shared, text = address.to_string()] {
    accept_(index, loop, std::move(*shared), text);
  });
}

void AsioNetwork::stop_accepting() {
  const auto close_all = [this] {
    for (const auto& listener : listeners_) {
      ErrorCode ignored;
      listener->acceptor.close(ignored);
      listener->pause.cancel();
    }
  };
  std::promise<void> done;
  const bool is_posted = loops_[0]->is_running() && loops_[0]->post([&] {
    close_all();
    done.set_value();
  });
  if (!is_posted) return close_all();  // nobody else touches them before or after the thread's life
  done.get_future().wait();
}

}  // namespace

Result<std::unique_ptr<Network>> Network::open(const Options& options, Accept accept) {
  try {
    auto network = std::make_unique<AsioNetwork>(options, std::move(accept));
    TRINE_RETURN_IF_ERROR(network->listen());
    return std::unique_ptr<Network>(std::move(network));
  } catch (const std::exception& error) {
    return Status(Code::kIo, std::string("cannot open the network: ") + error.what());
  }
}

}  // namespace trine::http
