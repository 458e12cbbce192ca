// SPDX-License-Identifier: Apache-2.0
#include "simile/train/training_set.h"

#include <gmock/gmock.h>

#include "simile/train/detail/run_test.h"
#include "simile/train/run_data.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainingSetTest : public testing::RunTest {
 protected:
  TrainingSetTest() {
    write("pairs.tsv", "sentence1\tsentence2\tn\nw1\tw1\tw2\nw1\tw2\tw1\n");
    settings_.prompts = {{"query", "w5 "}, {"document", "w6 "}};
  }

  TrainingSet read(const ColumnPromptOptions& prompts, bool keep_originals = false) {
    PairDataOptions data;
    data.path = path("pairs.tsv");
    data.score = "";
    data.negatives = {"n"};
    const ColumnPrompts found = find_column_prompts(prompts, settings_, nullptr);
    Tokenizer tokenizer = Tokenizer::load(path("vocab.txt"));
    tokenizer.set_max_length(8);
    return read_training_set({data, 0, nullptr, 1, tokenizer, found, keep_originals},
                             silent_events());
  }

  ModelSettings settings_;
};

TEST_F(TrainingSetTest, EveryDistinctTextIsReadOnce) {
  const TrainingSet set = read({});
  EXPECT_THAT(set.texts, ElementsAre(ElementsAre(2, 6, 3), ElementsAre(2, 7, 3)));
  EXPECT_THAT(set.left, ElementsAre(0, 0));
  EXPECT_THAT(set.right, ElementsAre(0, 1));
  EXPECT_THAT(set.negatives, ElementsAre(ElementsAre(1, 0)));
  EXPECT_THAT(set.originals, IsEmpty());
}

TEST_F(TrainingSetTest, ColumnsHaveTheirPromptsByNameOrAsTexts) {
  const TrainingSet set = read({"query", "w9 w9 "}, true);
  EXPECT_THAT(set.texts, ElementsAre(ElementsAre(2, 10, 6, 3), ElementsAre(2, 14, 14, 6, 3),
                                     ElementsAre(2, 14, 14, 7, 3)));
  EXPECT_THAT(set.left, ElementsAre(0, 0));
  EXPECT_THAT(set.right, ElementsAre(1, 2));
  EXPECT_THAT(set.negatives, ElementsAre(ElementsAre(2, 1)));
  EXPECT_THAT(set.originals, ElementsAre("w1", "w1", "w2"));
}

TEST_F(TrainingSetTest, PromptsThatTrainingCannotPutAreRefused) {
  const auto error_of = [this](const HeadSettings* head,
                               const std::string& left = "query") -> std::string {
    try {
      find_column_prompts({left, ""}, settings_, head);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  HeadSettings joint;
  joint.input = "joint";
  EXPECT_THAT(error_of(&joint), HasSubstr("joint head"));
  EXPECT_THAT(error_of(nullptr, "qurey"),
              HasSubstr("no prompt 'qurey' (did you mean 'query'?); it has document, query"));
  EXPECT_EQ(error_of(nullptr, "query: "), "no error");
  settings_.pooling.include_prompt = false;
  EXPECT_THAT(error_of(nullptr), HasSubstr("include_prompt"));
}

TEST_F(TrainingSetTest, AModelsPromptsThatARecipeDoesNotNameAreTold) {
  struct Warnings : EventSink {
    void warning(const std::string& message) override { all.push_back(message); }
    std::vector<std::string> all;
  };
  TrainOptions options;
  options.stages.resize(1);
  options.stages[0].objectives.resize(1);
  ObjectiveOptions& objective = options.stages[0].objectives[0];
  objective.data.path = path("pairs.tsv");
  objective.data.score = "";
  objective.loss.name = "simcse";
  StartModel start{Tokenizer::load(path("vocab.txt")), {}, settings_, {}, {}};
  start.tokenizer.set_max_length(8);
  Warnings untold, told, text;
  read_run_data(options, start, untold);
  ASSERT_THAT(untold.all, ::testing::Contains(HasSubstr("has prompts (document, query)")));
  objective.prompts = {"query", "document"};
  const auto data = read_run_data(options, start, told);
  EXPECT_THAT(told.all, ::testing::Not(::testing::Contains(HasSubstr("has prompts"))));
  EXPECT_THAT(data[0][0].train->texts[0], ElementsAre(2, 10, 6, 3));
  objective.prompts = {"query", "w6: "};
  read_run_data(options, start, text);
  EXPECT_THAT(text.all, ::testing::Contains(HasSubstr("the prompt 'w6: ' is a text")));
}

}  // namespace
}  // namespace simile
