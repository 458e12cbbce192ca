// SPDX-License-Identifier: Apache-2.0
#ifdef SIMILE_WITH_GLOO

#include "simile/train/detail/signs_of_life.h"

#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <future>
#include <thread>
#include <vector>

namespace simile::detail {
namespace {

constexpr auto kBeat = std::chrono::milliseconds(300);
constexpr auto kSilence = std::chrono::milliseconds(1500);  // several beats

// How often a process showed that it lives, and how many calls it has begun.
struct Sign {
  int64_t beats = -1, calls = -1;  // -1: none was read
};

std::string sign_key(int64_t rank) { return fmt::format("sign/{}", rank); }

std::vector<Sign> read_signs(c10d::Store& store, int64_t size) {
  std::vector<Sign> signs(static_cast<size_t>(size));
  for (int64_t rank = 0; rank < size; ++rank) {
    if (!store.check({sign_key(rank)})) continue;
    const std::vector<uint8_t> bytes = store.get(sign_key(rank));
    const std::string text(bytes.begin(), bytes.end());
    Sign& sign = signs[static_cast<size_t>(rank)];
    char* next = nullptr;
    sign.beats = std::strtoll(text.c_str(), &next, 10);
    sign.calls = std::strtoll(next, nullptr, 10);
  }
  return signs;
}

// Describes the ranks that keep the others waiting; "" where none does. `calls`: begun here.
std::string describe_silent(const std::vector<Sign>& before, const std::vector<Sign>& after,
                            int64_t calls) {
  std::vector<size_t> silent, behind;
  for (size_t rank = 0; rank < after.size(); ++rank) {
    if (after[rank].beats == before[rank].beats) silent.push_back(rank);
    if (after[rank].calls < calls) behind.push_back(rank);
  }
  if (!silent.empty()) {
    return fmt::format("rank {} shows no sign of life: it hangs, or its machine is gone",
                       fmt::join(silent, ", "));
  }
  if (behind.empty()) return "";
  return fmt::format(
      "rank {} is alive but still behind; check what it is doing, or raise --timeout",
      fmt::join(behind, ", "));
}

}  // namespace

Pulse::Pulse(const StorePointer& store, int64_t rank) : state_(std::make_shared<State>()) {
  std::thread([store, rank, state = state_, ends = state_->ends.get_future()] {
    run(*store, rank, *state, ends);
    state->ended = true;
  }).detach();
}

Pulse::~Pulse() {
  state_->ends.set_value();
  for (int i = 0; i < 100 && !state_->ended; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Pulse::run(c10d::Store& store, int64_t rank, const State& state,
                const std::future<void>& ends) {
  for (int64_t beat = 0;; ++beat) {
    const std::string text = fmt::format("{} {}", beat, state.calls.load());
    try {
      store.set(sign_key(rank), std::vector<uint8_t>(text.begin(), text.end()));
    } catch (const std::exception&) {
      return;  // rank 0 has ended, of which the calls tell
    }
    if (ends.wait_for(kBeat) == std::future_status::ready) return;
  }
}

// A separate thread reads the store; if rank 0, which holds it, hangs, the thread is abandoned.
std::string find_silent(const StorePointer& store, int64_t size, int64_t calls) {
  auto answer = std::make_shared<std::promise<std::string>>();
  std::future<std::string> found = answer->get_future();
  std::thread([store, size, calls, answer] {
    try {
      const std::vector<Sign> before = read_signs(*store, size);
      std::this_thread::sleep_for(kSilence);
      answer->set_value(describe_silent(before, read_signs(*store, size), calls));
    } catch (const std::exception&) {
      answer->set_value("rank 0 has ended");
    }
  }).detach();
  if (found.wait_for(4 * kSilence) == std::future_status::ready) return found.get();
  return "rank 0 shows no sign of life: it hangs, or its machine is gone";
}

std::string ready_key(int64_t time) { return fmt::format("ready/{}", time); }

FirstWatch::FirstWatch(const StorePointer& store, int64_t time)
    : state_(std::make_shared<State>()) {
  std::thread([store, time, state = state_] { look(*store, time, *state); }).detach();
}

void FirstWatch::look(c10d::Store& store, int64_t time, State& state) {
  try {
    while (!state.ends && !state.is_ready) {
      const std::vector<Sign> signs = read_signs(store, 1);
      if (signs[0].beats != state.beats) {
        state.beats = signs[0].beats;
        ++state.changes;
      }
      // Asked in this order: a process that has left was ready before.
      const bool has_left = store.add("left", 0) > 0;
      state.is_ready = store.check({ready_key(time)});
      state.has_left = has_left;
      std::this_thread::sleep_for(kBeat);
    }
  } catch (const std::exception&) {
    state.has_ended = true;
  }
}

}  // namespace simile::detail

#endif
