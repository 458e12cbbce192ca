// SPDX-License-Identifier: Apache-2.0
// What processes that train together tell of themselves in the store they met in, so that a wait
// that takes too long can say for whom. Only in builds with Gloo.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace simile::detail {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Writes into the store that the process of this rank lives, and how many calls it has begun, from
// a thread of its own, until it is destroyed or the store has ended.
class Pulse {
 public:
  Pulse(StorePointer store, int64_t rank);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void begin_call() { ++calls_; }
  int64_t calls() const { return calls_; }

 private:
  void run();

  StorePointer store_;
  int64_t rank_;
  std::atomic<int64_t> calls_{0};
  bool ends_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

// Which ranks of `size` keep the others waiting and how, after some seconds of looking; "" where
// none stands out. `calls`: those begun here.
std::string find_silent(const StorePointer& store, int64_t size, int64_t calls);

// What rank 0 sets when it is ready for the `time`-th time.
std::string ready_key(int64_t time);

// Looks what rank 0 does, from a thread that is left behind where it hangs, for the store is its.
class FirstWatch {
 public:
  FirstWatch(const StorePointer& store, int64_t time);
  ~FirstWatch() { state_->ends = true; }
  FirstWatch(const FirstWatch&) = delete;
  FirstWatch& operator=(const FirstWatch&) = delete;

  bool is_ready() const { return state_->is_ready; }
  bool is_gone() const { return state_->has_ended || state_->has_left; }
  int64_t signs_of_life() const { return state_->changes; }  // seen so far

 private:
  struct State {
    std::atomic<bool> ends{false}, is_ready{false}, has_ended{false}, has_left{false};
    std::atomic<int64_t> changes{0};
    int64_t beats = -1;  // of the thread alone
  };
  static void look(c10d::Store& store, int64_t time, State& state);

  std::shared_ptr<State> state_;
};

}  // namespace simile::detail
