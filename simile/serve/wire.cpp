// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/wire.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

void check_tls(bool good, const std::string& file, const char* what) {
  if (good) return;
  char reason[256] = "unknown reason";
  if (const unsigned long code = ERR_get_error()) ERR_error_string_n(code, reason, sizeof(reason));
  ERR_clear_error();
  throw Error(ErrorKind::kInput, fmt::format("{}: {} ({})", file, what, reason));
}

int most(size_t size) {
  return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
}

Wire::Step plain_step(ssize_t moved, short events) {
  if (moved > 0) return {static_cast<size_t>(moved), 0};
  const bool later = moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {0, later ? events : short{0}};
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

Wire::Wire(int socket, SSL_CTX* tls) : socket_(socket) {
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket) != 1) return;
  SSL_set_accept_state(tls_.get());
}

Wire::~Wire() {
  if (tls_ != nullptr && SSL_is_init_finished(tls_.get())) SSL_shutdown(tls_.get());
  close(socket_);
}

Wire::Step Wire::receive(char* bytes, size_t size) {
  if (tls_ == nullptr) return plain_step(recv(socket_, bytes, size, MSG_DONTWAIT), POLLIN);
  ERR_clear_error();
  return step_of(SSL_read(tls_.get(), bytes, most(size)));
}

Wire::Step Wire::send(const char* bytes, size_t size) {
  if (tls_ == nullptr) {
    return plain_step(::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT), POLLOUT);
  }
  ERR_clear_error();
  return step_of(SSL_write(tls_.get(), bytes, most(size)));
}

Wire::Step Wire::step_of(int moved) const {
  if (moved > 0) return {static_cast<size_t>(moved), 0};
  switch (SSL_get_error(tls_.get(), moved)) {
    case SSL_ERROR_WANT_READ:
      return {0, POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {0, POLLOUT};
    default:
      return {0, 0};
  }
}

void Wire::end_sending() {
  if (tls_ != nullptr && SSL_is_init_finished(tls_.get())) SSL_shutdown(tls_.get());
  shutdown(socket_, SHUT_WR);
}

}  // namespace simile::detail
