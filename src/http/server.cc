#include "http/server.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/try.h"
#include "http/connection.h"
#include "http/network.h"

namespace trine::http {

class Server::Impl {
 public:
  Impl(Options options, Handler handler)
      : context_(std::make_shared<Context>(std::move(options), std::move(handler))) {
    const int threads = std::max(context_->options().threads, 1);
    for (int i = 0; i < threads; ++i) connections_.emplace_back(std::make_shared<Connections>());
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start() {
    const auto accept = [this](size_t index, std::shared_ptr<Loop> loop,
                               std::unique_ptr<Transport> transport, const std::string& address) {
      add(index, std::move(loop), std::move(transport), address);
    };
    TRINE_ASSIGN_OR_RETURN(network_, Network::open(context_->options(), accept));
    return network_->run();
  }

  const Context& context() const { return *context_; }
  int port() const { return network_->port(); }
  void stop_accepting() { network_->stop_accepting(); }

  bool drain(std::chrono::steady_clock::time_point deadline) {
    network_->stop_accepting();
    context_->set_draining();
    for_all_connections([](Connection& connection) { connection.drain(); });
    return context_->wait_until_empty(deadline);
  }

  void stop() {
    if (network_ == nullptr || has_stopped_) return;
    has_stopped_ = true;
    network_->stop_accepting();
    for_all_connections([](Connection& connection) { connection.stop(); });
    network_->join();
  }

 private:
  // Of one loop, and touched by its thread only. The reference here keeps a connection alive.
  using Connections = std::unordered_map<Connection*, std::shared_ptr<Connection>>;

  void add(size_t index, std::shared_ptr<Loop> loop, std::unique_ptr<Transport> transport,
           const std::string& address) {
    const Context::Admission admission = context_->admit(address);
    if (admission == Context::Admission::kDrop) return;
    const auto on_gone = [context = context_, all = connections_[index],
                          address](Connection* connection) {
      all->erase(connection);
      context->leave(address);
    };
    auto connection = std::make_shared<Connection>(context_, std::move(loop), std::move(transport),
                                                   address, on_gone);
    connections_[index]->emplace(connection.get(), connection);
    std::optional<Refusal> refusal;
    if (admission == Context::Admission::kFull) refusal = Refusal::kConnections;
    if (admission == Context::Admission::kAddressFull) refusal = Refusal::kConnectionsAddress;
    connection->start(refusal);
  }

  void for_all_connections(const std::function<void(Connection&)>& visit) {
    for (size_t i = 0; i < connections_.size(); ++i) {
      (void)network_->loop(i)->post([all = connections_[i], visit] {
        std::vector<std::shared_ptr<Connection>> now;  // a visit may remove
        for (const auto& [pointer, connection] : *all) now.push_back(connection);
        for (const auto& connection : now) visit(*connection);
      });
    }
  }

  const std::shared_ptr<Context> context_;
  std::vector<std::shared_ptr<Connections>> connections_;
  std::unique_ptr<Network> network_;
  bool has_stopped_ = false;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(Options options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  TRINE_RETURN_IF_ERROR(impl->start());
  return std::make_unique<Server>(std::move(impl));
}

int Server::port() const { return impl_->port(); }
bool Server::secure() const { return !impl_->context().options().tls_certificate_file.empty(); }
Stats Server::stats() const { return impl_->context().stats(); }
void Server::stop_accepting() { impl_->stop_accepting(); }
bool Server::drain(std::chrono::steady_clock::time_point deadline) {
  return impl_->drain(deadline);
}
void Server::stop() { impl_->stop(); }

}  // namespace trine::http
