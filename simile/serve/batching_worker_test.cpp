// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/batching_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "simile/core/parallel.h"
#include "simile/serve/detail/serve_fixture_test.h"

namespace simile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Sequences = BatchingWorker::Sequences;

// Vectors that identify the sequence: its sum and its length.
Matrix<float> encode_plainly(const Sequences& sequences) {
  Matrix<float> vectors(static_cast<int64_t>(sequences.size()), 2);
  for (size_t i = 0; i < sequences.size(); ++i) {
    float* vector = vectors.row(static_cast<int64_t>(i));
    for (const int32_t id : sequences[i]) vector[0] += static_cast<float>(id);
    vector[1] = static_cast<float>(sequences[i].size());
  }
  return vectors;
}

Sequences sequences_of(int32_t id, size_t length, size_t count = 1) {
  return Sequences(count, std::vector<int32_t>(length, id));
}

// A worker whose first batch waits until it is let on.
class HeldWorker {
 public:
  explicit HeldWorker(const ServeLimits& limits)
      : worker([this](const Sequences& sequences) { return encode(sequences); }, limits, metrics) {
    first_ = ask(1, 1);
    entered_.get_future().wait();
  }
  ~HeldWorker() { let_on(); }

  std::future<Matrix<float>> ask(int32_t id, size_t length, size_t count = 1) {
    return std::async(std::launch::async, [=] {
      WorkTimes times;
      return worker.encode(sequences_of(id, length, count), later(), times);
    });
  }

