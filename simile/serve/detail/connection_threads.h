// SPDX-License-Identifier: Apache-2.0
// Threads that serve sockets, one each: started as they are needed, up to a number; sockets beyond
// wait in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace simile::detail {

class ConnectionThreads {
 public:
  // `serve` gets a socket, which it closes, on one of at most `most_threads` threads.
  ConnectionThreads(size_t most_threads, size_t most_waiting, std::function<void(int)> serve);
  ~ConnectionThreads();  // as finish()

  // False, and the socket stays the caller's, when as many as may wait do.
  bool add(int socket);
  bool is_waiting() const;  // whether any socket waits for a thread that serves another
  // Serves what waits, and ends the threads. Nothing may be added then.
  void finish();

 private:
  void work();

  const size_t most_threads_, most_waiting_;
  const std::function<void(int)> serve_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<int> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool finishing_ = false;
};

}  // namespace simile::detail
