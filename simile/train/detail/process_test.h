// SPDX-License-Identifier: Apache-2.0
// Threads in the place of processes that train together.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/train/process_group.h"

namespace simile::testing {

// A port of this machine that nobody listens at now.
inline int64_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

// Calls `work` in a thread for each rank, which computes with `threads_of_each` (0: all). Throws
// what the first rank that failed threw, by number.
inline void as_processes(int64_t ranks, const std::function<void(ProcessGroup&)>& work,
                         double timeout = 60, int threads_of_each = 0) {
  const std::string file =
      fmt::format("{}simile_processes_{}_{}", ::testing::TempDir(), getpid(), ranks);
  std::filesystem::remove(file);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        if (threads_of_each > 0) set_thread_count(threads_of_each);
        const auto group = ProcessGroup::meet(file, rank, ranks, timeout);
        work(*group);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove(file);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace simile::testing
