// SPDX-License-Identifier: Apache-2.0
// Fast shuffling: examples that share a word come together, at the cost of two sorts
// (Batch-Softmax Contrastive Loss, Algorithm 2). What the words are is the caller's choice:
// shingles of a text (below), the number of its cluster, its nearest neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "simile/batch/plan.h"

namespace simile {

// Appends to `words` the numbers of the words by which the example may be sorted.
using WordsOf = std::function<void(int64_t example, std::vector<uint64_t>& words)>;

// Each example draws one of its words (a word that it has twice is twice as likely). The examples
// are sorted by it, those of equal words in random order; the run of a word is cut after every
// `group_size` examples, its last group being what is left; every group draws a random 64-bit
// number, and the groups are sorted by that. An example without any word is a group of its own.
//
// The printed Algorithm 2 does not restart the count of a group when the word changes, so that the
// first group of a word may be shorter than need be; here it does, as the text has it ("we split a
// group if it is too large").
//
// `words_of` is called once per example, in order, on the calling thread. The result depends on its
// answers, group_size, seed and epoch alone. Memory: 36 bytes an example. Errors: kFailed for more
// than 2^31 - 1 examples, or group_size below 1.
ExampleOrder order_words(int64_t examples, const WordsOf& words_of, int64_t group_size,
                         uint64_t seed, uint64_t epoch);

// The shingles of a text: runs of `shingle` consecutive words (text/split_words.h) after stop words
// are left out, as 64-bit hashes, in order. A text with fewer words, but some, has one shingle of
// all of them. Errors (kFailed): shingle below 1. One object serves many threads.
class TextShingler {
 public:
  // `stop_words` are split and lower-cased as texts are ("don't" stops "don" and "t"). An empty
  // list: the built-in list of English function words.
  explicit TextShingler(int64_t shingle, const std::vector<std::string>& stop_words = {});
  void append(const std::string& text, std::vector<uint64_t>& words) const;

 private:
  int64_t shingle_;
  std::unordered_set<std::string> stop_words_;
};

// English function words as split_words() gives them: in lower case, contractions in their parts
// ("don't": "don", "t").
const std::vector<std::string>& english_stop_words();

// Rows of order_table(): words that are shingles, clusters or neighbours.
OrderRow words_row();
OrderRow clusters_row();
OrderRow neighbour_words_row();

}  // namespace simile
