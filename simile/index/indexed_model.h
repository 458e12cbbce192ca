// SPDX-License-Identifier: Apache-2.0
// The description of an index: the model of its vectors, how it stores them, how many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/neighbours/exact_search.h"
#include "simile/text/passages.h"
#include "simile/text/words.h"

namespace simile {

// For the `language` of split_words(), with which an index or an evaluation cuts texts.
inline OptionInfo language_info() {
  return choice_info(
      "Language whose rules reduce words to their stems (Snowball), so that costs and cost are one "
      "word; none: words as they are written",
      word_languages());
}

// The model whose vectors an index holds, and how the index keeps them.
struct IndexedModel {
  std::string fingerprint;
  std::string name;  // of a built-in model, else its folder relative to the index folder
  int64_t dimension = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  std::string precision = "fp32";  // of the products that computed the vectors
  std::string folder = "";         // the model's folder when the index was built (empty: built-in)
  // Name of the documents' prompt (empty: the model's prompt for documents; none: not recorded).
  std::optional<std::string> prompt_name = std::nullopt;
  PassageOptions passages = {};                // how long documents are split
  StoredNumber vectors = StoredNumber::kFp32;  // what the index keeps of each vector
  // The share of each vector's ten nearest vectors in fp32 that a search of the stored vectors
  // finds, measured when the index is built (none: vectors in fp32, or fewer than two vectors).
  std::optional<double> vectors_recall = std::nullopt;
  // Columns of the corpus that are kept with each document, also with documents added later
  // ("*": all). A build that names none takes the columns that its documents have, if there are at
  // most 32 of them (none: there were more).
  std::optional<std::vector<std::string>> metadata = std::nullopt;
  double spread = 1;  // of the model's similarity (score_fusion.h), which old indexes do not have
  // How texts are cut into words (simile/text/words.h): the language, and the rules' version.
  std::string language = "none";
  int64_t word_rules = kWordRules;

  void visit(OptionVisitor& v);  // the members of manifest.json
};

// The graph for approximate search (docs/search.md).
struct GraphInfo {
  int64_t rows = 0;     // vectors in the graph
  int64_t breadth = 0;  // of a search for ten documents
  double recall = 0;    // share of the ten nearest that such a search found when the graph was made
  // The share of the ten best by vectors and words that such a search found, measured at the same
  // time; 1 where it does not use the graph.
  double agreement = 0;
};

// Called while a graph is made, with the number of vectors inserted so far and of all vectors (both
// equal while recall is measured). May throw: then no graph is made, and after
// ErrorKind::kInterrupted no index either.
using GraphProgress = std::function<void(int64_t done, int64_t all)>;

struct IndexInfo {
  IndexedModel model;
  int64_t count = 0;       // documents
  int64_t vectors = 0;     // one for each document, or for each of its passages
  int64_t generation = 0;  // changes since the index was begun
  int64_t segments = 0;
  int64_t removed = 0;  // vectors in the segments whose documents are gone
  std::optional<GraphInfo> graph = {};
};

}  // namespace simile
