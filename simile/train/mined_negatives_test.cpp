// SPDX-License-Identifier: Apache-2.0
// Mined negatives in whole runs: what is trained on, and that a resumed run trains on the same.
#include "simile/train/mined_negatives.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>

#include "simile/train/detail/run_test.h"
#include "simile/train/option_rules.h"
#include "simile/train/run_data.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Interrupter;
using testing::Killer;

constexpr const char* kRecipe = R"(
name: small
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
baselines: [untrained]
stages:
  - name: warm
    objectives: {data: {path: train.tsv, score_scale: 5}, loss: mse, batch_size: 16}
    epochs: 1
    learning_rate: 1e-3
  - name: mined
    objectives:
      data: {path: train.tsv, score_scale: 5}
      loss: {name: mnrl, threshold: 0.5}
      mine: {method: top, count: 2}
      batch_size: 16
    epochs: 3
    learning_rate: 1e-3
)";

class MinedNegativesTest : public testing::RunTest {
 protected:
  ConfigNode recipe(const std::vector<std::string>& overrides) {
    write("recipe.yaml", kRecipe);
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  TrainOptions options(const std::vector<std::string>& overrides) {
    TrainOptions options;
    read_options(recipe(overrides), options);
    check_train_options(options);
    return options;
  }

  void run(const std::string& folder, const std::vector<std::string>& overrides = {}) {
    train(recipe(overrides), path(folder), false, true, silent_events());
  }

  std::string error_of(const std::vector<std::string>& overrides) {
    try {
      run("bad", overrides);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  // The set that the second stage would train on, and the set that was read.
  struct Mined {
    std::shared_ptr<const TrainingSet> before, after;
  };
  Mined mine(const std::vector<std::string>& overrides, EventSink& events = silent_events()) {
    const TrainOptions train_options = options(overrides);
    const StartModel start = load_start_model(train_options, silent_events());
    std::vector<std::vector<ObjectiveData>> data =
        read_run_data(train_options, start, silent_events());
    ModelWeights weights(start.settings, start.heads);
    weights.assign(start.weights);
    const RunFolder folder(path("mined_alone"), false, true);
    Mined mined{data[1][0].train.examples, nullptr};
    NegativeMiner miner(train_options, 1, start, weights, folder, data[1], events);
    miner.begin_stage(TrainState());
    mined.after = data[1][0].train.examples;
    return mined;
  }

  // Interrupts and kills the run at several steps and expects it to end as if it had not been.
  void expect_resumes(const std::vector<std::string>& overrides, const std::vector<int>& stops) {
    run("whole", overrides);
    for (const int stop_at : stops) {
      const std::string cut = fmt::format("cut{}", stop_at);
      Interrupter interrupter(stop_at);
      EXPECT_THROW(train(recipe(overrides), path(cut), false, false, interrupter), Error);
      train(recipe(overrides), path(cut), true, false, silent_events());
      const std::string killed = fmt::format("killed{}", stop_at);
      Killer killer(stop_at);
      EXPECT_THROW(train(recipe(overrides), path(killed), false, false, killer), Error);
      train(recipe(overrides), path(killed), true, false, silent_events());
      for (const std::string& name : {cut, killed}) {
        EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
        EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl")) << name;
      }
    }
  }
};

const std::string kMine = "stages.1.objectives.mine=";

// Per left text the token ids of its positives.
std::map<std::vector<int32_t>, std::set<std::vector<int32_t>>> positives_of(
    const TrainingSet& set) {
  std::map<std::vector<int32_t>, std::set<std::vector<int32_t>>> positives;
  const auto ids = [&set](int32_t text) { return set.texts[static_cast<size_t>(text)]; };
  for (size_t i = 0; i < set.left.size(); ++i) {
    if (set.target[i] > 0.5) positives[ids(set.left[i])].insert(ids(set.right[i]));
  }
  return positives;
}

TEST_F(MinedNegativesTest, ColumnsHaveNoTextThatReadsLikeAPositive) {
  write("corpus.txt", "w0 w0\nw1 w2\nW1  w2\nw7 w11 w7\nw21 w33\n");
  for (const std::string mine_options :
       {"{method: top, count: 3}", "{method: random, count: 3, range_max: 40}",
        "{method: top, count: 3, relative_margin: 0.05, max_score: 0.2}",
        "{method: top, count: 4, corpus: corpus.txt}",
        "{method: ranks, as: columns, count: 3, rank_base: 5}"}) {
    std::string options = mine_options;
    const size_t corpus = options.find("corpus.txt");
    if (corpus != std::string::npos) options.replace(corpus, 10, path("corpus.txt"));
    const Mined mined = mine({kMine + options});
    const TrainingSet& set = *mined.after;
    ASSERT_GE(set.negatives.size(), 3u) << options;
    EXPECT_EQ(set.offer.negatives, static_cast<int64_t>(set.negatives.size()));
    EXPECT_EQ(set.left, mined.before->left);
    const auto positives = positives_of(set);
    for (const auto& column : set.negatives) {
      ASSERT_EQ(column.size(), set.left.size());
      for (size_t i = 0; i < column.size(); ++i) {
        const auto& negative = set.texts[static_cast<size_t>(column[i])];
        const auto& left = set.texts[static_cast<size_t>(set.left[i])];
        EXPECT_NE(negative, left) << options << " " << i;
        const auto own = positives.find(left);
        const bool is_own = own != positives.end() && own->second.count(negative) > 0;
        EXPECT_FALSE(is_own) << options << " " << i;
      }
    }
    EXPECT_TRUE(mined.before->negatives.empty()) << "the shared set was changed";
  }
}

TEST_F(MinedNegativesTest, PairsHaveTargetZeroAndPositivesAreRepeated) {
  const Mined mined = mine(
      {kMine + "{method: ranks, rank_base: 3, oversample: 1}", "stages.1.objectives.loss=mse"});
  const TrainingSet& set = *mined.after;
  EXPECT_TRUE(set.negatives.empty());
  ASSERT_EQ(set.right.size(), set.left.size());
  ASSERT_EQ(set.target.size(), set.left.size());
  const auto positives = positives_of(*mined.before);
  int64_t positive = 0, negative = 0, zero = 0;
  for (size_t i = 0; i < set.left.size(); ++i) {
    ++(set.target[i] > 0.5 ? positive : negative);
    if (set.target[i] != 0) continue;  // labelled negatives have 0.2 here
    ++zero;
    const auto own = positives.find(set.texts[static_cast<size_t>(set.left[i])]);
    if (own == positives.end()) continue;
    EXPECT_EQ(own->second.count(set.texts[static_cast<size_t>(set.right[i])]), 0u);
  }
  // 20 to 40 of the 60 pairs are positives; ranks 4, 5, 7, 11, 19 and 35 exist.
  EXPECT_GT(zero, 5 * 30);
  EXPECT_GT(positive, negative * 8 / 10);
  EXPECT_LT(positive, negative * 12 / 10);
  EXPECT_EQ(set.offer.target_minimum, 0);
}

TEST_F(MinedNegativesTest, WhatTheLimitsLeaveEmptyIsDrawnAtRandomAndTold) {
  class Notes : public EventSink {
   public:
    void warning(const std::string& message) override { all.push_back(message); }
    std::vector<std::string> all;
  } notes;
  const Mined mined = mine({kMine + "{method: top, count: 2, max_score: -1}"}, notes);
  ASSERT_EQ(mined.after->negatives.size(), 2u);
  EXPECT_NE(mined.after->negatives[0], mined.after->negatives[1]);
  EXPECT_THAT(notes.all,
              Contains(AllOf(HasSubstr("0 negatives mined"), HasSubstr("more drawn at random"))));
}

TEST_F(MinedNegativesTest, ARunResumesWithTheNegativesItHad) {
  expect_resumes({"save_every_minutes=0"}, {2, 5, 9, 14});
  EXPECT_EQ(bytes("whole/mined/mined.0.0.json"), bytes("cut9/mined/mined.0.0.json"));
}

TEST_F(MinedNegativesTest, NegativesMinedAgainAreResumedToo) {
  const std::vector<std::string> again = {kMine + "{method: random, count: 2, every_epochs: 1}",
                                          "save_every_minutes=0", "stages.1.learning_rate=1e-2"};
  expect_resumes(again, {5, 8, 9, 12, 13, 15});
  EXPECT_NE(bytes("whole/mined/mined.0.0.json"), bytes("whole/mined/mined.0.1.json"));
  EXPECT_TRUE(file_exists(path("whole/mined/mined.0.2.json")));
  EXPECT_FALSE(file_exists(path("whole/mined/mined.0.3.json")));
}

TEST_F(MinedNegativesTest, SampledPairsAreTrainedAndResumed) {
  expect_resumes({kMine + "{method: ranks, rank_base: 3, oversample: 1}",
                  "stages.1.objectives.loss=mse", "stages.1.epochs=1"},
                 {5, 12});
}

TEST_F(MinedNegativesTest, MiningTakesTheWeightsTheStageBeginsWith) {
  run("whole");
  run("longer", {"stages.0.epochs=20", "stages.0.learning_rate=1e-2"});
  EXPECT_NE(bytes("whole/mined/mined.0.0.json"), bytes("longer/mined/mined.0.0.json"));
}

TEST_F(MinedNegativesTest, ALossThatNeedsNegativesIsFedByMining) {
  EXPECT_EQ(error_of({"stages.1.objectives.loss=triplet"}), "no error");
  EXPECT_THAT(error_of({"stages.1.objectives.loss=triplet", kMine + "none"}),
              HasSubstr("negative column"));
  const std::string data = "stages.1.objectives.data={path: " + path("train.tsv") + ", score: ''}";
  EXPECT_THAT(error_of({"stages.1.objectives.loss=mse", data, kMine + "none"}), HasSubstr("score"));
  EXPECT_EQ(
      error_of({"stages.1.objectives.loss=mse", data, kMine + "{method: ranks, rank_base: 3}"}),
      "no error");
}

TEST_F(MinedNegativesTest, MistakesSayWhatToChange) {
  EXPECT_THAT(error_of({kMine + "{method: ranks, as: columns}"}), HasSubstr("set `count`"));
  EXPECT_THAT(
      error_of({"stages.1.objectives.loss=mse", kMine + "{method: ranks, rank_base: 1000}"}),
      HasSubstr("`mine` found no negative for any of"));
  EXPECT_THAT(error_of({kMine + "{method: top, oversample: 2}"}), HasSubstr("as: pairs"));
  EXPECT_THAT(error_of({kMine + "{method: ranks, every_epochs: 1}"}), HasSubstr("every_epochs"));
  EXPECT_THAT(error_of({kMine + "{method: top, range_min: 5, range_max: 5}"}),
              HasSubstr("above range_min"));
  EXPECT_THAT(error_of({kMine + "{method: top, corpus: /nowhere.txt}"}), HasSubstr("nowhere"));
  write("words.tsv", "sentence\tlabel\nw1 w2\ta\nw3 w4\tb\n");
  EXPECT_THAT(
      error_of({"stages.1.objectives.data={path: " + path("words.tsv") + ", format: classes}"}),
      HasSubstr("single texts"));
}

TEST_F(MinedNegativesTest, AMissingOrForeignFileIsToldOnResume) {
  Interrupter interrupter(9);
  EXPECT_THROW(train(recipe({}), path("cut"), false, false, interrupter), Error);
  const std::string file = "cut/mined/mined.0.0.json";
  const std::string good = bytes(file);
  const auto resume = [&]() -> std::string {
    try {
      train(recipe({}), path("cut"), true, false, silent_events());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "no error";
  };
  std::filesystem::remove(path(file));
  EXPECT_THAT(resume(), HasSubstr("mined.0.0.json"));
  write(file, "{\"fingerprint\":\"x\",\"negatives\":[]}");
  EXPECT_THAT(resume(), HasSubstr("other data"));
  write(file, good.substr(0, good.find("\"negatives\"")) + "\"negatives\":[[1]]}");
  EXPECT_THAT(resume(), HasSubstr("damaged"));
  write(file, good);
  EXPECT_EQ(resume(), "no error");
}

}  // namespace
}  // namespace simile
