// SPDX-License-Identifier: Apache-2.0
// Documents of an index as points of a plane, for a picture; of an index with passages, these. And
// the latest map, which is made on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/search_index.h"
#include "simile/kernel/numerics.h"
#include "simile/serve/batching_worker.h"

namespace simile {

constexpr int64_t kMostMapped = 2000;       // vectors
constexpr int64_t kMappedCharacters = 200;  // that are kept of a text
constexpr int64_t kMostMetadata = 1000;     // bytes; longer ones are left out
constexpr int64_t kMapNeighbours = 15;

// A document of the sample, and how far its vector is (Euclidean).
struct MapNeighbour {
  int64_t place = 0;
  float distance = 0;
};
using MapNeighbours = std::vector<MapNeighbour>;  // nearest first

struct MappedDocument {
  std::string id;
  std::string text;      // its beginning, or that of its passage
  std::string metadata;  // as in Document
  // Which of the document's passages it is, from 0, of so many; of 0: it is all of the document.
  int64_t passage = 0, passages = 0;
  PlanePoint at;
  MapNeighbours near;  // the nearest others of the sample, kMapNeighbours of them if there are
};

struct DocumentMap {
  int64_t generation = 0;           // of the index
  int64_t documents = 0;            // in the index
  std::optional<int64_t> passages;  // in the index, if its documents are split
  PrincipalPlane plane;
  std::vector<MappedDocument> sample;  // at even distances in the order of adding
  Matrix<float> vectors;               // of the sample

  // Of a vector of the index's dimension.
  MapNeighbours nearest(const float* vector) const;
};

// The same bits for the same generation. One thread; searches and changes go on meanwhile. Where
// changes come between, it is tried again a few times, and is made of what is there then. Errors:
// those of SearchIndex::for_sample(); kFailed when `ends` became true.
DocumentMap map_documents(const SearchIndex& index, const std::atomic<bool>& ends);

// The first `most` characters of a text in UTF-8.
std::string text_beginning(const std::string& text, int64_t most);

// Keeps the latest map of an index, and makes one where there is none of the generation asked for:
// one at a time, on a thread of its own with one processor, so that neither searches nor the
// threads of connections compute it. Callers wait, and one map is made for all of them.
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
