// SPDX-License-Identifier: Apache-2.0
// Contents of a training set, and how much of a test it holds: counts for the user, and the
// evidence for a test that leaks or for sides that are exchanged.
//
// Equal texts are found by simile/data/text_match.h. Memory: 8 to 16 bytes a text; no text is kept.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/data/pair_dataset.h"
#include "simile/data/text_match.h"

namespace simile {

struct DataReview {
  std::string file;
  bool has_right = false;  // pairs; otherwise single texts
  int64_t examples = 0;
  int64_t texts = 0;  // in all columns
  int64_t distinct_texts = 0;
  int64_t duplicate_examples = 0;  // that repeat an earlier one, in whichever order
  int64_t equal_sides = 0;         // pairs of a text with itself
  int64_t empty_texts = 0;         // without a letter or digit
  double score_minimum = 1, score_maximum = 1, score_mean = 1;
  std::vector<std::pair<std::string, int64_t>> classes;  // name and examples
  int64_t left_words = 0, right_words = 0;               // medians
  KeySet left, right;                                    // texts; negatives belong to the right
  KeySet keys;                                           // of the examples: of pairs, or texts
};

DataReview review_pairs(const PairDataset& data, const std::string& file);

// The texts of a test, as views: pairs, single texts (right is null), or queries and documents.
struct TestTexts {
  const std::vector<std::string>* left = nullptr;
  const std::vector<std::string>* right = nullptr;
  bool is_ranking = false;
  // Rows (left, right) of the examples; a ranking has each query with each document relevant to it.
  std::vector<std::pair<int64_t, int64_t>> examples;

  std::string text(size_t example) const;  // "'left' | 'right'", long texts cut
};

TestTexts pair_texts(const PairDataset& data);

struct TestReview {
  explicit TestReview(const TestTexts& texts);

  bool is_ranking = false;
  int64_t left_words = 0, right_words = 0;  // medians
  KeySet left, right;
  KeySet telling;  // texts of at least kTellingWords; only the queries of a ranking
  std::vector<std::pair<uint64_t, int64_t>> examples;  // key and number of those with such a text
  int64_t size = 0;                                    // examples, short ones included
  std::vector<TextForm> queries, documents;            // of each example of a ranking
};

// Part of the test that the training set holds. An example counts when all of it is an example of
// the training set and one of its texts is telling; data.exclude leaves out such examples.
struct Leak {
  int64_t examples = 0, found = 0;
  int64_t texts = 0, texts_found = 0;  // distinct ones of at least kTellingWords
  // Rankings only: distinct queries and documents, telling or not, and how many telling ones the
  // training set holds; examples whose document it holds.
  int64_t queries = 0, queries_found = 0, documents = 0, documents_found = 0;
  int64_t examples_of_seen = 0;
  std::vector<int64_t> first;  // the first two examples that were found

  double found_share() const;
  double texts_share() const;
  bool is_mistake() const { return found >= 10 && found_share() >= 0.01; }
};
Leak find_leak(const DataReview& training, const TestReview& test);

// Whether the training set's sides match those of the test, or are exchanged.
struct SideMatch {
  double straight = 0;   // the larger share of the distinct texts of a side that are on its side
  double exchanged = 0;  // of the test; and on the other side
  int64_t exchanged_texts = 0;
  bool lengths_oppose = false;  // medians at least twice as long on opposite sides

  // Exact matches, many more than the straight way.
  bool is_mistake() const {
    return exchanged_texts >= 10 && exchanged >= 0.05 && exchanged >= 5 * straight;
  }
};
SideMatch match_sides(const DataReview& training, const TestReview& test);

}  // namespace simile
