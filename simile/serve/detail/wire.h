// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, as they are or through TLS. Nothing waits.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace simile::detail {

// What a server shows of itself: at least TLS 1.2. `certificates`: a PEM file with the server's
// certificate and those between it and a known one. Errors (kInput): files that cannot be read or
// do not belong together.
std::shared_ptr<SSL_CTX> load_tls(const std::string& certificates, const std::string& key);

class Wire {
 public:
  // Owns `socket`. `tls` null: bytes as they are.
  Wire(int socket, SSL_CTX* tls);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // How many bytes were moved; where none were, which events (poll.h) have to come first, 0 for a
  // connection that is over.
  struct Step {
    size_t bytes = 0;
    short events = 0;
  };
  Step receive(char* bytes, size_t size);
  Step send(const char* bytes, size_t size);

  // Tells the other side that no more comes.
  void end_sending();

  int socket() const { return socket_; }

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  Step step_of(int moved) const;

  const int socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
};

}  // namespace simile::detail
