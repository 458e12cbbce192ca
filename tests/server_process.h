// SPDX-License-Identifier: Apache-2.0
// The real server as a process, and sockets to it.
#pragma once

#include <fcntl.h>
#include <httplib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace simile {

// `simile serve` on a free port, until the signal of stop().
class ServerProcess {
 public:
  explicit ServerProcess(const std::vector<std::string>& options) {
    std::vector<std::string> words = {SIMILE_PROGRAM, "serve", "--port", "0", "--quiet"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(&word[0]);
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    std::FILE* out = fdopen(ends[0], "r");
    char line[256] = "";
    if (std::fgets(line, sizeof(line), out) != nullptr) {
      const std::string said = line;
      port_ = std::atoi(said.c_str() + said.rfind(':') + 1);
    }
    std::fclose(out);
  }
  ~ServerProcess() { stop(SIGKILL); }

  int port() const { return port_; }  // 0: it did not start
  void send(int number) const { kill(process_, number); }

  // The exit code; 128 and the number of the signal that ended it.
  int stop(int number = SIGTERM) {
    if (process_ <= 0) return -1;
    send(number);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(60);
    client.set_keep_alive(true);
    return client;
  }

 private:
  pid_t process_ = -1;
  int port_ = 0;
};

inline int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return socket;
  close(socket);
  return -1;
}

// All that comes until the server closes the connection.
inline std::string take_answer(int socket) {
  std::string answer;
  char part[4096];
  for (ssize_t count; (count = recv(socket, part, sizeof(part), 0)) > 0;) {
    answer.append(part, static_cast<size_t>(count));
  }
  return answer;
}

// The server's answer to the bytes of a client that sends nothing more.
inline std::string raw_answer(int port, const std::string& bytes) {
  const int socket = connect_to(port);
  std::string answer;
  if (socket >= 0 && ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    shutdown(socket, SHUT_WR);
    answer = take_answer(socket);
  }
  close(socket);
  return answer;
}

}  // namespace simile
