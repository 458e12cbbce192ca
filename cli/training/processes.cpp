// SPDX-License-Identifier: Apache-2.0
#include "cli/training/processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"

namespace simile::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr auto kGrace = std::chrono::seconds(1);   // for rank 0 to say the same itself
constexpr auto kSaving = std::chrono::seconds(5);  // for rank 0 where a signal ended another
constexpr int kPollMilliseconds = 50;
constexpr size_t kKeptBytes = 1 << 16;

struct Child {
  pid_t pid = -1;
  int errors = -1;   // its stderr, where that is not ours
  std::string said;  // the end of it
  std::optional<int> status;
};

void check_system(bool good, const char* act) {
  SIMILE_CHECK(good, ErrorKind::kIo, "cannot {} a process: {}", act, std::strerror(errno));
}

int find_free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check_system(socket >= 0, "find a port for");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool good = bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(socket);
  check_system(good, "find a port for");
  return ntohs(address.sin_port);
}

// The words this process was started with.
std::vector<std::string> own_arguments() {
  const std::string line = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find('\0', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// In the new process: becomes the program.
[[noreturn]] void become(int rank, int errors, pid_t parent, const sigset_t& signals,
                         const std::vector<std::string>& words) {
  setpgid(0, 0);  // a terminal's signals come through the parent
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (const int number : kStopSignals) {
    if (signal(number, SIG_DFL) == SIG_IGN) signal(number, SIG_IGN);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);  // one that came meanwhile ends this process
  if (rank > 0) {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
  }
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(1);
}

Child start(int rank, const std::vector<std::string>& words) {
  int ends[2] = {-1, -1};
  if (rank > 0) check_system(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0, "start");
  if (rank > 0) fcntl(ends[1], F_SETFL, 0);
  Child child;
  const pid_t parent = getpid();
  // The handlers of this process would lose a signal in the new one.
  sigset_t held, before;
  sigemptyset(&held);
  for (const int number : kStopSignals) sigaddset(&held, number);
  sigprocmask(SIG_BLOCK, &held, &before);
  child.pid = fork();
  if (child.pid == 0) become(rank, ends[1], parent, before, words);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (rank > 0) close(ends[1]);
  child.errors = ends[0];
  check_system(child.pid > 0, "start");
  return child;
}

// The processes, killed where this ends before they do.
class Children {
 public:
  Children() = default;
  ~Children() {
    kill_all(SIGKILL);
    for (Child& child : list) {
      if (!child.status) waitpid(child.pid, nullptr, 0);
      if (child.errors >= 0) close(child.errors);
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void kill_all(int number) const {
    for (const Child& child : list) {
      if (!child.status) kill(child.pid, number);
    }
  }

  bool all_ended() const {
    return std::all_of(list.begin(), list.end(), [](const Child& c) { return c.status; });
  }

  bool has_killed() const {
    return std::any_of(list.begin(), list.end(),
                       [](const Child& c) { return c.status && WIFSIGNALED(*c.status); });
  }

  // Collects output and exit statuses; `first_failed` is the first process that failed.
  void look() {
    std::vector<pollfd> waits;
    for (const Child& child : list) waits.push_back({child.errors, POLLIN, 0});
    poll(waits.data(), waits.size(), kPollMilliseconds);
    for (size_t rank = 0; rank < list.size(); ++rank) {
      Child& child = list[rank];
      if (!child.status) {
        int status = 0;
        if (waitpid(child.pid, &status, WNOHANG) == child.pid) child.status = status;
      }
      listen(child);
      if (!child.status || *child.status == 0 || first_failed >= 0) continue;
      first_failed = static_cast<int>(rank);
      failed_at = Clock::now();
    }
  }

  std::vector<Child> list;
  int first_failed = -1;  // -1: none
  Clock::time_point failed_at;

 private:
  static void listen(Child& child) {
    char bytes[4096];
    while (child.errors >= 0) {
      const ssize_t size = read(child.errors, bytes, sizeof(bytes));
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0) {
        close(child.errors);
        child.errors = -1;
        return;
      }
      child.said.append(bytes, static_cast<size_t>(size));
      if (child.said.size() > kKeptBytes) child.said.erase(0, child.said.size() - kKeptBytes);
    }
  }
};

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void tell_failure(int rank, const Child& child) {
  std::string lines;
  for (size_t begin = 0; begin < child.said.size();) {
    const size_t end = std::min(child.said.find('\n', begin), child.said.size());
    lines += fmt::format("rank {}: {}\n", rank, child.said.substr(begin, end - begin));
    begin = end + 1;
  }
  if (WIFSIGNALED(*child.status)) {
    lines += fmt::format(
        "simile: rank {} was killed by signal {} ({}), so all were ended; the last checkpoint is "
        "kept: add --resume to go on\n",
        rank, WTERMSIG(*child.status), strsignal(WTERMSIG(*child.status)));
  }
  std::fputs(printable(lines).c_str(), stderr);
}

}  // namespace

bool is_started_process() { return std::getenv(kStartedProcess) != nullptr; }

int start_processes(int count, const CommonOptions& common) {
  const ScratchFolder scratch("simile-train");  // killed processes leave some of their files
  setenv(kStartedProcess, std::to_string(count).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(find_free_port()).c_str(), 1);
  setenv("TMPDIR", scratch.path().c_str(), 1);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  if (common.threads == 0) {
    setenv("OMP_NUM_THREADS", std::to_string(std::max(1, thread_count() / count)).c_str(), 0);
  }
  const std::vector<std::string> words = own_arguments();
  Children children;
  for (int rank = 0; rank < count; ++rank) children.list.push_back(start(rank, words));
  bool passed_on = false;
  while (!children.all_ended()) {
    children.look();
    // They stop after the same step; rank 0 saves.
    if (signal_received() != 0 && !passed_on) children.kill_all(signal_received());
    passed_on = signal_received() != 0;
    // The others wait for one that a signal ended before it listened for it.
    const bool is_lost = passed_on ? children.has_killed() : children.first_failed >= 0;
    if (is_lost && Clock::now() - children.failed_at > (passed_on ? kSaving : kGrace)) {
      children.kill_all(SIGKILL);
    }
  }
  children.look();
  if (passed_on && WIFSIGNALED(*children.list[0].status)) return 128 + signal_received();
  if (passed_on) return code_of(*children.list[0].status);
  if (children.first_failed < 0) return 0;
  const int first = children.first_failed;
  const Child &failed = children.list[static_cast<size_t>(first)], &speaker = children.list[0];
  const bool told = WIFEXITED(*speaker.status) && *speaker.status == *failed.status;
  if (!told) tell_failure(first, failed);
  return code_of(*failed.status);
}

}  // namespace simile::cli
