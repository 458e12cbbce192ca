// SPDX-License-Identifier: Apache-2.0
#include "bench/serve/http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWarmUp = 0.2;       // share of the time
constexpr double kDrainSeconds = 60;  // for what is on its way at the end

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Client {
  int socket = -1;
  const LoadRequest* request = nullptr;  // null: idle
  double due = 0;
  size_t sent = 0;
  std::string received;
};

int64_t resident_bytes(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

class Load {
 public:
  Load(const std::vector<LoadRequest>& requests, const LoadPlan& plan)
      : requests_(requests), plan_(plan), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < plan.connections; ++i) {
      clients_.push_back(std::make_unique<Client>());
      idle_.push_back(clients_.back().get());
    }
  }
  ~Load() {
    for (const auto& client : clients_) drop(*client);
    close(epoll_);
  }

  LoadResult run() {
    begin_ = Clock::now();
    while (since(begin_) < plan_.seconds) {
      start_due();
      look_at_memory();
      serve_events();
    }
    result_.seconds = since(begin_);
    result_.answers_per_second =
        static_cast<double>(steady_) / (result_.seconds - kWarmUp * plan_.seconds);
    counted_ = false;  // what is answered later counts as right or wrong alone
    while (idle_.size() < clients_.size() && since(begin_) < plan_.seconds + kDrainSeconds) {
      serve_events();
    }
    result_.broken += static_cast<int64_t>(clients_.size() - idle_.size());
    return std::move(result_);
  }

 private:
  void start_due() {
    const double now = since(begin_);
    if (plan_.rate <= 0) {
      while (!idle_.empty()) start(now);
      return;
    }
    while (next_due_ <= now) {
      if (idle_.empty()) {
        ++result_.not_begun;
      } else {
        start(next_due_);
      }
      next_due_ += std::exponential_distribution<double>(plan_.rate)(random_);
    }
  }

  void start(double due) {
    Client& client = *idle_.back();
    idle_.pop_back();
    client.request = &requests_[next_request_++ % requests_.size()];
    client.due = due;
    client.sent = 0;
    client.received.clear();
    ++result_.begun;
    if (client.socket < 0) connect(client);
    send_more(client);
  }

  void connect(Client& client) {
    client.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(plan_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(client.socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error(std::string("no connection: ") + std::strerror(errno));
    }
    const int yes = 1;
    setsockopt(client.socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = &client;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, client.socket, &event);
  }

  void drop(Client& client) {
    if (client.socket >= 0) close(client.socket);
    client.socket = -1;
  }

  // Requests are small: what the socket does not take at once is waited for.
  void send_more(Client& client) {
    const std::string& bytes = client.request->bytes;
    while (client.sent < bytes.size()) {
      const ssize_t count =
          send(client.socket, bytes.data() + client.sent, bytes.size() - client.sent, MSG_NOSIGNAL);
      if (count <= 0) return fail(client);
      client.sent += static_cast<size_t>(count);
    }
  }

  void fail(Client& client) {
    ++result_.broken;
    drop(client);
    finish(client);
  }

  void finish(Client& client) {
    client.request = nullptr;
    idle_.push_back(&client);
  }

  void serve_events() {
    epoll_event events[64];
    double wait = 0.05;
    if (plan_.rate > 0) wait = std::clamp(next_due_ - since(begin_), 0.0, wait);
    const int count = epoll_wait(epoll_, events, 64, static_cast<int>(wait * 1e3));
    for (int i = 0; i < count; ++i) receive(*static_cast<Client*>(events[i].data.ptr));
  }

  void receive(Client& client) {
    char part[65536];
    const ssize_t count = recv(client.socket, part, sizeof(part), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (client.request == nullptr) return drop(client);  // closed while idle
    if (count <= 0) return fail(client);
    client.received.append(part, static_cast<size_t>(count));
    const size_t end = client.received.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const size_t length = body_length(client.received, end);
    if (client.received.size() < end + 4 + length) return;
    judge(client, end);
    if (client.received.substr(0, end).find("Connection: close") != std::string::npos) drop(client);
    finish(client);
  }

  static size_t body_length(const std::string& text, size_t end) {
    std::string headers = text.substr(0, end);
    for (char& c : headers) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const size_t at = headers.find("content-length: ");
    return at == std::string::npos ? 0 : std::strtoull(headers.c_str() + at + 16, nullptr, 10);
  }

  // Whether the first numbers in brackets are the expected vector.
  bool is_close(const Client& client, size_t end) {
    if (!looked_at_.insert(client.request).second) return true;
    const char* at = client.received.c_str() + end + 4;
    while (*at != '\0' && (*at != '[' || (at[1] != '-' && std::isdigit(at[1]) == 0))) ++at;
    for (const float expected : client.request->vector) {
      if (*at == '\0') return false;
      char* rest = nullptr;
      const double number = std::strtod(++at, &rest);
      if (rest == at || !(std::abs(number - expected) <= plan_.tolerance)) return false;
      at = rest;
    }
    return true;
  }

  void judge(const Client& client, size_t end) {
    const int status = std::atoi(client.received.c_str() + 9);
    const std::string& expected = client.request->answer;
    if (status == 200 &&
        !(plan_.tolerance > 0 ? is_close(client, end)
                              : client.received.compare(end + 4, expected.size(), expected) == 0)) {
      ++result_.wrong;
    }
    if (!counted_) return;
    ++result_.statuses[status];
    if (status != 200) return;
    const double now = since(begin_);
    result_.latencies.push_back(now - client.due);
    steady_ += now >= kWarmUp * plan_.seconds;
  }

  void look_at_memory() {
    if (plan_.pid == 0 || since(begin_) < static_cast<double>(result_.resident.size())) return;
    result_.resident.push_back(resident_bytes(plan_.pid));
  }

  const std::vector<LoadRequest>& requests_;
  const LoadPlan plan_;
  const int epoll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> idle_;
  size_t next_request_ = 0;
  double next_due_ = 0;
  int64_t steady_ = 0;  // right answers after the warm-up
  bool counted_ = true;
  std::set<const LoadRequest*> looked_at_;
  std::mt19937_64 random_{1};
  Clock::time_point begin_;
  LoadResult result_;
};

}  // namespace

LoadResult run_load(const std::vector<LoadRequest>& requests, const LoadPlan& plan) {
  return Load(requests, plan).run();
}
