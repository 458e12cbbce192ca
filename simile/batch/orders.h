// SPDX-License-Identifier: Apache-2.0
// The orders that look at what examples hold: words that they share, their classes, texts that
// recur. plan.h has the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "simile/batch/plan.h"

namespace simile {

// Fast shuffling: examples that share a word come together, at the cost of two sorts
// (Batch-Softmax Contrastive Loss, Algorithm 2). What the words are is the caller's choice:
// shingles of a text (below), the number of its cluster, its nearest neighbours.
//
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

// Batches of several classes, each with several examples: the order `classes`. A triplet needs
// another example of the anchor's class in the batch, and one of another class; of classes drawn at
// random a batch may hold many once and the largest a dozen times.
//
// Every example is in exactly one batch of an epoch. The examples of a class, in random order, are
// cut into groups of at most `group_size`, as few as that allows and of sizes that differ by one at
// most. A batch takes batch_size / group_size groups, one at least, each of the class that has most
// groups left, classes that are in the batch already last, ties random: so its classes differ while
// there are enough of them, and the largest class is used up along with the others. The batches
// are then shuffled. Their number depends on the sizes of the classes alone.
//
// Time: linear in the examples, with a logarithm of the number of classes.
//
// `classes`: of each example, from 0. Errors (kFailed): a size below 1.
int64_t count_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                            int64_t batch_size);

Batches plan_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                           int64_t batch_size, uint64_t seed, uint64_t epoch);

// Batches in which no text stands twice: the order `no_duplicates`. Where every other text of a
// batch is taken for a negative, an equal text would be a false one.
//
// Every example is in exactly one batch of an epoch; no batch has more than `batch_size`; no two
// examples of a batch share a text, in whatever columns (a text that an example has twice itself is
// its own affair). The number of batches is the same for every seed and epoch, and the batches are
// filled evenly: with n examples in B batches most have n / B or one more.
//
// Method. The examples are placed in order of the number of examples that hold their most frequent
// text, most first, ties random, those with the same such text one after the other; each goes to
// the next batch of a circle of B that has none of its texts. B is a function of the texts and
// batch_size alone: the placement with a fixed seed is repeated, beginning with the least that can
// do, max(ceil(n / batch_size), frequency of the most frequent text), until B batches are enough.
// That ends, as no example meets a text of its own or a full batch in more than
// Σ_texts (frequency - 1) + (n - 1) / batch_size of them. An epoch whose random placement needs
// more than B is tried again (kTries), then takes the placement of the fixed seed, in which
// examples with the same repeated texts change places at random: that breaks no rule either. Where
// texts recur rarely B is the least that can do; the bound cannot be reached for data such as all
// pairs of k left and k right texts with batches that leave no room.
//
// Memory: some 60 bytes an example and 32 per occurrence of a repeated text. Time: linear in them,
// a second or so for a million examples; only data whose texts fill nearly all batches takes
// longer.
//
// B. `text_ids` [columns][examples], not negative, at least one column.
int64_t count_distinct_batches(const TextColumns& text_ids, int64_t batch_size);

// The batches of an epoch, in random order and each in random order; `count` is what
// count_distinct_batches() gave for the same texts and size.
Batches plan_distinct_batches(const TextColumns& text_ids, int64_t batch_size, int64_t count,
                              uint64_t seed, uint64_t epoch);

// Rows of order_table(): words that are shingles, clusters or neighbours, and the others.
OrderRow words_row();
OrderRow clusters_row();
OrderRow neighbour_words_row();
OrderRow classes_row();
OrderRow no_duplicates_row();

}  // namespace simile
