// SPDX-License-Identifier: Apache-2.0
// The service over HTTP/1.1. One thread accepts connections, each of which is answered by a thread
// of its own, as many at a time as the options say; others wait, and beyond a number of those that
// wait they are told so with status 429. While any waits, a connection is closed after its answer.
//
//   Server server(service, options);
//   server.start();
//   ... server.port() ...
//   server.stop();
//
// A request must arrive, and its answer be taken, each within options.request_seconds, however
// slowly the other side goes on; bodies beyond options.body_bytes are refused before they are read.
// Compressed and multipart bodies are refused; answers are not compressed.
#pragma once

#include <memory>
#include <string>

#include "simile/serve/serve_options.h"
#include "simile/serve/service.h"

namespace simile {

class Server {
 public:
  // Takes the address and listens; connections wait until start(). Errors: kUsage as
  // check_exposure(), kInput for certificates that cannot be used, kIo when the address cannot be
  // had. With TLS the process must ignore SIGPIPE.
  Server(Service& service, const ServeOptions& options);
  ~Server();  // as stop()

  int port() const;
  std::string url() const;  // "http://127.0.0.1:8080"

  void start();

  // Reads certificate and key again: connections that begin from now on see them. May be called
  // while others are answered. Errors (kInput): they cannot be used; those before stay.
  void renew_certificates();

  // Accepts nothing more, answers what was accepted, and returns when all connections are closed
  // and the service is stopped. A request of which parts are still missing two seconds later is not
  // waited for.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