  void await_waiting(int64_t count) const {
    while (worker.waiting() != count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void let_on() {
    if (!let_on_.exchange(true)) gate_.set_value();
  }

  static ServeClock::time_point later() { return ServeClock::now() + std::chrono::minutes(1); }

  Metrics metrics;
  std::vector<size_t> batches;  // sizes, in order; read after the worker has stopped
  BatchingWorker worker;

 private:
  Matrix<float> encode(const Sequences& sequences) {
    if (batches.empty()) {
      entered_.set_value();
      gate_.get_future().wait();
    }
    batches.push_back(sequences.size());
    return encode_plainly(sequences);
  }

  std::promise<void> entered_, gate_;
  std::atomic<bool> let_on_{false};
  std::future<Matrix<float>> first_;
};

TEST(BatchingWorker, MergesWhatWaitsInOrderUpToTheBudget) {
  ServeLimits limits;
  limits.batch_tokens = 6;
  HeldWorker held(limits);
  std::vector<std::future<Matrix<float>>> answers;
  for (int i = 0; i < 5; ++i) {
    answers.push_back(held.ask(i, 3));
    held.await_waiting(i + 1);
  }
  held.let_on();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(answers[static_cast<size_t>(i)].get().values,
                ElementsAre(static_cast<float>(3 * i), 3));
  }
  held.worker.stop();
  EXPECT_THAT(held.batches, ElementsAre(1u, 2u, 2u, 1u));
  EXPECT_THAT(held.metrics.text(), HasSubstr("te_batch_next_tokens_sum 16\n"));
}

TEST(BatchingWorker, AFullQueueRefusesButAnEmptyOneTakesAnything) {
  ServeLimits limits;
  limits.queue_texts = 2;
  limits.queue_tokens = 100;
  HeldWorker held(limits);
  auto large = held.ask(1, 500);
  held.await_waiting(1);
  WorkTimes times;
  EXPECT_THAT(refusal_of(Refusal::kOverloaded,
                         [&] { held.worker.encode(sequences_of(1, 1), held.later(), times); }),
              HasSubstr("1 texts of 500 tokens wait"));
  held.let_on();
  EXPECT_EQ(large.get().at(0, 1), 500);
  held.worker.encode(sequences_of(1, 1), held.later(), times);
  EXPECT_GT(times.compute_seconds, 0);
}

TEST(BatchingWorker, ARequestThatIsLateLeavesTheQueue) {
  HeldWorker held{ServeLimits()};
  WorkTimes times;
  const auto soon = ServeClock::now() + std::chrono::milliseconds(20);
  EXPECT_THAT(
      refusal_of(Refusal::kLate, [&] { held.worker.encode(sequences_of(1, 1), soon, times); }),
      HasSubstr("time limit"));
  EXPECT_EQ(held.worker.waiting(), 0);
}

TEST(BatchingWorker, WhatItsClientHasLeftIsNotComputed) {
  HeldWorker held{ServeLimits()};
  std::atomic<bool> gone{false};
  const auto ask = [&](int32_t id, bool leaves) {
    return std::async(std::launch::async, [&held, &gone, id, leaves] {
      WorkTimes times;
      Patience patience(held.later());
      if (leaves) patience.has_left = [&gone] { return gone.load(); };
      return refusal_of(Refusal::kLeft,
                        [&] { held.worker.encode(sequences_of(id, 1), patience, times); });
    });
  };
  auto left = ask(2, true), stays = ask(3, false);
  held.await_waiting(2);
  gone = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  held.let_on();
  EXPECT_THAT(left.get(), HasSubstr("left"));
  EXPECT_EQ(stays.get(), "");
  held.worker.stop();
  EXPECT_THAT(held.batches, ElementsAre(1, 1));
}

TEST(BatchingWorker, WhereAllHaveLeftItWaitsForOthers) {
  HeldWorker held{ServeLimits()};
  auto left = std::async(std::launch::async, [&held] {
    WorkTimes times;
    return refusal_of(Refusal::kLeft, [&] {
      held.worker.encode(sequences_of(2, 1), {held.later(), [] { return true; }}, times);
    });
  });
  held.await_waiting(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  held.let_on();
  EXPECT_NE(left.get(), "");
  EXPECT_EQ(held.ask(4, 1).get().at(0, 0), 4);
}

TEST(BatchingWorker, StoppingComputesWhatWaitsAndTakesNothingMore) {
  HeldWorker held{ServeLimits()};
  auto waiting = held.ask(7, 2);
  held.await_waiting(1);
  auto stopped = std::async(std::launch::async, [&] { held.worker.stop(); });
  WorkTimes times;
  std::string refused;
  while (refused.empty()) {  // until stop() was called
    const auto soon = ServeClock::now() + std::chrono::milliseconds(5);
    try {
      held.worker.encode(sequences_of(1, 1), soon, times);
    } catch (const RequestError& error) {
      if (error.refusal() == Refusal::kUnready) refused = error.what();
    }
  }
  held.let_on();
  EXPECT_THAT(waiting.get().values, ElementsAre(14, 2));
  stopped.get();
}

TEST(BatchingWorker, AnErrorReachesEveryRequestOfItsBatchAndNoOther) {
  Metrics metrics;
  std::atomic<int> calls{0};
  BatchingWorker worker(
      [&](const Sequences& sequences) {
        if (++calls == 1) throw std::runtime_error("no memory");
        return encode_plainly(sequences);
      },
      ServeLimits(), metrics);
  WorkTimes times;
  EXPECT_THROW(worker.encode(sequences_of(1, 1), HeldWorker::later(), times), std::runtime_error);
  EXPECT_THAT(worker.encode(sequences_of(3, 2), HeldWorker::later(), times).values,
              ElementsAre(6, 2));
}

TEST(BatchingWorker, OtherWorkRunsByItselfInItsTurn) {
  HeldWorker held{ServeLimits()};
  auto before = held.ask(1, 1);
  held.await_waiting(1);
  size_t batches_before = 0;
  auto work = std::async(std::launch::async, [&] {
    WorkTimes times;
    held.worker.run([&] { batches_before = held.batches.size(); }, 1, 0, held.later(), times);
  });
  held.await_waiting(2);
  auto after = held.ask(1, 1);
  held.await_waiting(3);
  held.let_on();
  for (auto* answer : {&before, &after}) answer->get();
  work.get();
  EXPECT_EQ(batches_before, 2u);
  held.worker.stop();
  EXPECT_THAT(held.batches, ElementsAre(1u, 1u, 1u));
}

TEST(BatchingWorker, ManyThreadsEachGetTheirOwnVectors) {
  Metrics metrics;
  ServeLimits limits;
  limits.batch_tokens = 64;
  BatchingWorker worker(encode_plainly, limits, metrics);
  std::vector<std::future<int>> wrong;
  for (int32_t thread = 0; thread < 8; ++thread) {
    wrong.push_back(std::async(std::launch::async, [&worker, thread] {
      int count = 0;
      WorkTimes times;
      for (size_t i = 0; i < 200; ++i) {
        const Matrix<float> vectors =
            worker.encode(sequences_of(thread, 1 + i % 7, 1 + i % 3), HeldWorker::later(), times);
        count += vectors.rows != static_cast<int64_t>(1 + i % 3) ||
                 vectors.at(vectors.rows - 1, 0) != static_cast<float>(thread) * (1 + i % 7);
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

TEST(BatchingWorker, TwoTeamsComputeAtATime) {
  Metrics metrics;
  std::promise<void> first_waits, second_ran;
  std::atomic<int> calls{0};
  const auto encode = [&](const Sequences& sequences) {
    if (++calls == 1) {
      first_waits.set_value();
      second_ran.get_future().wait();
    } else {
      second_ran.set_value();
    }
    return encode_plainly(sequences);
  };
  BatchingWorker worker(encode, ServeLimits(), metrics, 2);
  const auto ask = [&](int32_t id) {
    WorkTimes times;
    return worker.encode(sequences_of(id, 2), HeldWorker::later(), times).at(0, 0);
  };
  auto first = std::async(std::launch::async, [&] { return ask(3); });
  first_waits.get_future().wait();
  EXPECT_EQ(ask(4), 8);
  EXPECT_EQ(first.get(), 6);
}

TEST(BatchingWorker, ComputesWithTheThreadsThatWereAskedFor) {
  const int before = thread_count();
  set_thread_count(3);
  Metrics metrics;
  BatchingWorker worker(encode_plainly, ServeLimits(), metrics);
  set_thread_count(before);
  int threads = 0;
  WorkTimes times;
  worker.run([&] { threads = thread_count(); }, 1, 0, HeldWorker::later(), times);
  EXPECT_EQ(threads, 3);
}

}  // namespace
}  // namespace simile
