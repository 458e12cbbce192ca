// SPDX-License-Identifier: Apache-2.0
// Signs of life that processes training together write into their common store, so that a wait that
// takes too long can name the process it waits for. Only in builds with Gloo.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace simile::detail {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Writes into the store, from a thread of its own, that the process of this rank is alive and how
// many calls it has begun, until it is destroyed or the store ends. If rank 0, which holds the
// store, hangs, the thread is abandoned.
class Pulse {
 public:
  Pulse(const StorePointer& store, int64_t rank);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void begin_call() { ++state_->calls; }
  int64_t calls() const { return state_->calls; }

 private:
  struct State {
    std::atomic<int64_t> calls{0};
    std::promise<void> ends;
    std::atomic<bool> ended{false};
  };
  static void run(c10d::Store& store, int64_t rank, const State& state,
                  const std::future<void>& ends);

  std::shared_ptr<State> state_;
};

// Names the ranks of `size` that keep the others waiting, and how, after watching for some seconds;
// "" if none stands out. `calls`: number of calls begun here.
std::string find_silent(const StorePointer& store, int64_t size, int64_t calls);

// The key that rank 0 sets when it is ready for the `time`-th time.
std::string ready_key(int64_t time);

// Watches rank 0 from its own thread, which is abandoned if rank 0, the store's host, hangs.
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
