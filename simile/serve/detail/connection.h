// SPDX-License-Identifier: Apache-2.0
// One connection as httplib::Server::process_request() reads and writes it, with what httplib 0.11
// lacks: an end to requests that come byte by byte, a limit for all headers together, waiting that
// a stop ends at once, and answers sent in one piece.
#pragma once

#include <httplib.h>

#include <optional>
#include <string>
#include <vector>

#include "simile/serve/batching_worker.h"
#include "simile/serve/detail/wire.h"

namespace simile::detail {

struct SocketAddress {
  std::string ip;
  int port = 0;
};

// The other side of a socket.
SocketAddress peer_of(int socket);

class Connection : public httplib::Stream {
 public:
  // Owns `socket`, which does not wait. `tls` as wire.h; `stop_signal` is a descriptor that is
  // readable from the stop of the server on.
  Connection(int socket, SSL_CTX* tls, int stop_signal);

  // Waits for the first byte of a request. False: none came in time, the other side has closed, or
  // the server stops and nothing is on its way; a `fresh` connection has a second from the stop on.
  bool await_request(std::chrono::seconds limit, bool fresh);

  // From here on the request must arrive by `deadline`.
  void begin_request(ServeClock::time_point deadline);
  // What is read from here on is the body.
  void begin_body(size_t expected_bytes);
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
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return wire_.socket(); }

 private:
  bool await(short events);
  bool fill();

  Wire wire_;
  const int stop_signal_;
  std::vector<char> input_;  // received up to input_end_, read up to input_read_
  size_t input_end_ = 0, input_read_ = 0;
  std::string output_;
  ServeClock::time_point deadline_;
  mutable std::optional<SocketAddress> remote_, local_;  // once asked for
  bool in_headers_ = true, stopping_ = false;
  size_t header_bytes_ = 0, body_read_ = 0, body_expected_ = 0;
};

}  // namespace simile::detail
