// SPDX-License-Identifier: Apache-2.0
// A connection, plain or through TLS, as httplib::Server::process_request() reads and writes it,
// with what httplib 0.11 lacks: an end to requests that come byte by byte, a limit for all headers
// together, waiting that a stop ends at once, and answers sent in one piece; the threads that serve
// connections, and the checks of requests as they come.
#pragma once

#include <httplib.h>
#include <openssl/ssl.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "simile/serve/batching_worker.h"

namespace simile::detail {

// What a server shows of itself: at least TLS 1.2. `certificates`: a PEM file with the server's
// certificate and those between it and a known one. Errors (kInput): files that cannot be read or
// do not belong together.
std::shared_ptr<SSL_CTX> load_tls(const std::string& certificates, const std::string& key);

struct SocketAddress {
  std::string ip;
  int port = 0;
};

// The other side of a socket.
SocketAddress peer_of(int socket);

class Connection : public httplib::Stream {
 public:
  // Owns `socket`, which does not wait. `tls` null: bytes as they are. `stop_signal` is a
  // descriptor that is readable from the stop of the server on.
  Connection(int socket, SSL_CTX* tls, int stop_signal);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for the first byte of a request. False: none came in time, the other side has closed, or
  // the server stops and nothing is on its way; a `fresh` connection has a second from the stop on.
  bool await_request(std::chrono::seconds limit, bool fresh);

  // From here on the request must arrive by `deadline`.
  void begin_request(ServeClock::time_point deadline);
  // What is read from here on is the body.
  void begin_body(size_t expected_bytes) {
    in_headers_ = false;
    body_expected_ = expected_bytes;
  }
  bool has_unread_body() const { return body_read_ < body_expected_; }

  // Whether the other side sends nothing more: it has left, unless it did so with its request. May
  // be called on another thread.
  bool other_side_ended() const;

  // Sends what was written, by `deadline`.
  bool flush(ServeClock::time_point deadline);

  // Tells the other side that no more comes, and lets it finish what it is sending, so that it
  // reads the answer.
  void linger();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override;
  ssize_t write(const char* bytes, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string&, int&) const override {}  // nobody asks
  socket_t socket() const override { return socket_; }

 private:
  // Until `deadline`, which a stop of the server brings nearer: to `grace` from then on.
  bool await(short events, std::chrono::seconds grace, ServeClock::time_point& deadline);
  bool fill();

  // How many bytes a call moved; where none were, which events (poll.h) have to come first, 0 for a
  // connection that is over. `events`: those that a plain socket waits for.
  struct Step {
    size_t bytes = 0;
    short events = 0;
  };
  Step step_of(ssize_t moved, short events) const;
  void end_tls();

  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  const int socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
  const int stop_signal_;
  std::vector<char> input_;  // received up to input_end_, read up to input_read_
  size_t input_end_ = 0, input_read_ = 0;
  std::string output_;
  ServeClock::time_point deadline_;
  mutable std::optional<SocketAddress> remote_;  // once asked for
  bool in_headers_ = true, stopping_ = false;
  size_t header_bytes_ = 0, body_read_ = 0, body_expected_ = 0;
};

// Threads that serve sockets, one each: started as they are needed, up to a number; sockets beyond
// wait in order.
class ConnectionThreads {
 public:
  // `serve` gets a socket, which it closes, on one of at most `most_threads` threads.
  ConnectionThreads(size_t most_threads, size_t most_waiting, std::function<void(int)> serve);
  ~ConnectionThreads();  // as finish()

  // False, and the socket stays the caller's, when as many as may wait do.
  bool add(int socket);
  bool is_waiting() const;  // whether any socket waits for a thread that serves another
  // Serves what waits, and ends the threads. Nothing may be added then.
  void finish();

 private:
  void work();

  const size_t most_threads_, most_waiting_;
  const std::function<void(int)> serve_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<int> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool finishing_ = false;
};

// What has to hold of a request before a route sees it, and its body; errors are RequestErrors.
bool is_chunked(const httplib::Request& request);
size_t content_length(const httplib::Request& request);  // 0: none
bool has_body(const httplib::Request& request);

// Errors: kMalformed where the body may be read to end in two places; kWrongMethod and
// kUnknownRoute for what no route can answer.
void check_request(const httplib::Request& request);

// Errors: kWrongType for a compressed body or one in parts, kTooLarge.
void check_body(const httplib::Request& request, int64_t most_bytes);

// Errors: kTooLarge, kMalformed for one that is not complete.
std::string read_body(const httplib::ContentReader& reader, int64_t most_bytes);

}  // namespace simile::detail
