// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "simile/core/check.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

constexpr size_t kMostHeaderBytes = 32768;
constexpr size_t kLengthDigits = 15;  // of a Content-Length that we look at
constexpr size_t kLongestPath = 500;
constexpr size_t kReceiveBytes = 16384;
constexpr auto kGraceOfRequest = std::chrono::seconds(2);  // from the stop on
constexpr auto kGraceOfFresh = std::chrono::seconds(1);
constexpr auto kLingerTime = std::chrono::seconds(2);

int milliseconds_until(ServeClock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - ServeClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 3600 * 1000));
}

// The events of `socket`, and of `other` where it is not -1; none at the deadline.
struct Ready {
  bool socket = false, other = false;
};

Ready wait_for(int socket, short events, int other, ServeClock::time_point deadline) {
  pollfd watched[2] = {{socket, events, 0}, {other, POLLIN, 0}};
  for (;;) {
    const int count = poll(watched, 2, milliseconds_until(deadline));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    return {watched[0].revents != 0, watched[1].revents != 0};
  }
}

void check_tls(bool good, const std::string& file, const char* what) {
  if (good) return;
  char reason[256] = "unknown reason";
  if (const unsigned long code = ERR_get_error()) ERR_error_string_n(code, reason, sizeof(reason));
  ERR_clear_error();
  throw_error(ErrorKind::kInput, "{}: {} ({})", file, what, reason);
}

int most(size_t size) {
  return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

std::shared_ptr<SSL_CTX> load_tls(const std::string& certificates, const std::string& key) {
  const std::shared_ptr<SSL_CTX> tls(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SIMILE_CHECK(tls != nullptr, ErrorKind::kFailed, "OpenSSL has no TLS");
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(tls.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  check_tls(SSL_CTX_use_certificate_chain_file(tls.get(), certificates.c_str()) == 1, certificates,
            "no PEM file with a certificate that can be used");
  check_tls(SSL_CTX_use_PrivateKey_file(tls.get(), key.c_str(), SSL_FILETYPE_PEM) == 1, key,
            "no PEM file with the private key of the certificate");
  return tls;
}

SocketAddress peer_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = "", service[NI_MAXSERV] = "0";
  if (getpeername(socket, plain, &size) != 0) return {};
  if (getnameinfo(plain, size, host, sizeof(host), service, sizeof(service),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host, std::atoi(service)};
}

Connection::Connection(int socket, SSL_CTX* tls, int stop_signal)
    : socket_(socket), stop_signal_(stop_signal), input_(kReceiveBytes) {
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls));
  if (tls_ != nullptr && SSL_set_fd(tls_.get(), socket) == 1) SSL_set_accept_state(tls_.get());
}

Connection::~Connection() {
  end_tls();
  close(socket_);
}

void Connection::end_tls() {
  if (tls_ != nullptr && SSL_is_init_finished(tls_.get())) SSL_shutdown(tls_.get());
}

Connection::Step Connection::step_of(ssize_t moved, short events) const {
  if (moved > 0) return {static_cast<size_t>(moved), 0};
  if (tls_ == nullptr) {
    const bool later = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return {0, later ? events : short{0}};
  }
  switch (SSL_get_error(tls_.get(), static_cast<int>(moved))) {
    case SSL_ERROR_WANT_READ:
      return {0, POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {0, POLLOUT};
    default:
      return {0, 0};
  }
}

bool Connection::await_request(std::chrono::seconds limit, bool fresh) {
  if (input_read_ < input_end_) return true;
  ServeClock::time_point deadline = ServeClock::now();
  if (!stopping_) deadline += limit;  // it may have been told to while it answered
  return await(POLLIN, fresh ? kGraceOfFresh : std::chrono::seconds(0), deadline);
}

void Connection::begin_request(ServeClock::time_point deadline) {
  deadline_ = deadline;
  if (stopping_) deadline_ = std::min(deadline_, ServeClock::now() + kGraceOfRequest);
  in_headers_ = true;
  header_bytes_ = body_read_ = body_expected_ = 0;
}

bool Connection::await(short events, std::chrono::seconds grace, ServeClock::time_point& deadline) {
  for (;;) {
    const Ready ready = wait_for(socket(), events, stopping_ ? -1 : stop_signal_, deadline);
    if (ready.socket) return true;
    if (!ready.other) return false;
    stopping_ = true;
    deadline = std::min(deadline, ServeClock::now() + grace);
  }
}

bool Connection::fill() {
  if (!flush(deadline_)) return false;
  input_end_ = input_read_ = 0;
  Step step;
  do {
    ERR_clear_error();
    step = step_of(tls_ == nullptr ? recv(socket_, input_.data(), input_.size(), MSG_DONTWAIT)
                                   : SSL_read(tls_.get(), input_.data(), most(input_.size())),
                   POLLIN);
  } while (step.events != 0 && await(step.events, kGraceOfRequest, deadline_));
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
    const char* const bytes = output_.data() + sent;
    const size_t size = output_.size() - sent;
    ERR_clear_error();
    const Step step =
        step_of(tls_ == nullptr ? send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                                : SSL_write(tls_.get(), bytes, most(size)),
                POLLOUT);
    sent += step.bytes;
    const bool over = step.bytes == 0 && step.events == 0;
    if (over || (step.events != 0 && !wait_for(socket(), step.events, -1, deadline).socket)) break;
  }
  const bool all = sent == output_.size();
  output_.clear();
  return all;
}

void Connection::linger() {
  end_tls();
  shutdown(socket_, SHUT_WR);
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

ConnectionThreads::ConnectionThreads(size_t most_threads, size_t most_waiting,
                                     std::function<void(int)> serve)
    : most_threads_(most_threads), most_waiting_(most_waiting), serve_(std::move(serve)) {}

ConnectionThreads::~ConnectionThreads() { finish(); }

bool ConnectionThreads::add(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.size() >= idle_ + most_waiting_) return false;
  waiting_.push_back(socket);
  if (waiting_.size() > idle_ && threads_.size() < most_threads_) {
    threads_.emplace_back([this] { work(); });
  } else {
    wake_.notify_one();
  }
  return true;
}

bool ConnectionThreads::is_waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return threads_.size() == most_threads_ && waiting_.size() > idle_;
}

