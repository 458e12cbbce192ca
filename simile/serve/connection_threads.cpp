// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/connection_threads.h"

#include <utility>

namespace simile::detail {

ConnectionThreads::ConnectionThreads(size_t most_threads, size_t most_waiting,
                                     std::function<void(int)> serve)
    : most_threads_(most_threads), most_waiting_(most_waiting), serve_(std::move(serve)) {}

ConnectionThreads::~ConnectionThreads() { finish(); }

bool ConnectionThreads::add(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.size() >= idle_ + most_waiting_) return false;
  waiting_.push_back(socket);
  if (waiting_.size() > idle_ && threads_.size() < most_threads_) {
    threads_.emplace_back([this] { work(); });
  } else {
    wake_.notify_one();
  }
  return true;
}

bool ConnectionThreads::is_waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return threads_.size() == most_threads_ && waiting_.size() > idle_;
}

void ConnectionThreads::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ConnectionThreads::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return finishing_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const int socket = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    serve_(socket);
    lock.lock();
  }
}

}  // namespace simile::detail
