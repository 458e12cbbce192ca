// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/document_map.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/neighbours/exact_search.h"
#include "simile/neighbours/neighbours.h"
#include "simile/serve/request_error.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

constexpr int kAttempts = 5;

struct Sample {
  int64_t generation = 0;
  std::vector<MappedDocument> documents;
  std::vector<float> vectors;
};

Sample take_sample(const SearchIndex& index, int64_t D, int64_t most,
                   const std::atomic<bool>& ends) {
  Sample sample;
  sample.generation =
      index.for_sample(most, [&](const Document& document, int64_t passage, const float* vector) {
        SIMILE_CHECK(!ends, ErrorKind::kFailed, "the server stops; the map was not finished");
        sample.documents.emplace_back();
        MappedDocument& mapped = sample.documents.back();
        mapped.id = document.id;
        mapped.title = text_beginning(document.title, kMappedCharacters);
        mapped.text = text_beginning(std::string(document.text_of(passage)), kMappedCharacters);
        mapped.passage = passage;
        mapped.passages = static_cast<int64_t>(document.passages.size());
        if (document.metadata.size() <= kMostMetadata) mapped.metadata = document.metadata;
        sample.vectors.insert(sample.vectors.end(), vector, vector + D);
      });
  return sample;
}

Sample take_whole_sample(const SearchIndex& index, int64_t D, int64_t most,
                         const std::atomic<bool>& ends) {
  for (int attempt = 1;; ++attempt) {
    try {
      return take_sample(index, D, most, ends);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kIo || attempt == kAttempts) throw;
    }
  }
}

float distance_of(const Matrix<float>& vectors, int64_t a, int64_t b) {
  double sum = 0;
  for (int64_t d = 0; d < vectors.cols; ++d) {
    const double difference = vectors.at(a, d) - vectors.at(b, d);
    sum += difference * difference;
  }
  return static_cast<float>(std::sqrt(sum));
}

void find_neighbours(DocumentMap& map) {
  if (map.sample.size() < 2) return;
  const Matrix<int32_t> nearest = nearest_neighbours(map.vectors, kMapNeighbours);
  for (int64_t i = 0; i < nearest.rows; ++i) {
    for (int64_t k = 0; k < nearest.cols; ++k) {
      const int64_t place = nearest.at(i, k);
      map.sample[i].near.push_back({place, distance_of(map.vectors, i, place)});
    }
  }
}

constexpr int kMapRetry = 2;  // seconds

// Whether it was made, of `generation` or a later one.
template <typename Made>
bool has_map(const Made& made, int64_t generation) {
  try {
    return made.get()->generation >= generation;
  } catch (...) {
    return false;
  }
}

}  // namespace

MapNeighbours DocumentMap::nearest(const float* vector) const {
  const auto hits = exact_search(vectors.values.data(), vectors.rows, vector, 1, vectors.cols,
                                 kMapNeighbours, VectorMetric::kSquaredDistance);
  MapNeighbours near;
  for (const Hit& hit : hits[0]) near.push_back({hit.id, std::sqrt(-hit.score)});
  return near;
}

std::string text_beginning(const std::string& text, int64_t most) {
  return std::string(first_characters(text, static_cast<size_t>(most)));
}

DocumentMap map_documents(const SearchIndex& index, const std::atomic<bool>& ends,
                          bool with_neighbours, int64_t most) {
  const IndexInfo info = index.info();
  const int64_t D = info.model.dimension;
  Sample sample = take_whole_sample(index, D, most, ends);
  DocumentMap map;
  Matrix<float>& vectors = map.vectors;
  vectors = Matrix<float>(static_cast<int64_t>(sample.documents.size()), 0);
  vectors.cols = D;
  vectors.values = std::move(sample.vectors);
  map.generation = sample.generation;
  map.documents = info.count;
  if (info.model.passages.splits()) map.passages = info.vectors;
  map.plane = PrincipalPlane(vectors);
  map.sample = std::move(sample.documents);
  for (int64_t i = 0; i < vectors.rows; ++i) map.sample[i].at = map.plane.place(vectors.row(i));
  if (with_neighbours) find_neighbours(map);
  return map;
}

std::shared_ptr<const DocumentMap> MapMaker::get(int64_t generation,
                                                 ServeClock::time_point deadline) {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool mine = !making_.valid() || (is_over(making_) && !has_map(making_, generation));
    if (mine) {
      making_ = std::async(std::launch::async, [this] {
        set_thread_count(1);
        return std::make_shared<const DocumentMap>(make_(ends_));
      });
    }
    const Making making = making_;
    lock.unlock();
    if (making.wait_until(deadline) != std::future_status::ready) {
      throw RequestError(Refusal::kLate, "the map is still being made; try again later", "",
                         kMapRetry);
    }
    // A map that began with this call has at least the requested generation.
    if (mine || making.get()->generation >= generation) return making.get();
  }
}

}  // namespace simile
