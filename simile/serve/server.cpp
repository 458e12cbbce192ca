// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <thread>
#include <utility>

#include "simile/core/check.h"
#include "simile/serve/detail/connection.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

using namespace detail;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kMostTurnedAway = 64;  // beyond --connections, while they read why
constexpr size_t kOtherFiles = 200;     // descriptors beside those of connections
constexpr auto kTick = std::chrono::milliseconds(100);

// As many descriptors as the system allows; returns how many connections these are enough for.
size_t raise_descriptor_limit() {
  rlimit limit = {1024, 1024};  // where it may not be asked for
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::max<size_t>(limit.rlim_cur, kOtherFiles + 1) - kOtherFiles;
}

}  // namespace

struct Server::Parts {
  Parts(Service& service, const ServeOptions& given)
      : options(given),
        service(service),
        most(std::min(static_cast<size_t>(options.connections), raise_descriptor_limit())),
        acceptor(context),
        timer(context),
        shared(context, service, options) {
    check_exposure(options);
    renew_certificates();
    listen();
  }

  void listen() {
    error_code error;
    const std::string service_name = std::to_string(options.port);
    for (const auto& entry : tcp::resolver(context).resolve(options.host, service_name,
                                                            tcp::resolver::passive, error)) {
      try {
        acceptor = tcp::acceptor(context, entry.endpoint());
        break;
      } catch (const boost::system::system_error&) {  // another address may do
      }
    }
    SIMILE_CHECK(acceptor.is_open(), ErrorKind::kIo,
                 "cannot listen on {} port {}: it is in use, or no address of this "
                 "machine; choose another --port, or 0 for one that is free",
                 options.host, options.port);
    acceptor.non_blocking(true);
    port = acceptor.local_endpoint().port();
  }

  void renew_certificates() {
    if (options.tls_certificate.empty()) return;
    std::atomic_store(&tls, load_tls(options.tls_certificate, options.tls_key));
  }

  void start() {
    accept();
    tick();
    thread = std::thread([this] {
      while (!context.stopped()) {
        try {
          context.run();
        } catch (const std::exception& error) {  // memory for a connection
          service.note("connection lost", error.what());
        }
      }
    });
  }

  void accept() {
    if (!acceptor.is_open()) return;
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        add(std::move(socket));
        return accept();
      }
      if (!acceptor.is_open()) return;
      make_room("");  // no more descriptors
      pause.expires_after(kTick);
      pause.async_wait([this](error_code) { accept(); });
    });
  }

  void add(tcp::socket socket) {
    const std::shared_ptr<TlsContext> shown = std::atomic_load(&tls);
    const auto connection = std::make_shared<Connection>(std::move(socket), shown, shared);
    service.metrics().count("simile_connections_total");
    const std::string& address = connection->address();
    const auto per_address = static_cast<size_t>(options.connections_per_address);
    const bool fits_address =
        per_address == 0 || count_open(address) < per_address || make_room(address);
    if (fits_address && (connections.size() < most || make_room(""))) {
      connections.push_back(connection);
      return connection->start();
    }
    service.metrics().count("simile_connections_refused_total");
    if (connections.size() >= most + kMostTurnedAway) return connection->close();
    connections.push_back(connection);
    connection->turn_away({Refusal::kOverloaded, "too many connections; try again later", "", 1});
  }

  size_t count_open(const std::string& address) const {
    return static_cast<size_t>(std::count_if(
        connections.begin(), connections.end(),
        [&](const auto& other) { return other->is_open() && other->address() == address; }));
  }

  // Closes the connection, of `address` where one is given, that has waited longest for its client.
  // False: all are busy.
  bool make_room(const std::string& address) {
    const auto key = [](const auto& connection) {
      return std::pair(-connection->idleness(), connection->since());
    };
    auto found = connections.end();
    for (auto it = connections.begin(); it != connections.end(); ++it) {
      if ((!address.empty() && (*it)->address() != address) || (*it)->idleness() == 0) continue;
      if (found == connections.end() || key(*it) < key(*found)) found = it;
    }
    if (found == connections.end()) return false;
    if ((*found)->is_open()) service.metrics().count("simile_connections_evicted_total");
    (*found)->close();
    connections.erase(found);
    return true;
  }

  void tick() {
    const ServeClock::time_point now = ServeClock::now();
    for (const auto& connection : connections) connection->check_time(now);
    connections.remove_if([](const auto& connection) { return !connection->is_open(); });
    service.metrics().set("simile_connections", static_cast<double>(connections.size()));
    shared.tidy(now);
    if (shared.stopping && connections.empty()) return;
    timer.expires_after(kTick);
    timer.async_wait([this](error_code) { tick(); });
  }

  void begin_stop() {
    service.begin_stop();
    error_code error;
    while (!error) {  // these were let in
      tcp::socket socket(context);
      acceptor.accept(socket, error);
      if (!error) add(std::move(socket));
    }
    acceptor.close();
    pause.cancel();
    shared.stopping = true;
    for (const auto& connection : connections) connection->stop();
  }

  void stop() {
    if (thread.joinable()) {
      asio::post(context, [this] { begin_stop(); });
      thread.join();
    }
    shared.finish();
    service.stop();
  }

  const ServeOptions options;
  Service& service;
  const size_t most;  // connections
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::steady_timer timer, pause{context};
  Shared shared;
  std::list<std::shared_ptr<Connection>> connections;
  std::shared_ptr<TlsContext> tls;  // of std::atomic_load() and std::atomic_store(); null: none
  int port = -1;
  std::thread thread;
};

Server::Server(Service& service, const ServeOptions& options)
    : parts_(std::make_unique<Parts>(service, options)) {}

Server::~Server() { stop(); }

int Server::port() const { return parts_->port; }

std::string Server::url() const {
  const std::string& host = parts_->options.host;
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", parts_->options.tls_certificate.empty() ? "http" : "https",
                     six ? "[" + host + "]" : host, port());
}

void Server::start() { parts_->start(); }

void Server::renew_certificates() { parts_->renew_certificates(); }

void Server::stop() { parts_->stop(); }

}  // namespace simile
