// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_graph.h"

#include <fmt/format.h>

#include <utility>

#include "simile/core/hash.h"
#include "simile/index/detail/manifest.h"

namespace simile::detail {

std::string graph_owner(const IndexedModel& model, int64_t number, const Segments& segments) {
  std::string text = "graph " + segment_kind(model, number).owner;
  for (const auto& segment : segments) {
    text += fmt::format("\n{} {}", segment->row().number, segment->row().checksum);
  }
  return hash_bytes(text);
}

VectorRows rows_of(const Segments& segments, const IndexedModel& model) {
  VectorRows rows;
  rows.shift = kGraphShift;
  rows.D = model.dimension;
  rows.metric = model.metric;
  rows.number = model.vectors;
  for (const auto& segment : segments) {
    rows.parts.push_back(segment->vectors());
    rows.count += segment->size();
  }
  return rows;
}

SegmentGraph::SegmentGraph(const std::string& path, const IndexedModel& model, const GraphRow& row,
                           Segments segments)
    : row_(row),
      model_(model),
      segments_(std::move(segments)),
      file_(path, graph_owner(model, row.number, segments_), row.rows, row.checksum) {}

const GraphWalker& SegmentGraph::walker() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (walker_ == nullptr) {
    file_.read();
    rows_ = rows_of(segments_, model_);
    walker_ = std::make_unique<const GraphWalker>(file_, rows_);
  }
  return *walker_;
}

}  // namespace simile::detail
