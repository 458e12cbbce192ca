// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "simile/core/check.h"
#include "simile/serve/detail/connection.h"
#include "simile/text/words.h"

namespace simile {
namespace {

using namespace detail;

constexpr int kBacklog = 512;                 // connections that the system holds for us
constexpr size_t kMostWaiting = 512;          // accepted ones that wait for a thread
constexpr int kPauseWithoutDescriptors = 50;  // milliseconds

void fill_response(Reply reply, httplib::Response& response) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (reply.body.empty()) return;
  response.set_header("Content-Type", reply.content_type);
  response.body = std::move(reply.body);
}

// The connection whose request this thread answers; httplib does not tell its handlers.
thread_local const Connection* answered = nullptr;
thread_local bool asks_to_close = false;  // its client, after the answer

// httplib reads and writes what it is given; sockets and threads are ours.
class HttpServer : public httplib::Server {
 public:
  HttpServer(Service& service, const ServeOptions& options) : service_(service), options_(options) {
    set_tcp_nodelay(true);
    set_socket_options([](socket_t socket) {  // in place of a port shared by several servers
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    set_keep_alive_timeout(options.keep_alive_seconds);
    set_keep_alive_max_count(1000000);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      try {
        check_request(request);
        return HandlerResponse::Unhandled;
      } catch (const RequestError& error) {
        refuse(request, error, response);
        return HandlerResponse::Handled;
      }
    });
    set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (response.has_header("X-Request-Id")) return;  // ours
      const RequestError error(Refusal::kMalformed, "this is no HTTP request that can be read");
      refuse(request, error, response, response.status);
    });
    const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response, nullptr);
    };
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& reader) {
      answer(request, response, &reader);
    };
    Get(".*", without_body).Options(".*", without_body).Delete(".*", without_body);
    Post(".*", with_body).Put(".*", with_body).Patch(".*", with_body).Delete(".*", with_body);
  }

  // Returns the port; 0 or less when the address cannot be had.
  int take_address() {
    const int port = static_cast<int>(options_.port);
    if (port == 0) return bind_to_any_port(options_.host);
    return bind_to_port(options_.host, port) ? port : -1;
  }

  int listener() const { return svr_sock_; }

  // Reads and answers one request; `prepare` sees it before its body is read.
  bool process(httplib::Stream& stream, bool& closed,
               const std::function<void(httplib::Request&)>& prepare) {
    return process_request(stream, false, closed, prepare);
  }

 private:
  // What is not known to be a request that ends where we think it does.
  void refuse(const httplib::Request& request, const RequestError& error,
              httplib::Response& response, int status = 0) {
    fill_response(service_.refuse(call_of(request), error, status), response);
    response.set_header("Connection", "close");
  }

  static Call call_of(const httplib::Request& request) {
    Call call;
    call.method = request.method;
    call.path = request.path;
    call.authorization = request.get_header_value("Authorization");
    call.content_type = request.get_header_value("Content-Type");
    call.request_id = request.get_header_value("X-Request-Id");
    call.if_none_match = request.get_header_value("If-None-Match");
    call.host = request.get_header_value("Host");
    call.origin = request.get_header_value("Origin");
    int port = 0;
    if (answered != nullptr) answered->get_remote_ip_and_port(call.remote, port);
    return call;
  }

  void answer(const httplib::Request& request, httplib::Response& response,
              const httplib::ContentReader* reader) {
    bool unread = has_body(request);
    Call call = call_of(request);
    call.deadline = ServeClock::now() + std::chrono::seconds(options_.request_seconds);
    const Connection* connection = answered;
    // Who has no more requests may end its sending side and still wait for the answer.
    if (connection != nullptr && !asks_to_close && !connection->other_side_ended()) {
      call.has_left = [connection] { return connection->other_side_ended(); };
    }
    call.read_body = [&]() -> std::string {
      if (reader == nullptr || !unread) return "";
      check_body(request, options_.body_bytes);
      unread = false;
      return read_body(*reader, options_.body_bytes);
    };
    fill_response(service_.answer(call), response);
    if (unread) response.set_header("Connection", "close");
  }

  Service& service_;
  const ServeOptions& options_;
};

}  // namespace

struct Server::Parts {
  Parts(Service& service, const ServeOptions& options)
      : service(service),
        options(options),
        http(service, this->options),
        threads(static_cast<size_t>(options.connections), kMostWaiting,
                [this](int socket) { serve(socket); }) {}

  ~Parts() {
    if (listener >= 0) close(listener);
    if (stop_signal >= 0) close(stop_signal);
  }

