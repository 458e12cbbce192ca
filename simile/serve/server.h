// SPDX-License-Identifier: Apache-2.0
// The service over HTTP/1.1, by Boost.Beast and Asio. One thread holds all connections and waits
// for none of them; it answers routes about the server (/health, /ready, /metrics, the page) at
// once. Other requests are answered by threads of their own, up to the number in the options; one
// more gets status 429. An open connection without a request costs memory alone; at their limit the
// one that has waited longest for its client is closed for another one.
//
//   Server server(service, options);
//   server.start();
//   ... server.port() ...
//   server.stop();
//
// Headers, body and answer each have a time limit, however slowly the other side proceeds, and
// bodies beyond options.body_bytes are rejected before they are read. Compressed bodies are
// refused; large answers are compressed (gzip) for clients that accept it.
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
  // had. Raises the process' limit of open files to what the system allows.
  Server(Service& service, const ServeOptions& options);
  ~Server();  // as stop()

  int port() const;
  std::string url() const;  // "http://127.0.0.1:8080"

  void start();

  // Reads certificate and key again: connections that begin from now on see them. May be called
  // while others are answered. Errors (kInput): they cannot be used; those before stay.
  void renew_certificates();

  // Accepts no more connections, answers accepted requests, and returns when all connections are
  // closed and the service is stopped. Requests still incomplete after two seconds are dropped.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace simile
