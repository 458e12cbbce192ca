// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/map_maker.h"

#include <utility>

#include "simile/core/threads.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

constexpr int kMapRetry = 2;  // seconds

}  // namespace

MapMaker::MapMaker(Make make) : make_(std::move(make)) {}

MapMaker::~MapMaker() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const DocumentMap> MapMaker::get(int64_t generation,
                                                 ServeClock::time_point deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!has(generation)) {
    const bool mine = !making_;
    if (mine) begin();
    if (!ready_.wait_until(lock, deadline, [this] { return !making_; })) {
      throw RequestError(Refusal::kLate, "the map is still being made; try again later", "",
                         kMapRetry);
    }
    if (error_) std::rethrow_exception(error_);
    if (mine) break;  // of no earlier generation than was asked for
  }
  return map_;
}

bool MapMaker::has(int64_t generation) const {
  return map_ != nullptr && map_->generation >= generation;
}

void MapMaker::begin() {
  if (thread_.joinable()) thread_.join();  // it has finished but for its last steps
  error_ = nullptr;
  thread_ = std::thread([this] { work(); });
  making_ = true;  // which the thread sees no sooner than this one lets go of the mutex
}

void MapMaker::work() {
  set_thread_count(1);
  std::shared_ptr<const DocumentMap> map;
  std::exception_ptr error;
  try {
    map = std::make_shared<const DocumentMap>(make_(ends_));
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (map != nullptr) map_ = std::move(map);
  error_ = error;
  making_ = false;
  ready_.notify_all();
}

}  // namespace simile
