// SPDX-License-Identifier: Apache-2.0
// What an evaluation needs of a model: a number for a pair of texts, the best documents for a
// query, and what its heads say, where it has any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/eval/head_output.h"

namespace simile {

struct RankedDocument {
  int64_t document = 0;  // position in the corpus
  double score = 0;      // higher is better
};
using Ranking = std::vector<RankedDocument>;  // from best to worst

class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual std::string name() const = 0;

  // One score per pair; left and right have the same size.
  virtual std::vector<double> score_pairs(const std::vector<std::string>& left,
                                          const std::vector<std::string>& right) = 0;

  // Per query the `depth` best documents (0: all), or fewer where the scorer finds no more; equal
  // scores stand in order of position. `candidates`: per query the positions to rank, which are all
  // scored, or empty to search the whole corpus.
  virtual std::vector<Ranking> rank(const std::vector<std::string>& queries,
                                    const std::vector<std::string>& corpus,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth) = 0;

  // What the head called `head` says about pairs, or about single texts when `right` is empty. An
  // empty name is the only head there is. Errors: ErrorKind::kUsage for a model without heads,
  // which is what a scorer is that does not say otherwise, for several heads and no name, and for
  // a name that none of them has.
  virtual HeadOutput run_head(const std::string& head, const std::vector<std::string>& left,
                              const std::vector<std::string>& right);
};

// The `depth` best of a stream of documents in bounded memory; a tie goes to the lower position.
class BestDocuments {
 public:
  explicit BestDocuments(int64_t depth) : depth_(depth) {}  // 0 keeps all
  void add(int64_t document, double score);
  Ranking take();  // from best to worst; leaves it empty

 private:
  int64_t depth_;
  Ranking heap_;  // worst on top once it is full
};

}  // namespace simile
