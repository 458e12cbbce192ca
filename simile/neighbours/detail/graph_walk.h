// SPDX-License-Identifier: Apache-2.0
// Search by a graph: from its start to nearer and nearer vectors, then through the neighbours of
// the best `breadth` found so far until none of them leads to a better one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "simile/neighbours/detail/graph_file.h"

namespace simile::detail {

struct WalkSettings {
  int64_t top_k = 10;
  int64_t breadth = 100;                           // at least top_k
  int64_t most_scored = 0;                         // vectors
  std::function<bool(uint32_t row)> accepts = {};  // which rows may be hits; none: all
  uint32_t without = kNoNode;  // a row that is passed by, as if the graph did not have it
};

class GraphWalker {
 public:
  // Both must outlive it; the file is read.
  GraphWalker(const GraphFile& graph, const VectorRows& rows);
  ~GraphWalker();

  // The best rows found, as exact_search() orders and scores them, to the bit; nothing if more than
  // most_scored vectors would have to be scored. By several threads at once.
  std::optional<std::vector<Hit>> search(const float* query, const WalkSettings& settings) const;

 private:
  struct Notes;
  class Walk;
  std::unique_ptr<Notes> take_notes() const;

  const GraphFile& graph_;
  const VectorRows& rows_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Notes>> free_;
};

}  // namespace simile::detail
