// SPDX-License-Identifier: Apache-2.0
// Negatives for anchors, chosen from texts ranked by their score with the anchor.
//
// An anchor is a distinct left text. An anchor's own texts are never chosen: the anchor itself, the
// right texts of its positive pairs, and the left texts of positive pairs with the anchor on the
// right. Texts are compared by keys, numbers that are equal for equal texts, so this holds wherever
// its own texts occur. Ranks are counted from 0 among the candidates that are not its own.
//
//   top, random   hard negatives: of the ranks [range_min, range_max) those with
//                 min_score <= s <= max_score, s <= p - absolute_margin and
//                 s <= p - relative_margin |p|; the first `count` of them, or `count` drawn at
//                 random. s is the candidate's score, p the lowest score of a positive of the
//                 anchor (what mine_hard_negatives of sentence-transformers does)
//   ranks         the candidates at positions rank_base + 2^k, k = 0, 1, ..., counted from 1: by
//                 default 101, 102, 104, 108, ... The texts before are taken to hide positives that
//                 nobody labelled; many of those chosen are hard, a few easy (Chernyavskiy et al.,
//                 "Batch-Softmax Contrastive Loss", NAACL 2022, section 4, PFCC-S, for training
//                 with mse or triplet). The score limits and margins hold here too
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/options.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

struct MiningOptions {
  std::string method = "top";
  int64_t count = 0;
  int64_t range_min = 0;
  int64_t range_max = 0;
  double min_score = -1e9;
  double max_score = 1e9;
  double absolute_margin = 0;
  double relative_margin = 0;
  int64_t rank_base = 100;
  double oversample = 0;

  // Negatives to choose for each anchor; 0: one for each rank.
  int64_t wanted() const { return count > 0 || method == "ranks" ? count : 3; }

  void visit(OptionVisitor& v);
  void visit_method(OptionVisitor& v, const std::vector<std::string>& before);
  void visit_selection(OptionVisitor& v);
};

// Errors: ErrorKind::kRecipe for options that do not go together.
void check_mining_options(const MiningOptions& options);

// Pairs whose left texts are the anchors, and the texts to choose from, all as keys.
struct MiningPairs {
  std::vector<int32_t> left, right;  // [pairs]
  std::vector<bool> is_positive;     // [pairs]
  std::vector<int32_t> candidates;   // may repeat
};

// The texts to be scored, each once. A row is a place in `texts`.
struct MiningPlan {
  std::vector<int32_t> texts;  // keys: candidates, then anchors and positives that are none of them
  int64_t candidates = 0;      // how many of `texts` may be chosen: the first ones
  std::vector<int32_t> anchors;                 // [anchors] rows
  std::vector<int32_t> anchor_of_pair;          // [pairs] places in `anchors`
  std::vector<std::vector<int32_t>> positives;  // [anchors] rows, ascending
  std::vector<std::vector<int32_t>> own;        // [anchors] rows, ascending
};

MiningPlan plan_mining(const MiningPairs& pairs);

// How vectors are compared by a model whose similarity is `cosine` (of unit vectors), `dot` or
// `euclidean`; ErrorKind::kRecipe for another.
VectorMetric mining_metric(const std::string& similarity);

// The scores that decide the choice. `rank(begin, end, depth)` returns the `depth` best candidates
// (ids are rows) of each anchor begin .. end - 1, best first.
struct MiningScores {
  std::function<std::vector<std::vector<Hit>>(int64_t begin, int64_t end, int64_t depth)> rank;
  std::vector<double> lowest_positive;  // [anchors] not a number: it has no positive
};

// By the vectors [texts, D] of plan.texts: exact_search(), so exact and with the same bits whatever
// the number of threads and anchors. `anchors` [anchors, D] are the anchors' vectors if they differ
// from those of their texts. Vectors and plan must outlive the result.
MiningScores score_by_vectors(const Matrix<float>& vectors, const MiningPlan& plan,
                              VectorMetric metric, const Matrix<float>* anchors = nullptr);

struct MiningCounts {
  int64_t anchors = 0;
  int64_t without = 0;  // anchors with no negative at all
  int64_t fewer = 0;    // anchors with some, but fewer than were asked for
  int64_t negatives = 0;
  // Candidates that were met and not taken. `own` and `before_range` count candidates before the
  // range, the others the first reason for a rejection.
  int64_t own = 0, before_range = 0, min_score = 0, max_score = 0;
  int64_t absolute_margin = 0, relative_margin = 0;
  double positive_mean = 0, negative_mean = 0;  // of lowest_positive of anchors with negatives; of
                                                // the scores of negatives
};

struct MinedNegatives {
  std::vector<std::vector<Hit>> negatives;  // [anchors] by rank; ids are rows
  MiningCounts counts;
};

// `seed` drives `random`: the draw of an anchor depends on its place alone. Anchors are ranked in
// blocks, so that memory holds some million hits beside the result.
MinedNegatives mine_negatives(const MiningPlan& plan, const MiningScores& scores,
                              const MiningOptions& options, uint64_t seed);

// Brings each anchor's rows to `count` with candidates drawn at random that are not its own, none
// twice while there are others. Returns how many. Errors: ErrorKind::kInput: there are none.
int64_t fill_negatives(const MiningPlan& plan, int64_t count, uint64_t seed,
                       std::vector<std::vector<int32_t>>& negatives);

// Repeats of each positive that bring positives : negatives nearest to `ratio`; at least 1.
int64_t positive_repeats(int64_t positives, int64_t negatives, double ratio);

}  // namespace simile
