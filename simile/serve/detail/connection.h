// SPDX-License-Identifier: Apache-2.0
// A connection, plain or through TLS, by Boost.Asio. All connections live on one thread, which
// waits for none of them; requests that compute are handed to threads of their own.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "simile/serve/detail/request_reader.h"
#include "simile/serve/serve_options.h"
#include "simile/serve/service.h"

namespace simile::detail {

namespace asio = boost::asio;
using TlsContext = asio::ssl::context;

// The server's TLS context: at least TLS 1.2, with forward secrecy. `certificates`: a PEM file with
// the server's certificate and its chain up to a known one. Errors (kInput): files that cannot be
// read or do not belong together, and a key with a pass phrase.
std::shared_ptr<TlsContext> load_tls(const std::string& certificates, const std::string& key);

// State shared by the connections of a server, on their one thread: the service, the answering
// threads (one per request, started as needed), and the memory they hold.
struct Shared {
  Shared(asio::io_context& connections, Service& service, const ServeOptions& options)
      : service(service), options(options), connections(connections) {}
  ~Shared() { finish(); }

  // Runs `work` on its own thread, then `done` on the connections', where what both hold ends. False:
  // all threads are busy.
  bool run(std::function<void()> work, std::function<void()> done);
  // Gives memory back to the system a while after the last work or touch().
  void tidy(ServeClock::time_point now);
  void touch() {
    is_untidy_ = true;
    last_touch_ = ServeClock::now();
  }
  void finish();  // ends the threads when their work is done

  // Whether bodies and answers in memory leave room for `more` bytes.
  bool has_room(size_t more) const {
    return held_bytes + more <= static_cast<size_t>(options.requests * options.body_bytes);
  }

  Service& service;
  const ServeOptions& options;
  asio::io_context& connections;
  size_t held_bytes = 0;
  bool stopping = false;

 private:
  asio::io_context work_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keep_{
      work_.get_executor()};
  std::vector<std::thread> threads_;
  size_t busy_ = 0;
  bool is_untidy_ = false;
  ServeClock::time_point last_touch_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::ip::tcp::socket;

  // `tls` null: bytes as they are.
  Connection(Socket socket, std::shared_ptr<TlsContext> tls, Shared& shared);
  ~Connection() { hold(0); }

  void start();
  // Answers with the error instead of the requested content, and closes.
  void turn_away(const RequestError& error) { tls_ ? close() : refuse(error); }
  // The server stops: requests that have begun are answered soon.
  void stop();
  // Closes connections that take too long; `now` comes again and again.
  void check_time(ServeClock::time_point now);
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  bool is_open() const { return socket_.is_open(); }
  // Whether it waits for its client; the one that waited longest makes room for another connection.
  // 0: no; 1: for the rest of a handshake or of headers; 2: between requests; 3: it is closed.
  int idleness() const;
  ServeClock::time_point since() const { return since_; }
  const std::string& address() const { return address_; }

 private:
  enum class State { kHandshake, kIdle, kHeaders, kBody, kAnswering, kWriting, kClosing };

  void enter(State state, std::chrono::milliseconds limit) {
    state_ = state;
    since_ = ServeClock::now();
    deadline_ = since_ + limit;
  }
  void begin_request();
  void read();
  void received(boost::system::error_code error, size_t count);
  void ended(bool in_order);
  void parse();
  void look_at_head();
  void answer();
  void refuse(const RequestError& error);
  void write(Reply reply);
  void written(boost::system::error_code error);
  void linger();
  void drain();
  std::string head_of(const Reply& reply) const;
  void hold(size_t bytes) {  // of its body or answer
    if (bytes < held_) shared_.touch();
    shared_.held_bytes += bytes - held_;
    held_ = bytes;
  }

  template <typename Use>
  void on_stream(const Use& use) {
    if (tls_) {
      use(*tls_);
    } else {
      use(socket_);
    }
  }

  Socket socket_;
  const std::shared_ptr<TlsContext> context_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  Shared& shared_;
  std::string address_;
  boost::beast::flat_buffer input_;
  std::optional<RequestReader> reader_{shared_.options};
  std::shared_ptr<std::atomic<bool>> has_left_;
  std::string head_, body_;  // being written
  State state_ = State::kHandshake;
  ServeClock::time_point since_, deadline_;
  size_t held_ = 0;
  bool reading_ = false, has_ended_ = false, fresh_ = true, closes_ = false;
};

}  // namespace simile::detail
