// SPDX-License-Identifier: Apache-2.0
// Computes for all connections. Requests wait in one queue, and sequences of several requests are
// encoded together, so that few threads compute however many connections there are.
//
// One thread takes the batches, or two in turns, each with a team of thread_count() threads: while
// one team waits for its slowest member, for a processor that a connection took, or hands out its
// vectors, the other computes.
//
// First come, first served. A batch takes requests from the front of the queue while their tokens
// sum to at most batch_tokens; a larger request is a batch of its own (which SentenceEncoder cuts).
// A sequence's vector does not depend on its batch. A request that has waited over 20 ms is dropped
// if its client has disconnected.
//
// The queue is bounded by the waiting texts and tokens, not counting those being computed; an empty
// queue takes any request. All methods may be called by any number of threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/serve/metrics.h"
#include "simile/serve/serve_options.h"

namespace simile {

using ServeClock = std::chrono::steady_clock;

// How long a request waits.
struct Patience {
  Patience(ServeClock::time_point deadline, std::function<bool()> has_left = nullptr)
      : deadline(deadline), has_left(std::move(has_left)) {}

  ServeClock::time_point deadline;
  // Whether nobody waits for the answer any more; null: somebody does. Called on another thread
  // while this one waits, and quick.
  std::function<bool()> has_left;
};

// How long a request waited, and how long its batch was computed.
struct WorkTimes {
  double queue_seconds = 0, compute_seconds = 0;
};

class BatchingWorker {
 public:
  using Sequences = std::vector<std::vector<int32_t>>;
  // Vectors [sequences, D], row i for sequence i.
  using Encode = std::function<Matrix<float>(const Sequences&)>;

  // Uses the batch and queue sizes of `limits`. Counts each batch in `metrics`, which must outlive
  // the worker. With several `teams`, `encode` may be called by as many threads at once.
  BatchingWorker(Encode encode, const ServeLimits& limits, Metrics& metrics, int teams = 1);
  ~BatchingWorker();  // as stop()

  // Waits for the vectors of `sequences`; adds to `times`. Errors (RequestError): kOverloaded when
  // the queue is full, kLate when they were not begun before the deadline or not ready then,
  // kLeft when the client left before they were begun, kUnready after stop(); and whatever
  // encoding throws.
  Matrix<float> encode(Sequences sequences, const Patience& patience, WorkTimes& times);

  // Waits until `work` ran on a thread of the worker, in no batch with others. It may still run
  // after kLate was thrown, so it must own its data. `texts` and `tokens` are its size in the
  // queue. Errors: the same.
  void run(std::function<void()> work, int64_t texts, int64_t tokens, const Patience& patience,
           WorkTimes& times);

  // Accepts no more work, computes the waiting requests, ends the threads. May be called again.
  void stop();

  int64_t waiting() const;  // requests in the queue

 private:
  struct Job;
  using JobPointer = std::shared_ptr<Job>;
  using Queue = std::deque<JobPointer>;

  void submit(const JobPointer& job, const Patience& patience, WorkTimes& times);
  Queue::iterator take_out(Queue::iterator at);
  int seconds_of_queue() const;
  void work();
  void drop_left();
  void note_speed(const std::vector<JobPointer>& batch);
  std::vector<JobPointer> take_batch();
  void compute(const std::vector<JobPointer>& batch);
  void encode_batch(const std::vector<JobPointer>& batch);

  const Encode encode_;
  const ServeLimits limits_;
  Metrics& metrics_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;  // of the computing threads
  Queue queue_;
  int64_t queued_texts_ = 0, queued_tokens_ = 0;
  double tokens_per_second_ = 0;  // of late; 0 before the first batch
  int computing_ = 0;             // teams
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace simile
