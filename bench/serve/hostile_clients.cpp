// SPDX-License-Identifier: Apache-2.0
#include "bench/serve/hostile_clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace {

const char* const kPost =
    "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ";

std::string post(const std::string& body) {
  return kPost + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class Socket {
 public:
  explicit Socket(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit = {5, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Socket() { close(socket_); }

  bool send(const std::string& bytes) {
    open_ = open_ && ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                         static_cast<ssize_t>(bytes.size());
    return open_;
  }
  void take_answer() {
    char part[4096];
    while (open_ && recv(socket_, part, sizeof(part), 0) == static_cast<ssize_t>(sizeof(part))) {
    }
  }
  // Unread and unsent bytes are discarded, and the other side sees an error.
  void abort() {
    const linger now = {1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }

 private:
  int socket_;
  bool open_ = false;
};

void send_slowly(Socket& socket, const std::string& bytes, const std::atomic<bool>& ending) {
  for (const char byte : bytes) {
    if (ending || !socket.send(std::string(1, byte))) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  socket.take_answer();
}

}  // namespace

HostileClients::HostileClients(int port, int count) : port_(port) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { trouble(i); });
}

HostileClients::~HostileClients() {
  ending_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void HostileClients::trouble(int number) {
  for (int turn = number; !ending_; ++turn, ++requests_) {
    Socket socket(port_);
    switch (turn % 8) {
      case 0:
        socket.send("\x16\x03\x01 no HTTP at all \r\n\r\n");
        break;
      case 1:
        send_slowly(socket, post(R"({"inputs":"slow"})"), ending_);
        break;
      case 2:  // ends within the body
        socket.send(kPost + std::string("1000\r\n\r\n{\"inputs\":"));
        socket.abort();
        continue;
      case 3:
        socket.send(post(std::string(3000000, 'x')));
        break;
      case 4:
        socket.send(post("{\"inputs\":" + std::string(50000, '[')));
        break;
      case 5:  // does not wait for its answer
        socket.send(post(R"({"inputs":["one","two","three","four"]})"));
        socket.abort();
        continue;
      case 6:
        socket.send(post(R"({"inputs":[[1,2,99999999]],"dimensions":-3})"));
        break;
      default:
        socket.send("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    socket.take_answer();
  }
}
