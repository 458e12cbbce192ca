// SPDX-License-Identifier: Apache-2.0
// Negatives for the anchors of pairs of texts (simile/batch/mining.h): the same texts by their
// comparison form, rankings by a scorer, and the file that training reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simile/batch/mining.h"
#include "simile/eval/scorer.h"

namespace simile {

// Positive pairs, and the texts to choose negatives from.
struct TextMining {
  std::vector<std::string> left, right;  // [pairs]
  std::vector<std::string> candidates;   // may repeat
};

// `texts` are those of plan.texts, by row. Texts that are equal up to case and punctuation
// (simile/text/words.h) are one, the first that is met.
struct TextMiningPlan {
  MiningPlan plan;
  std::vector<std::string> texts;
};

TextMiningPlan plan_text_mining(const TextMining& mining);

// The scores by which `scorer` ranks; for scorers whose rankings cost little beside their set-up,
// which every block of anchors pays. Scorer and plan must outlive the result.
MiningScores score_by_scorer(Scorer& scorer, const TextMiningPlan& plan);

enum class MinedForm { kTriplet, kNTuple, kLabelledPair };
// "triplet", "n-tuple" or "labelled-pair"; another name is ErrorKind::kUsage.
MinedForm parse_mined_form(const std::string& name);

struct MinedRows {
  int64_t rows = 0;
  int64_t positives = 0, negatives = 0;  // labelled pairs: rows of each
  int64_t repeats = 1;                   // labelled pairs: rows of one positive pair
  int64_t pairs_left_out = 0;            // n-tuples: pairs whose anchor has too few negatives
};

// Rows of a table with a header, tab separated, or one JSON object a line:
//
//   triplet        anchor, positive, negative: a row for each negative of each pair
//   n-tuple        anchor, positive, negative_1 .. negative_n: a row for each pair, n options.count
//   labelled-pair  anchor, text, score: a positive pair with 1, as often as options.oversample
//                  says; after its first pair the anchor's negatives with 0
//
// In tables tabs and line ends inside texts become spaces. Pairs keep their order.
MinedRows write_mined(const TextMining& mining, const TextMiningPlan& plan,
                      const MinedNegatives& mined, const MiningOptions& options, MinedForm form,
                      bool jsonl, const std::function<void(std::string_view)>& write);

}  // namespace simile
