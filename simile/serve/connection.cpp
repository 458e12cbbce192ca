// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/connection.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace simile::detail {
namespace {

constexpr size_t kMostHeaderBytes = 32768;
constexpr size_t kReceiveBytes = 16384;
constexpr auto kGraceOfRequest = std::chrono::seconds(2);  // from the stop on
constexpr auto kGraceOfFresh = std::chrono::seconds(1);
constexpr auto kLingerTime = std::chrono::seconds(2);

int milliseconds_until(ServeClock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - ServeClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 3600 * 1000));
}

// The events of `socket`, or of `other` too where it is not -1; 0 at the deadline.
struct Ready {
  bool socket = false, other = false;
};

Ready wait_for(int socket, short events, int other, ServeClock::time_point deadline) {
  pollfd watched[2] = {{socket, events, 0}, {other, POLLIN, 0}};
  for (;;) {
    const int count = poll(watched, other < 0 ? 1 : 2, milliseconds_until(deadline));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    return {watched[0].revents != 0, other >= 0 && watched[1].revents != 0};
  }
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

SocketAddress address_of(NameOf name_of, int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = "", service[NI_MAXSERV] = "0";
  if (name_of(socket, plain, &size) != 0) return {};
  if (getnameinfo(plain, size, host, sizeof(host), service, sizeof(service),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host, std::atoi(service)};
}

}  // namespace

SocketAddress peer_of(int socket) { return address_of(getpeername, socket); }

Connection::Connection(int socket, SSL_CTX* tls, int stop_signal)
    : wire_(socket, tls), stop_signal_(stop_signal), input_(kReceiveBytes) {}

bool Connection::await_request(std::chrono::seconds limit, bool fresh) {
  if (input_read_ < input_end_) return true;
  ServeClock::time_point deadline = ServeClock::now();
  if (!stopping_) deadline += limit;  // it may have been told to while it answered
  for (;;) {
    const Ready ready = wait_for(socket(), POLLIN, stopping_ ? -1 : stop_signal_, deadline);
    if (ready.socket) return true;
    if (!ready.other) return false;
    stopping_ = true;
    deadline = ServeClock::now();
    if (fresh) deadline += kGraceOfFresh;
  }
}

void Connection::begin_request(ServeClock::time_point deadline) {
  deadline_ = deadline;
  if (stopping_) deadline_ = std::min(deadline_, ServeClock::now() + kGraceOfRequest);
  in_headers_ = true;
  header_bytes_ = body_read_ = body_expected_ = 0;
}

void Connection::begin_body(size_t expected_bytes) {
  in_headers_ = false;
  body_expected_ = expected_bytes;
}

// Until the deadline, which a stop of the server brings nearer.
bool Connection::await(short events) {
  for (;;) {
    const Ready ready = wait_for(socket(), events, stopping_ ? -1 : stop_signal_, deadline_);
    if (ready.socket) return true;
    if (!ready.other) return false;
    stopping_ = true;
    deadline_ = std::min(deadline_, ServeClock::now() + kGraceOfRequest);
  }
}

bool Connection::fill() {
  if (!flush(deadline_)) return false;
  input_end_ = input_read_ = 0;
  Wire::Step step;
  do {
    step = wire_.receive(input_.data(), input_.size());
  } while (step.events != 0 && await(step.events));
  input_end_ = step.bytes;
  return step.bytes > 0;
}

ssize_t Connection::read(char* bytes, size_t size) {
  if (input_read_ == input_end_ && !fill()) return -1;
  const size_t count = std::min(size, input_end_ - input_read_);
  (in_headers_ ? header_bytes_ : body_read_) += count;
  if (header_bytes_ > kMostHeaderBytes) return -1;
  std::memcpy(bytes, input_.data() + input_read_, count);
  input_read_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* bytes, size_t size) {
  output_.append(bytes, size);
  return static_cast<ssize_t>(size);
}

bool Connection::other_side_ended() const {
  pollfd watched = {socket(), POLLRDHUP, 0};
  return poll(&watched, 1, 0) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool Connection::flush(ServeClock::time_point deadline) {
  size_t sent = 0;
  while (sent < output_.size()) {
    const Wire::Step step = wire_.send(output_.data() + sent, output_.size() - sent);
    sent += step.bytes;
    const bool over = step.bytes == 0 && step.events == 0;
    if (over || (step.events != 0 && !wait_for(socket(), step.events, -1, deadline).socket)) break;
  }
  const bool all = sent == output_.size();
  output_.clear();
  return all;
}

void Connection::linger() {
  wire_.end_sending();
  const ServeClock::time_point end = ServeClock::now() + kLingerTime;
  char dropped[kReceiveBytes];
  while (ServeClock::now() < end && wait_for(socket(), POLLIN, -1, end).socket) {
    if (recv(socket(), dropped, sizeof(dropped), MSG_DONTWAIT) <= 0) return;
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  if (!remote_) remote_ = peer_of(socket());
  ip = remote_->ip;
  port = remote_->port;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  if (!local_) local_ = address_of(getsockname, socket());
  ip = local_->ip;
  port = local_->port;
}

}  // namespace simile::detail
