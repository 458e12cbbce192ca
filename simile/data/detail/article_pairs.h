// SPDX-License-Identifier: Apache-2.0
// The pairs that stand in one article, by their kinds. Used by simile/data/document_pairs.h, which
// tells what the kinds are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/data/detail/article.h"
#include "simile/data/document_pairs.h"

namespace simile {

// A text of an article: one run of it or, where `second` is not empty, two runs with what stands
// between them left out.
struct Passage {
  std::string_view first, second;

  bool is(std::string_view text) const { return second.empty() && first == text; }
  std::string str() const;  // a space between the two runs
};

// A text that may be a negative, and where it stands: the number of its sentence or paragraph.
struct Candidate {
  int64_t position;
  std::string_view text;
};

// Negatives stand at `before` or earlier, or at `after` or later.
struct NearPair {
  std::string_view left;
  Passage right;
  int64_t before, after;
};

struct ArticlePairs {
  std::vector<NearPair> pairs;
  std::vector<Candidate> candidates;  // by position; none of kinds without negatives
};

using PairFinder = ArticlePairs (*)(const Article&, const DocumentPairOptions&);

// Of each of options.pairs. Errors: those of read_document_pairs() for options.
std::vector<PairFinder> choose_pair_finders(const DocumentPairOptions& options);

}  // namespace simile
