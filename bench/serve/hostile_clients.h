// SPDX-License-Identifier: Apache-2.0
// Clients that no server likes: malformed, slow, aborted and huge requests, until destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

class HostileClients {
 public:
  HostileClients(int port, int count);
  ~HostileClients();
  int64_t requests() const { return requests_; }

 private:
  void trouble(int number);

  const int port_;
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> requests_{0};
  std::vector<std::thread> threads_;
};
