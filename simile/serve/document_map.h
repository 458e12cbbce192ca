// SPDX-License-Identifier: Apache-2.0
// Documents of an index as points of a plane, for a picture; of an index with passages, these. And
// the latest map, which is made on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/search_index.h"
#include "simile/kernel/numerics.h"
#include "simile/serve/batching_worker.h"

namespace simile {

constexpr int64_t kMostMapped = 20000;      // vectors
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
  std::string id, title;
  std::string text;      // its beginning, or that of its passage
  std::string metadata;  // as in Document
  // Its passage, from 0, and the document's number of passages; 0 passages: the whole document.
  int64_t passage = 0, passages = 0;
  PlanePoint at;
  // The nearest others of the sample, kMapNeighbours of them if there are; none if not wanted.
  MapNeighbours near;
};

struct DocumentMap {
  int64_t generation = 0;           // of the index
  int64_t documents = 0;            // in the index
  std::optional<int64_t> passages;  // in the index, if its documents are split
  PrincipalPlane plane;
  std::vector<MappedDocument> sample;  // at even distances in the order of adding
  Matrix<float> vectors;               // of the sample

  // The neighbours of a vector of the index's dimension.
  MapNeighbours nearest(const float* vector) const;
};

// The same bits for the same generation. One thread; searches and changes go on meanwhile. If
// changes interrupt it, it tries again a few times, and in the end uses the documents of that
// moment. Neighbours take most of the time. Errors: those of SearchIndex::for_sample(); kFailed when
// `ends` became true.
DocumentMap map_documents(const SearchIndex& index, const std::atomic<bool>& ends,
                          bool with_neighbours = true, int64_t most = kMostMapped);

// The first `most` characters of a text in UTF-8.
std::string text_beginning(const std::string& text, int64_t most);

// Keeps the latest map of an index, and makes a new one if the requested generation has none: one
// at a time, on a separate thread with one processor, so that neither searches nor connection
// threads compute it. Callers wait, and one map is made for all of them.
class MapMaker {
 public:
  // `make` should throw soon after its argument became true.
  using Make = std::function<DocumentMap(const std::atomic<bool>& ends)>;
  explicit MapMaker(Make make) : make_(std::move(make)) {}
  ~MapMaker() { ends_ = true; }  // ends what is being made

  // A map of `generation` or a later one. Errors (RequestError): kLate if it was not ready by
  // `deadline`; it is made anyway, for the next request. Also errors of making it; the next request
  // tries again.
  std::shared_ptr<const DocumentMap> get(int64_t generation, ServeClock::time_point deadline);

 private:
  using Making = std::shared_future<std::shared_ptr<const DocumentMap>>;
  static bool is_over(const Making& making) {
    return making.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  const Make make_;
  std::atomic<bool> ends_{false};
  std::mutex mutex_;
  Making making_;  // the latest; its thread ends before the others do
};

}  // namespace simile
