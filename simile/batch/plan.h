// SPDX-License-Identifier: Apache-2.0
// Batch orders as data: a pure function of (dataset, side data, seed, epoch) to a list of batches,
// which can be printed, tested and resumed (Batch-Softmax Contrastive Loss, section 3.2). Mixing is
// one too, of numbers of batches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"

namespace simile {

struct OrderOptions;
struct OrderRow;

// Examples in the order they are seen: a permutation of 0 .. examples-1.
using ExampleOrder = std::vector<int32_t>;

// The plan of an epoch: its batches in the order they are trained, each the examples it holds.
using Batches = std::vector<std::vector<int32_t>>;

// Per column of texts (left, right, negatives), a number per example, equal for equal texts.
using TextColumns = std::vector<std::vector<int32_t>>;

ExampleOrder order_sequential(int64_t examples);

ExampleOrder order_random(int64_t examples, uint64_t seed, uint64_t epoch);

// Consecutive runs of `batch_size` have texts of like length, for cut_batches() with that size. A
// random order is cut into pools of `pool_batches` runs, the last of them smaller; each pool is
// sorted by `lengths` (tokens of all texts of an example; equal lengths stay in random order) and
// cut into runs; the runs of all pools are shuffled. The examples % batch_size examples that fill
// no run, the last of the random order, are the last run, whatever their lengths. A large pool
// makes the lengths in a batch more alike, a small one the batches more random.
ExampleOrder order_length_bucketed(const std::vector<int64_t>& lengths, int64_t batch_size,
                                   int64_t pool_batches, uint64_t seed, uint64_t epoch);

// A row for each requested example: the others nearest to it, nearest first.
using FindNeighbours = std::function<Matrix<int32_t>(const std::vector<int32_t>& examples)>;

// Algorithm 1 of the paper, which only uses the neighbours of examples that start a group. They are
// requested some at a time, with a few that turn out not to start one. It walks a random
// permutation. Each unused example starts a group and takes its nearest unused neighbours until the
// group has `group_size` members. With `reverse` the whole sequence is reversed, so that the
// one-element groups of the end come first. `text_ids` decides which texts are equal: unless
// `allow_same`, a group takes no example that shares a text in any column with one of its members
// (it would be a false negative).
ExampleOrder order_neighbours(int64_t examples, const FindNeighbours& find,
                              const TextColumns& text_ids, const OrderOptions& options,
                              uint64_t seed, uint64_t epoch);

// Consecutive runs of `batch_size` examples; the last may be shorter.
Batches cut_batches(const ExampleOrder& order, int64_t batch_size);

// Consecutive runs of the given sizes, which add up to the order's.
Batches cut_batches(const ExampleOrder& order, const std::vector<int32_t>& sizes);

// Undoes cut_batches().
ExampleOrder join_batches(const Batches& batches);
std::vector<int32_t> batch_sizes(const Batches& batches);

// Rows of order_table() for the orders above.
OrderRow sequential_row();
OrderRow random_row();
OrderRow length_bucketed_row();
OrderRow neighbours_row();

// Labelled negatives beside their anchor (Batch-Softmax Contrastive Loss, section 3.3): in most
// data sets, a pair labelled negative is similar to its left text, so in the batch of this text's
// positive pair it is a hard negative. The loss leaves it out of the numerator (eq. 5).
//
// The pairs of an objective are of three kinds:
//   positive   target above a threshold; its left text is an anchor
//   attached   not positive, and its left text is an anchor: it waits for a batch of that anchor
//   single     not positive, and its left text has no positive pair
// An order places the positive and the single pairs, the *placed* ones; nothing is lost of those.
// The attached ones fill the room that the batches leave:
//
//   U = placed + Σ_anchors min(attached of the anchor, most · positives of the anchor)
//   B = min(placed, ceil(U / batch_size))        batches, whatever seed and epoch
//
// The order is cut into B runs whose sizes differ by at most one. Then each batch takes attached
// pairs, in rounds: in every round each anchor of the batch, in the order of its positives there,
// gives its next one, until the batch has `batch_size` examples or every anchor has given `most`.
// An anchor gives its pairs in an order that is random in each epoch, each at most once. Attached
// pairs without room are left out of the epoch, different ones each time; their number is reported.
struct LabelledNegatives {
  ExampleOrder placed;                   // examples that an order places, ascending
  std::vector<int32_t> anchor;           // [examples] number of the left text
  std::vector<char> is_positive;         // [examples]
  std::vector<std::vector<int32_t>> of;  // [anchors] attached examples; empty for other texts

  int64_t attached() const { return static_cast<int64_t>(anchor.size() - placed.size()); }
};

// `anchor` [examples]: a number, not negative, that is equal for equal left texts.
LabelledNegatives find_labelled_negatives(const std::vector<int32_t>& anchor,
                                          const std::vector<char>& is_positive);

// B; `most` is at least 1.
int64_t count_filled_batches(const LabelledNegatives& negatives, int64_t most, int64_t batch_size);

struct FilledBatches {
  Batches batches;       // of each the placed examples in their order, then the attached ones
  int64_t left_out = 0;  // attached examples that found no room
};

// `order` holds the placed examples. The random stream is "labelled negatives".
FilledBatches fill_batches(const LabelledNegatives& negatives, const ExampleOrder& order,
                           int64_t most, int64_t batch_size, uint64_t seed, uint64_t epoch);

// How the batches of several data sets take turns in an epoch.
struct MixingOptions {
  std::string mixing = "round_robin";
  std::string mixing_ends = "longest";  // of round_robin

