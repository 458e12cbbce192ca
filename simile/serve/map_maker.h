// SPDX-License-Identifier: Apache-2.0
// Keeps the latest map of an index, and makes one where there is none of the generation asked for:
// one at a time, on a thread of its own with one processor, so that neither searches nor the
// threads of connections compute it. Who asks waits, and one map is made for all who do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "simile/serve/batching_worker.h"
#include "simile/serve/document_map.h"

namespace simile {

class MapMaker {
 public:
  // `make` should throw soon after its argument became true.
  using Make = std::function<DocumentMap(const std::atomic<bool>& ends)>;
  explicit MapMaker(Make make);
  ~MapMaker();  // ends what is being made

  // A map of `generation` or a later one. Errors (RequestError): kLate when it was not ready by
  // `deadline`; it is made nonetheless, for the next who asks. And what `make` throws; it is tried
  // again for the next.
  std::shared_ptr<const DocumentMap> get(int64_t generation, ServeClock::time_point deadline);

 private:
  bool has(int64_t generation) const;
  void begin();
  void work();

  const Make make_;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  std::condition_variable ready_;
  std::shared_ptr<const DocumentMap> map_;
  std::exception_ptr error_;  // of the last that was made
  bool making_ = false;
  std::thread thread_;
};

}  // namespace simile
