// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/batching_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>

#include "simile/core/parallel.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

constexpr int kLongestRetry = 60;  // seconds
// Requests that waited no longer than this are computed without asking whether their client is
// still there: a client that closes its sending side after its request has not left.
constexpr auto kShortWait = std::chrono::milliseconds(20);
constexpr double kNewSpeed = 0.25;  // weight of the last batch in the mean speed

double seconds_between(ServeClock::time_point begin, ServeClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

struct BatchingWorker::Job {
  Sequences sequences;         // or
  std::function<void()> work;  // what is done in their place
  int64_t texts = 0, tokens = 0;
  ServeClock::time_point queued = ServeClock::now();
  std::function<bool()> has_left;

  Matrix<float> vectors;
  std::exception_ptr error;
  WorkTimes times;
  bool taken = false, finished = false;  // guarded by the worker's mutex
  std::condition_variable ready;
};

BatchingWorker::BatchingWorker(Encode encode, const ServeLimits& limits, Metrics& metrics,
                               int teams)
    : encode_(std::move(encode)), limits_(limits), metrics_(metrics) {
  try {
    for (int team = 0; team < teams; ++team) {
      // A new thread would start with all processors, whatever was set.
      threads_.emplace_back([this, threads = thread_count()] {
        set_thread_count(threads);
        work();
      });
    }
  } catch (...) {  // the system has no more threads
    stop();
    throw;
  }
}

BatchingWorker::~BatchingWorker() { stop(); }

void BatchingWorker::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

int64_t BatchingWorker::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(queue_.size());
}

Matrix<float> BatchingWorker::encode(Sequences sequences, const Patience& patience,
                                     WorkTimes& times) {
  const auto job = std::make_shared<Job>();
  for (const std::vector<int32_t>& sequence : sequences) {
    job->tokens += static_cast<int64_t>(sequence.size());
  }
  job->texts = static_cast<int64_t>(sequences.size());
  job->sequences = std::move(sequences);
  submit(job, patience, times);
  return std::move(job->vectors);
}

void BatchingWorker::run(std::function<void()> work, int64_t texts, int64_t tokens,
                         const Patience& patience, WorkTimes& times) {
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->texts = texts;
  job->tokens = tokens;
  submit(job, patience, times);
}

void BatchingWorker::submit(const JobPointer& job, const Patience& patience, WorkTimes& times) {
  job->has_left = patience.has_left;
  std::unique_lock<std::mutex> lock(mutex_);
  SIMILE_REQUEST_CHECK(!stopping_, Refusal::kUnready, "the server is stopping");
  const bool fits = queue_.empty() || (queued_texts_ + job->texts <= limits_.queue_texts &&
                                       queued_tokens_ + job->tokens <= limits_.queue_tokens);
  SIMILE_REQUEST_CHECK(fits, Refusal::kOverloaded,
                       fmt::format("the queue is full: {} texts of {} tokens wait; try again later",
                                   queued_texts_, queued_tokens_),
                       "", seconds_of_queue());
  queue_.push_back(job);
  queued_texts_ += job->texts;
  queued_tokens_ += job->tokens;
  wake_.notify_one();
  if (!job->ready.wait_until(lock, patience.deadline, [&] { return job->finished; })) {
    if (!job->taken) take_out(std::find(queue_.begin(), queue_.end(), job));
    throw RequestError(Refusal::kLate, "not computed within the time limit; try again later", "",
                       seconds_of_queue());
  }
  times.queue_seconds += job->times.queue_seconds;
  times.compute_seconds += job->times.compute_seconds;
  // Taken out, so that the thread that catches it is the one that frees it.
  if (job->error) std::rethrow_exception(std::exchange(job->error, nullptr));
}

BatchingWorker::Queue::iterator BatchingWorker::take_out(Queue::iterator at) {
  queued_texts_ -= (*at)->texts;
  queued_tokens_ -= (*at)->tokens;
  return queue_.erase(at);
}

