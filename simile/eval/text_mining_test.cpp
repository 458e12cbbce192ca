// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/text_mining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"
#include "simile/eval/lexical_baseline.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

const TextMining kMining = {{"red apple", "Blue sky", "red apple"},
                            {"a red apple", "the sky is blue", "apple of red"},
                            {"A red apple!", "green apple", "the sky is blue", "blue sea",
                             "Apple, of red", "red car", "a RED apple"}};

struct Mined {
  explicit Mined(const MiningOptions& options) : plan(plan_text_mining(kMining)) {
    mined = mine_negatives(plan.plan, score_by_scorer(scorer, plan), options, 1);
  }
  MinedRows write(const MiningOptions& options, MinedForm form, bool jsonl = false) {
    return write_mined(kMining, plan, mined, options, form, jsonl,
                       [this](std::string_view bytes) { text += bytes; });
  }
  Bm25Scorer scorer;
  TextMiningPlan plan;
  MinedNegatives mined;
  std::string text;
};

MiningOptions two() {
  MiningOptions options;
  options.count = 2;
  return options;
}

TEST(TextMining, TextsEqualUpToCaseAndPunctuationAreOne) {
  const TextMiningPlan plan = plan_text_mining(kMining);
  EXPECT_THAT(plan.texts, ElementsAre("A red apple!", "green apple", "the sky is blue", "blue sea",
                                      "Apple, of red", "red car", "red apple", "Blue sky"));
  EXPECT_EQ(plan.plan.candidates, 6);
  EXPECT_THAT(plan.plan.own, ElementsAre(ElementsAre(0, 4, 6), ElementsAre(2, 7)));
}

TEST(TextMining, SignsAloneAreEqualToThemselvesOnly) {
  const TextMiningPlan plan = plan_text_mining({{"a"}, {"!"}, {"!", "?", ":-)"}});
  EXPECT_THAT(plan.texts, ElementsAre("!", "?", ":-)", "a"));
}

TEST(TextMining, ALexicalScorerRanksAndScoresPositivesInOneCollection) {
  Bm25Scorer scorer;
  const TextMiningPlan plan = plan_text_mining(kMining);
  const MiningScores scores = score_by_scorer(scorer, plan);
  const std::vector<std::vector<Hit>> rankings = scores.rank(0, 2, 6);
  // The lowest of both positives of the first anchor, as its ranking has them.
  double lowest = 1e9;
  for (const Hit& hit : rankings[0]) {
    if (hit.id == 0 || hit.id == 4) lowest = std::min(lowest, static_cast<double>(hit.score));
  }
  EXPECT_NEAR(scores.lowest_positive[0], lowest, 1e-6);
  EXPECT_EQ(scores.rank(1, 2, 6)[0].front().id, rankings[1].front().id);
}

TEST(TextMining, WritesTriplets) {
  Mined mined(two());
  const MinedRows rows = mined.write(two(), MinedForm::kTriplet);
  EXPECT_EQ(mined.text,
            "anchor\tpositive\tnegative\n"
            "red apple\ta red apple\tgreen apple\n"
            "red apple\ta red apple\tred car\n"
            "Blue sky\tthe sky is blue\tblue sea\n"
            "red apple\tapple of red\tgreen apple\n"
            "red apple\tapple of red\tred car\n");
  EXPECT_EQ(rows.rows, 5);
  EXPECT_EQ(mined.mined.counts.fewer, 1);
}

TEST(TextMining, NTuplesLeaveOutPairsWithTooFewNegatives) {
  Mined mined(two());
  const MinedRows rows = mined.write(two(), MinedForm::kNTuple, true);
  EXPECT_EQ(mined.text,
            R"({"anchor":"red apple","positive":"a red apple","negative_1":"green apple",)"
            R"("negative_2":"red car"})"
            "\n"
            R"({"anchor":"red apple","positive":"apple of red","negative_1":"green apple",)"
            R"("negative_2":"red car"})"
            "\n");
  EXPECT_EQ(rows.pairs_left_out, 1);
  EXPECT_EQ(rows.rows, 2);
}

TEST(TextMining, LabelledPairsHaveAnAnchorsNegativesOnceAndRepeatPositives) {
  MiningOptions options = two();
  options.oversample = 2;
  Mined mined(options);
  const MinedRows rows = mined.write(options, MinedForm::kLabelledPair);
  EXPECT_EQ(mined.text,
            "anchor\ttext\tscore\n"
            "red apple\ta red apple\t1\nred apple\ta red apple\t1\n"
            "red apple\tgreen apple\t0\nred apple\tred car\t0\n"
            "Blue sky\tthe sky is blue\t1\nBlue sky\tthe sky is blue\t1\n"
            "Blue sky\tblue sea\t0\n"
            "red apple\tapple of red\t1\nred apple\tapple of red\t1\n");
  EXPECT_EQ(rows.repeats, 2);
  EXPECT_EQ(rows.positives, 6);
  EXPECT_EQ(rows.negatives, 3);
}

TEST(TextMining, TabsInTextsDoNotBreakTheTable) {
  const TextMining mining = {{"a\tb"}, {"c\nd"}, {"c d", "e\tf"}};
  const TextMiningPlan plan = plan_text_mining(mining);
  MinedNegatives mined;
  mined.negatives = {{{1, 0.5f}}};
  std::string text;
  write_mined(mining, plan, mined, {}, MinedForm::kTriplet, false,
              [&](std::string_view bytes) { text += bytes; });
  EXPECT_EQ(text, "anchor\tpositive\tnegative\na b\tc d\te f\n");
}

TEST(TextMining, AnEmptyFirstTextKeepsItsColumn) {
  const TextMining mining = {{""}, {"c"}, {"c", "e"}};
  const TextMiningPlan plan = plan_text_mining(mining);
  MinedNegatives mined;
  mined.negatives = {{{1, 0.5f}}};
  std::string text;
  write_mined(mining, plan, mined, {}, MinedForm::kTriplet, false,
              [&](std::string_view bytes) { text += bytes; });
  EXPECT_EQ(text, "anchor\tpositive\tnegative\n\tc\te\n");
}

TEST(TextMining, FormsAreKnownByName) {
  EXPECT_EQ(parse_mined_form("n-tuple"), MinedForm::kNTuple);
  EXPECT_THROW(parse_mined_form("tuple"), Error);
  MiningOptions ranks;
  ranks.method = "ranks";
  Mined mined(ranks);
  EXPECT_THROW(mined.write(ranks, MinedForm::kNTuple), Error);
}

}  // namespace
}  // namespace simile