  void visit(OptionVisitor& v);
};

// The data set of each batch of an epoch, numbered from 0; `batches` [data sets] holds the number
// of batches of each, `shares` [data sets] their shares from the recipe.
//   round_robin   0, 1, ..., k-1, over and over in whole rounds: as many rounds as the longest data
//                 set has batches (`mixing_ends: longest`; the others begin again) or as the
//                 shortest has (`shortest`; the others go on in the next epoch)
//   proportional  every batch of every data set once; each turn is drawn at random from the batches
//                 that are left, so that all data sets run out together on average
//   sequential    every batch of every data set once, one data set after the other
//   shares        as many turns as all data sets have batches together, of which each data set has
//                 its share (share / sum of shares, rounded by largest remainders, the first of
//                 equal ones), in random order. A data set that has been through begins again, one
//                 that has not goes on in the next epoch
// Only proportional and shares look at seed and epoch, only shares at `shares`. Errors:
// ErrorKind::kInput for a set without batches; kRecipe for a share below 0, or none above.
std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches,
                                 const std::vector<double>& shares, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch);

// Fast shuffling: examples that share a word come together, at the cost of two sorts
// (Batch-Softmax Contrastive Loss, Algorithm 2). The caller chooses the words: shingles of a text
// (below), the number of its cluster, its nearest neighbours.
//
// Appends to `words` the numbers of the words by which the example may be sorted.
using WordsOf = std::function<void(int64_t example, std::vector<uint64_t>& words)>;

// Each example draws one of its words (a word that it has twice is twice as likely). The examples
// are sorted by it, those of equal words in random order; the run of a word is cut after every
// `group_size` examples, and its last group may be smaller. Every group draws a random 64-bit
// number, and the groups are sorted by that. An example without any word is a group of its own.
//
// The printed Algorithm 2 does not restart the count of a group when the word changes, so that the
// first group of a word may be too short; here it does, as in its text ("split ... if too large").
//
// `words_of` is called once per example, in order, on the calling thread. The result depends on its
// answers, group_size, seed and epoch alone. Memory: 36 bytes an example. Errors: kFailed for more
// than 2^31 - 1 examples, or group_size below 1.
ExampleOrder order_words(int64_t examples, const WordsOf& words_of, int64_t group_size,
                         uint64_t seed, uint64_t epoch);

// The shingles of a text: runs of `shingle` consecutive words (text/words.h) after stop words
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

// English function words as split_words() gives them: lower case, "don't" as "don", "t".
const std::vector<std::string>& english_stop_words();

// Batches of several classes, each with several examples: the order `classes`. A triplet needs
// another example of the anchor's class in the batch, and one of another class; of classes drawn at
// random a batch may hold many once and the largest a dozen times.
//
// Every example is in exactly one batch of an epoch. The examples of a class, in random order, are
// cut into groups of at most `group_size`, as few as that allows and of sizes that differ by one at
// most. A batch takes batch_size / group_size groups, at least one, each of the class with the most
// groups left; classes in the batch already come last, and ties are random. So its classes differ
// while there are enough, and the largest class is used up along with the others. The batches
// are then shuffled. Their number depends on the sizes of the classes alone.
//
// Time: linear in the examples, with a logarithm of the number of classes.
//
// `classes`: of each example, from 0. Errors (kFailed): a size below 1.
int64_t count_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                            int64_t batch_size);

Batches plan_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                           int64_t batch_size, uint64_t seed, uint64_t epoch);

// Batches without repeated texts: the order `no_duplicates`. Where every other text of a batch is
// taken for a negative, an equal text would be a false one.
//
// Every example is in exactly one batch of an epoch; no batch has more than `batch_size`; no two
// examples of a batch share a text, in whatever columns (a text that an example has twice itself is
// its own affair). The number of batches is the same for every seed and epoch, and the batches are
// filled evenly: with n examples in B batches most have n / B or one more.
//
// Method. Examples are placed by the number of examples with their most frequent text, the highest
// first; ties are random, and those with the same such text are adjacent. Each goes to the next
// batch of a circle of B that has none of its texts. B is a function of the texts and batch_size
// alone: the placement with a fixed seed is repeated, beginning with the least that can do,
// max(ceil(n / batch_size), frequency of the most frequent text), until B batches are enough. That
// ends, as no example meets a text of its own or a full batch in more than
// Σ_texts (frequency - 1) + (n - 1) / batch_size of them. An epoch whose random placement needs
// more than B is tried again (kTries), then takes the placement of the fixed seed, in which
// examples with the same repeated texts change places at random: that breaks no rule either. Where
// texts recur rarely B is the least that can do; the bound cannot be reached for data such as all
// pairs of k left and k right texts with batches that leave no room.
//
// Memory: some 60 bytes an example and 32 per occurrence of a repeated text. Time: linear in them,
// about a second for a million examples, more where texts fill nearly all batches.
//
// B. `text_ids` [columns][examples], not negative, at least one column.
int64_t count_distinct_batches(const TextColumns& text_ids, int64_t batch_size);

// The batches of an epoch, in random order and each in random order; `count` is the result of
// count_distinct_batches() for the same texts and size.
Batches plan_distinct_batches(const TextColumns& text_ids, int64_t batch_size, int64_t count,
                              uint64_t seed, uint64_t epoch);

// Rows of order_table(): words that are shingles, clusters or neighbours, and the others.
OrderRow words_row();
OrderRow clusters_row();
OrderRow neighbour_words_row();
OrderRow classes_row();
OrderRow no_duplicates_row();

}  // namespace simile
