// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/loss/bsc.h"
#include "simile/train/data_review.h"
#include "simile/train/training_set.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Pairs of distinct texts with targets between 0 and 1, eight a batch, under the loss.
struct Lesson {
  explicit Lesson(const std::string& loss) {
    read_options(parse_config("{loss: " + loss + ", batch_size: 8}", "recipe"), objective);
    set.file = "a.tsv";
    for (int32_t i = 0; i < 20; ++i) {
      set.left.push_back(i);
      set.right.push_back(20 + i);
    }
    set.offer.has_target = true;
    set.offer.target_minimum = 0;
  }

  Lesson& of_one_score() {
    set.offer.target_minimum = set.offer.target_maximum;
    return *this;
  }

  // "mistake: a.tsv: ..." or "warning: ..."
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const DataFinding& each : review_teaching("stages.0.objectives.0", objective, set)) {
      lines.push_back((each.is_mistake ? "mistake: " : "warning: ") + each.message);
    }
    return lines;
  }

  ObjectiveOptions objective;
  TrainingSet set;
};

TEST(TeachingReview, FindsNothingWhereThereIsSomethingToLearn) {
  for (const char* loss : {"bsc", "mnrl", "mse", "cosent", "{name: sum, of: [mse, bsc]}"}) {
    EXPECT_THAT(Lesson(loss).told(), IsEmpty()) << loss;
  }
}

TEST(TeachingReview, AColumnForTwoSidesIsAMistake) {
  Lesson lesson("mnrl");
  lesson.objective.data.negatives = {"sentence1"};
  lesson.set.offer.negatives = 1;
  EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("mistake: a.tsv: stages.0.objectives.0.data "
                                                   "reads the column 'sentence1' as `left` and as "
                                                   "`negatives`")));
}

TEST(TeachingReview, OnePairABatchTeachesNothingWhereOthersAreCompared) {
  for (const char* loss : {"mnrl", "bsc", "cosent"}) {
    Lesson lesson(loss);
    lesson.objective.batch_size = 1;
    EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("mistake: "))) << loss;
  }
  Lesson alone("mse");
  alone.objective.batch_size = 1;
  EXPECT_THAT(alone.told(), IsEmpty());
}

TEST(TeachingReview, EqualScoresAreAMistakeOrLeadToCollapse) {
  EXPECT_THAT(Lesson("pearson").of_one_score().told(),
              ElementsAre(HasSubstr("mistake: a.tsv: loss 'pearson' compares pairs of different")));
  EXPECT_THAT(Lesson("mse").of_one_score().told(), ElementsAre(HasSubstr("(collapse)")));
  EXPECT_THAT(Lesson("mnrl").of_one_score().told(), IsEmpty());
}

TEST(TeachingReview, SharedAnswersAreToldOfWhereTheyBecomeNegatives) {
  Lesson lesson("{name: bsc, duplicates: negatives}");
  lesson.of_one_score();
  for (int32_t& right : lesson.set.right) right = 20 + right % 2;
  EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("warning: a.tsv: in a batch of 8, 3.3 other")));
  lesson.objective.order.name = "no_duplicates";
  EXPECT_THAT(lesson.told(), IsEmpty());
}

TEST(TeachingReview, PairsOfOneClassAreToldOfWhereTheyAreNegatives) {
  Lesson lesson("bsc");
  lesson.of_one_score();
  lesson.objective.data.format = "classes";
  for (int32_t i = 0; i < lesson.set.size(); ++i) lesson.set.classes.push_back(i % 2);
  EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("other pairs have the class of a pair")));
  EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("0.loss.same_class=mask")));
  lesson.objective.loss.get<BscOptions>().same_class = "mask";
  EXPECT_THAT(lesson.told(), IsEmpty());
  lesson.objective.loss.get<BscOptions>().same_class = "negatives";
  lesson.objective.data.format = "nli";
  EXPECT_THAT(lesson.told(), IsEmpty());
}

TEST(TeachingReview, TextsWithoutALetterAreCounted) {
  Lesson lesson("bsc");
  lesson.set.review.empty_texts = 2;
  lesson.set.review.texts = 40;
  EXPECT_THAT(lesson.told(), ElementsAre(HasSubstr("2 of 40 texts have no letter or digit")));
}

TEST(TeachingReview, AStageWithoutStepsIsToldOf) {
  StageOptions stage;
  EXPECT_THAT(review_steps(stage), IsEmpty());
  stage.epochs = 0;
  EXPECT_EQ(review_steps(stage).size(), 1u);
  stage.steps = 3;
  EXPECT_THAT(review_steps(stage), IsEmpty());
}

}  // namespace
}  // namespace simile