// How long what waits will take, as far as is known.
int BatchingWorker::seconds_of_queue() const {
  if (tokens_per_second_ <= 0) return 1;
  const double seconds = std::ceil(static_cast<double>(queued_tokens_) / tokens_per_second_);
  return static_cast<int>(std::clamp(seconds, 1.0, static_cast<double>(kLongestRetry)));
}

void BatchingWorker::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    drop_left();
    if (queue_.empty()) {
      if (stopping_) return;
      continue;
    }
    const std::vector<JobPointer> batch = take_batch();
    ++computing_;
    lock.unlock();
    compute(batch);
    lock.lock();
    note_speed(batch);
    --computing_;
    for (const JobPointer& job : batch) job->finished = true;
    lock.unlock();  // which those that wake would wait for
    for (const JobPointer& job : batch) job->ready.notify_one();
    lock.lock();
  }
}

// Looks only at the front requests that may be taken now; the others are checked when their turn
// comes.
void BatchingWorker::drop_left() {
  const ServeClock::time_point long_ago = ServeClock::now() - kShortWait;
  int64_t tokens = 0;
  for (auto at = queue_.begin(); at != queue_.end() && tokens <= limits_.batch_tokens;) {
    const JobPointer job = *at;
    if (job->queued > long_ago || !job->has_left || !job->has_left()) {
      tokens += job->tokens;
      ++at;
      continue;
    }
    at = take_out(at);
    job->error = std::make_exception_ptr(
        RequestError(Refusal::kLeft, "the client left before its turn came"));
    job->taken = job->finished = true;
    job->ready.notify_one();
  }
}

void BatchingWorker::note_speed(const std::vector<JobPointer>& batch) {
  if (batch[0]->work) return;
  double tokens = 0;
  for (const JobPointer& job : batch) tokens += static_cast<double>(job->tokens);
  const double speed = computing_ * tokens / std::max(batch[0]->times.compute_seconds, 1e-6);
  tokens_per_second_ += (tokens_per_second_ > 0 ? kNewSpeed : 1) * (speed - tokens_per_second_);
}

std::vector<BatchingWorker::JobPointer> BatchingWorker::take_batch() {
  std::vector<JobPointer> batch;
  int64_t texts = 0, tokens = 0;
  const auto fits = [&](const Job& job) {
    if (batch.empty()) return true;
    return !job.work && !batch[0]->work && tokens + job.tokens <= limits_.batch_tokens;
  };
  while (!queue_.empty() && fits(*queue_.front())) {
    batch.push_back(queue_.front());
    take_out(queue_.begin());
    batch.back()->taken = true;
    texts += batch.back()->texts;
    tokens += batch.back()->tokens;
  }
  metrics_.observe("te_batch_next_size", static_cast<double>(texts));
  metrics_.observe("te_batch_next_tokens", static_cast<double>(tokens));
  return batch;
}

void BatchingWorker::compute(const std::vector<JobPointer>& batch) {
  const ServeClock::time_point begin = ServeClock::now();
  std::exception_ptr error;
  try {
    if (batch[0]->work) {
      batch[0]->work();
    } else {
      encode_batch(batch);
    }
  } catch (...) {
    error = std::current_exception();
  }
  const double seconds = seconds_between(begin, ServeClock::now());
  for (const JobPointer& job : batch) {
    job->error = error;
    job->times = {seconds_between(job->queued, begin), seconds};
  }
}

void BatchingWorker::encode_batch(const std::vector<JobPointer>& batch) {
  if (batch.size() == 1) {
    batch[0]->vectors = encode_(batch[0]->sequences);
    return;
  }
  Sequences sequences;
  for (const JobPointer& job : batch) {
    std::move(job->sequences.begin(), job->sequences.end(), std::back_inserter(sequences));
  }
  const Matrix<float> vectors = encode_(sequences);
  int64_t row = 0;
  for (const JobPointer& job : batch) {
    job->vectors = Matrix<float>(job->texts, vectors.cols);
    std::copy(vectors.row(row), vectors.row(row + job->texts), job->vectors.row(0));
    row += job->texts;
  }
}

}  // namespace simile