  void listen_on_address() {
    check_exposure(options);
    renew_certificates();
    port = http.take_address();
    SIMILE_CHECK(port > 0, ErrorKind::kIo,
                 "cannot listen on {} port {}: it is in use, or no address of this "
                 "machine; choose another --port, or 0 for one that is free",
                 options.host, options.port);
    listener = http.listener();
    stop_signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const bool ready = stop_signal >= 0 && listen(listener, kBacklog) == 0 &&
                       fcntl(listener, F_SETFL, O_NONBLOCK) == 0;
    SIMILE_CHECK(ready, ErrorKind::kIo, "the system refuses a listening socket");
  }

  void renew_certificates() {
    if (options.tls_certificate.empty()) return;
    std::atomic_store(&tls, load_tls(options.tls_certificate, options.tls_key));
  }

  void accept_until_stop() {
    for (;;) {
      pollfd watched[2] = {{listener, POLLIN, 0}, {stop_signal, POLLIN, 0}};
      if (poll(watched, 2, -1) < 0 && errno != EINTR) pause();
      accept_waiting();  // at the stop too: these were let in
      if (watched[1].revents != 0) return;
    }
  }

  void accept_waiting() {
    for (;;) {
      const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket >= 0) {
        if (!threads.add(socket)) turn_away(socket);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return pause();
      } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
        return;
      }
    }
  }

  void pause() const {
    pollfd watched = {stop_signal, POLLIN, 0};
    poll(&watched, 1, kPauseWithoutDescriptors);
  }

  void turn_away(int socket) const {
    const RequestError error(Refusal::kOverloaded, "too many connections wait; try again later", "",
                             1);
    Call call;
    call.remote = peer_of(socket).ip;
    const Reply reply = service.refuse(call, error);
    std::string answer = fmt::format(
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: {}"
        "\r\nConnection: close\r\n",
        reply.body.size());
    for (const auto& [name, value] : reply.headers) {
      answer += fmt::format("{}: {}\r\n", name, value);
    }
    answer += "\r\n" + reply.body;
    const bool plain = options.tls_certificate.empty();
    if (plain) send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(socket, SHUT_WR);
    close(socket);
  }

  void serve(int socket) {
    const std::shared_ptr<SSL_CTX> shown = std::atomic_load(&tls);
    Connection connection(socket, shown.get(), stop_signal);
    const std::chrono::seconds limit(options.keep_alive_seconds);
    bool fresh = true;
    while (connection.await_request(limit, fresh) && serve_request(connection)) fresh = false;
  }

  // Whether the connection stays open.
  bool serve_request(Connection& connection) {
    const std::chrono::seconds limit(options.request_seconds);
    connection.begin_request(ServeClock::now() + limit);
    bool prepared = false, last = false, closed = false;
    const auto prepare = [&](httplib::Request& request) {
      prepared = true;
      connection.begin_body(content_length(request));
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
      asks_to_close = lower_text(request.get_header_value("Connection")) == "close";
      last = is_chunked(request) || stopping || threads.is_waiting();
      if (!last) return;
      request.headers.erase("Connection");
      request.headers.emplace("Connection", "close");
    };
    answered = &connection;
    const bool is_answered = http.process(connection, closed, prepare);
    answered = nullptr;
    const bool sent = connection.flush(ServeClock::now() + limit);
    const bool in_order = prepared && !connection.has_unread_body();
    if (sent && !in_order) connection.linger();
    return is_answered && sent && in_order && !last && !closed;
  }

  void stop() {
    if (stopping.exchange(true)) return;
    eventfd_write(stop_signal, 1);
    if (acceptor.joinable()) acceptor.join();
    close(listener);
    listener = -1;
    threads.finish();
    service.stop();
  }

  Service& service;
  const ServeOptions options;
  HttpServer http;
  std::shared_ptr<SSL_CTX> tls;  // of std::atomic_load() and std::atomic_store(); null: none
  int port = -1, listener = -1, stop_signal = -1;
  std::atomic<bool> stopping{false};
  ConnectionThreads threads;
  std::thread acceptor;
};

Server::Server(Service& service, const ServeOptions& options)
    : parts_(std::make_unique<Parts>(service, options)) {
  parts_->listen_on_address();
}

Server::~Server() { stop(); }

int Server::port() const { return parts_->port; }

std::string Server::url() const {
  const std::string& host = parts_->options.host;
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", parts_->options.tls_certificate.empty() ? "http" : "https",
                     six ? "[" + host + "]" : host, port());
}

void Server::start() {
  parts_->acceptor = std::thread([parts = parts_.get()] { parts->accept_until_stop(); });
}

void Server::renew_certificates() { parts_->renew_certificates(); }

void Server::stop() { parts_->stop(); }

}  // namespace simile