void ConnectionThreads::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ConnectionThreads::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return finishing_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const int socket = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    serve_(socket);
    lock.lock();
  }
}

bool is_chunked(const httplib::Request& request) { return request.has_header("Transfer-Encoding"); }

size_t content_length(const httplib::Request& request) {
  const std::string digits = request.get_header_value("Content-Length");
  if (digits.size() > kLengthDigits) return 0;  // check_request() refuses it
  return std::strtoull(digits.c_str(), nullptr, 10);
}

bool has_body(const httplib::Request& request) {
  return is_chunked(request) || content_length(request) > 0;
}

void check_request(const httplib::Request& request) {
  static const std::vector<std::string> methods = {"GET",   "HEAD",   "POST",   "PUT",
                                                   "PATCH", "DELETE", "OPTIONS"};
  // Two readings of where a request ends would let one hide in another.
  const std::string length = request.get_header_value("Content-Length");
  const bool is_clear =
      request.get_header_value_count("Content-Length") <= 1 &&
      length.find_first_not_of("0123456789") == std::string::npos &&
      length.size() <= kLengthDigits && request.get_header_value_count("Transfer-Encoding") <= 1 &&
      (!is_chunked(request) ||
       (length.empty() && request.get_header_value("Transfer-Encoding") == "chunked"));
  SIMILE_REQUEST_CHECK(is_clear, Refusal::kMalformed,
                       "Content-Length and Transfer-Encoding do not say where the body ends");
  SIMILE_REQUEST_CHECK(std::find(methods.begin(), methods.end(), request.method) != methods.end(),
                       Refusal::kWrongMethod, "there is no route for " + request.method);
  // httplib matches it by recursion.
  SIMILE_REQUEST_CHECK(request.path.size() <= kLongestPath, Refusal::kUnknownRoute,
                       "there is no route of so long a name");
}

void check_body(const httplib::Request& request, int64_t most_bytes) {
  SIMILE_REQUEST_CHECK(!request.has_header("Content-Encoding") && !request.is_multipart_form_data(),
                       Refusal::kWrongType,
                       "send the body as it is: application/json, not compressed, in one part");
  SIMILE_REQUEST_CHECK(
      content_length(request) <= static_cast<size_t>(most_bytes), Refusal::kTooLarge,
      fmt::format("the body has {} bytes; it may have {}", content_length(request), most_bytes));
}

std::string read_body(const httplib::ContentReader& reader, int64_t most_bytes) {
  std::string body;
  bool too_large = false;
  const bool complete = reader([&](const char* bytes, size_t count) {
    too_large = body.size() + count > static_cast<size_t>(most_bytes);
    if (!too_large) body.append(bytes, count);
    return !too_large;
  });
  SIMILE_REQUEST_CHECK(!too_large, Refusal::kTooLarge,
                       fmt::format("the body has more than {} bytes", most_bytes));
  SIMILE_REQUEST_CHECK(complete, Refusal::kMalformed, "the body is not complete");
  return body;
}

}  // namespace simile::detail
