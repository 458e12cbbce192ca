// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "simile/batch/packing.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/model/encoder_tensors.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Events : EventSink {
  std::vector<std::string> infos;
  void info(const std::string& message) override { infos.push_back(message); }
};

const std::vector<std::string> kOrders = {"random",        "sequential",     "length_bucketed",
                                          "no_duplicates", "neighbours",     "words",
                                          "clusters",      "neighbour_words"};

// Pair i has the texts 2i and 2i + 1, but for every fifth, which shares its left text with the pair
// before it and is labelled negative.
TrainingSet make_set(int pairs) {
  TrainingSet set;
  set.file = "pairs.tsv";
  for (int i = 0; i < pairs; ++i) {
    const bool is_negative = i % 5 == 4;
    set.left.push_back(is_negative ? 2 * (i - 1) : 2 * i);
    set.right.push_back(2 * i + 1);
    set.target.push_back(is_negative ? 0.2f : 1.0f);
  }
  for (int text = 0; text < 2 * pairs; ++text) {
    set.texts.emplace_back(static_cast<size_t>(2 + text % 7), 5 + text % 11);
    set.originals.push_back("word" + std::to_string(text % 11) + " and word" +
                            std::to_string(text % 7));
  }
  set.offer.has_target = true;
  return set;
}

ExampleSet examples_of(TrainingSet set) {
  return {std::make_shared<const TrainingSet>(std::move(set)), {}};
}

ObjectiveOptions classes_order(int64_t group_size, int64_t batch_size) {
  ObjectiveOptions objective;
  objective.order.name = "classes";
  objective.order.group_size = group_size;
  objective.batch_size = batch_size;
  return objective;
}

// A point on a line for each text, by its first token.
Matrix<float> embed(const std::vector<std::vector<int32_t>>& texts) {
  Matrix<float> vectors(static_cast<int64_t>(texts.size()), 1);
  for (size_t i = 0; i < texts.size(); ++i) {
    vectors.at(static_cast<int64_t>(i), 0) = static_cast<float>(texts[i][0]);
  }
  return vectors;
}

ObjectiveOptions options_of(const std::string& order, int64_t batch_size) {
  ObjectiveOptions options;
  options.order.name = order;
  options.order.clusters = std::min<int64_t>(options.order.clusters, 4);
  options.batch_size = batch_size;
  return options;
}

TEST(EpochPlanner, OrderOfClassesBalancesThem) {
  TrainingSet set = make_set(24);
  for (int32_t i = 0; i < 24; ++i) set.classes.push_back(i / 6);
  EXPECT_TRUE(check_order_data(classes_order(2, 4), set).empty());
  const ExampleSet examples = examples_of(set);
  const EpochPlanner planner(classes_order(2, 4), examples, 1);
  Events events;
  const Batches batches = planner.plan(3, embed, events);
  EXPECT_EQ(static_cast<int64_t>(batches.size()), planner.batches_per_epoch());
  for (const auto& batch : batches) {
    std::map<int32_t, int> counts;
    for (const int32_t i : batch) ++counts[set.classes[static_cast<size_t>(i)]];
    EXPECT_EQ(counts.size(), 2u);
    for (const auto& [number, count] : counts) EXPECT_EQ(count, 2);
  }
}

TEST(EpochPlanner, OrderOfClassesNeedsThemAndTwoInABatch) {
  const auto error = [](const ObjectiveOptions& objective, const TrainingSet& set) {
    try {
      check_order_data(objective, set);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainingSet set = make_set(6);
  EXPECT_THAT(error(classes_order(2, 4), set), HasSubstr("`format: classes`"));
  set.classes = {0, 0, 0, 1, 1, 1};
  EXPECT_THAT(error(classes_order(8, 12), set), HasSubstr("set group_size to 6 at most"));
}

TEST(EpochPlanner, EveryOrderHasEveryExampleOnceInAsManyBatchesAsItSaid) {
  for (const std::string& order : kOrders) {
    for (const int pairs : {1, 2, 40}) {
      for (const int64_t batch_size : {1, 7, 100}) {
        const ExampleSet set = examples_of(make_set(pairs));
        const EpochPlanner planner(options_of(order, batch_size), set, 3);
        for (int64_t epoch = 0; epoch < 3; ++epoch) {
          const Batches plan = planner.plan(epoch, embed, silent_events());
          EXPECT_EQ(static_cast<int64_t>(plan.size()), planner.batches_per_epoch()) << order;
          for (const auto& batch : plan) {
            EXPECT_FALSE(batch.empty()) << order;
            EXPECT_LE(static_cast<int64_t>(batch.size()), batch_size) << order;
          }
          ExampleOrder all = join_batches(plan);
          std::sort(all.begin(), all.end());
          EXPECT_EQ(all, order_sequential(pairs)) << order;
        }
      }
    }
  }
}

TEST(EpochPlanner, SeedAndEpochDecideEveryOrderButTheSequential) {
  const ExampleSet set = examples_of(make_set(60));
  for (const std::string& order : kOrders) {
    const auto plan = [&](uint64_t seed, int64_t epoch) {
      return EpochPlanner(options_of(order, 8), set, seed).plan(epoch, embed, silent_events());
    };
    EXPECT_EQ(plan(1, 2), plan(1, 2)) << order;
    EXPECT_EQ(plan(1, 2) == plan(1, 3), order == "sequential") << order;
    EXPECT_EQ(plan(1, 2) == plan(2, 2), order == "sequential") << order;
  }
}

TEST(EpochPlanner, OrdersOfBeforeArePlainFunctionsCut) {
  const ExampleSet set = examples_of(make_set(50));
  const auto plan = [&](const std::string& order) {
    return EpochPlanner(options_of(order, 8), set, 11).plan(4, embed, silent_events());
  };
  EXPECT_EQ(plan("random"), cut_batches(order_random(50, 11, 4), 8));
  EXPECT_EQ(plan("sequential"), cut_batches(order_sequential(50), 8));
}

TEST(EpochPlanner, GroupsShareAWord) {
  const ExampleSet set = examples_of(make_set(44));
  ObjectiveOptions options = options_of("words", 4);
  options.order.group_size = 4;
  options.order.stop_words = {"and", "word0", "word1", "word2", "word3", "word4", "word5", "word6"};
  // The words word7 to word10 of some texts remain: their examples are in runs.
  const ExampleOrder order =
      join_batches(EpochPlanner(options, set, 1).plan(0, embed, silent_events()));
  std::map<int32_t, int> runs, examples;
  int32_t previous = -1;
  for (const int32_t example : order) {
    const int32_t word = set->left[static_cast<size_t>(example)] % 11;
    examples[word] += 1;
    if (word != previous) runs[word] += 1;
    previous = word;
  }
  for (int32_t word = 7; word < 11; ++word) {
    // No more runs than groups of four; two groups may meet and count as one run.
    EXPECT_LE(runs[word], (examples[word] + 3) / 4) << "word" << word;
    EXPECT_GT(examples[word], 2);
  }
}

TEST(EpochPlanner, NoDuplicatesLooksAtNegativesToo) {
  TrainingSet set = make_set(4);
  set.left = {0, 1, 2, 3};
  set.right = {4, 5, 6, 7};
  set.negatives = {{1, 2, 3, 0}};
  const ExampleSet examples = examples_of(set);
  const EpochPlanner planner(options_of("no_duplicates", 4), examples, 1);
  EXPECT_EQ(planner.batches_per_epoch(), 2);
  for (const auto& batch : planner.plan(0, embed, silent_events())) {
    ASSERT_EQ(batch.size(), 2u);
    EXPECT_EQ(std::abs(batch[0] - batch[1]), 2);
  }
}

TEST(EpochPlanner, LabelledNegativesStandBesideTheirAnchorUnderEveryOrderThatTakesThem) {
  const ExampleSet set = examples_of(make_set(50));  // 10 of them negative, each with an anchor
  for (const std::string& order : kOrders) {
    if (order == "length_bucketed" || order == "no_duplicates") continue;
    ObjectiveOptions options = options_of(order, 10);
    options.order.labelled_negatives = 1;
    const EpochPlanner planner(options, set, 1);
    EXPECT_EQ(planner.batches_per_epoch(), 5) << order;
    Events events;
    int64_t attached = 0;
    for (const auto& batch : planner.plan(1, embed, events)) {
      for (const int32_t example : batch) {
        if (example % 5 != 4) continue;
        ++attached;
        EXPECT_EQ(std::count(batch.begin(), batch.end(), example - 1), 1) << order;
      }
    }
    EXPECT_GT(attached, 0) << order;
    EXPECT_THAT(events.infos, ElementsAre(HasSubstr("epoch 2: " + std::to_string(attached) +
                                                    " of 10 labelled negatives stand beside")));
  }
}

TEST(EpochPlanner, TheLossSaysWhatIsPositiveUnlessTheOrderDoes) {
  const ExampleSet set = examples_of(make_set(50));
  ObjectiveOptions options = options_of("random", 10);
  options.order.labelled_negatives = 1;
  const auto attached = [&] {
    Events events;
    EpochPlanner(options, set, 1).plan(0, embed, events);
    return events.infos[0];
  };
  EXPECT_THAT(attached(), HasSubstr(" of 10 "));
  options.loss.get<BscOptions>().threshold = 0.1;  // all are positive
  EXPECT_THAT(attached(), HasSubstr(" of 0 "));
  options.order.positive_above = 0.5;
  EXPECT_THAT(attached(), HasSubstr(" of 10 "));
  options = options_of("random", 10);
  options.order.labelled_negatives = 1;
  options.loss.name = "sum";
  options.loss.of.resize(2);
  options.loss.of[0].name = "mse";  // has no threshold
  EXPECT_THAT(attached(), HasSubstr(" of 10 "));
  options.loss.of[1].get<BscOptions>().threshold = 0.1;
  EXPECT_THAT(attached(), HasSubstr(" of 0 "));
}

TEST(CheckOrderData, RefusesWhatTheDataDoesNotHave) {
  const auto error_of = [](const ObjectiveOptions& options, const TrainingSet& set) {
    try {
      check_order_data(options, set);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
      return std::string(error.what());
    }
    return std::string();
  };
  TrainingSet joint = make_set(5);
  joint.second = {1, 1, 1, 1, 1};
  for (const std::string& order : kOrders) {
    const bool fits = order == "random" || order == "sequential" || order == "length_bucketed";
    EXPECT_EQ(error_of(options_of(order, 4), joint).empty(), fits) << order;
  }
  TrainingSet single = make_set(5);
  single.right.clear();
  ObjectiveOptions options = options_of("words", 4);
  EXPECT_EQ(error_of(options, single), "");
  options.order.side = "right";
  EXPECT_THAT(error_of(options, single), HasSubstr("no right side"));
  options = options_of("random", 4);
  options.order.labelled_negatives = 2;
  EXPECT_EQ(error_of(options, make_set(5)), "");
  EXPECT_THAT(error_of(options, joint), HasSubstr("joint head"));
  TrainingSet unlabelled = make_set(5);
  unlabelled.offer.has_target = false;
  EXPECT_THAT(error_of(options, unlabelled), HasSubstr("no scores"));
  EXPECT_THAT(check_order_data(options, make_set(4)), ElementsAre(HasSubstr("does nothing")));
}

using ::testing::ElementsAre;

ObjectiveData data_of(TrainingSet set) {
  ObjectiveData data;
  data.train.examples = std::make_shared<const TrainingSet>(std::move(set));
  return data;
}

// Three texts, each the positive of itself, as unsupervised training has them.
ObjectiveData same_texts() {
  TrainingSet set;
  set.texts = {{2, 10, 11, 3}, {2, 12, 3}, {2, 13, 14, 15, 3}};
  set.left = set.right = {0, 1, 2};
  set.target = {1, 1, 1};
  return data_of(std::move(set));
}

ObjectiveOptions simcse_options(const std::string& duplicates) {
  ObjectiveOptions options;
  options.loss.name = "simcse";
  options.loss.get<SimcseOptions>().bsc.duplicates = duplicates;
  options.batch_size = 2;
  return options;
}

Objective make_objective(const ObjectiveOptions& options, const ObjectiveData& data,
                         uint64_t order_seed = 1) {
  return Objective(options, "0", data, nullptr, LossSizes(), order_seed);
}

PackedBatch pack(const TrainingSet& set, const std::vector<int32_t>& examples) {
  return pack_texts(set.texts, set.second, set.texts_of(examples));
}

torch::Tensor embed(const PackedBatch& packed, float dropout_probability) {
  EncoderConfig config;
  config.layers = 2;
  config.hidden = 32;
  config.heads = 4;
  config.intermediate = 64;
  config.vocabulary = 20;
  config.positions = 8;
  const auto encoder_owner = make_fused_encoder(config.shape());
  TrainableEncoder& encoder = *encoder_owner;
  initialise_encoder_weights(config, 1, encoder.parameters().data_ptr<float>());
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = dropout_probability;
  dropout.key = stream_key(1, "dropout");
  torch::NoGradGuard guard;
  return pool_tokens(encoder.forward(packed, dropout), packed.offsets, PoolingMode::kMean);
}

TEST(Objective, CountsBatchesAndPacksTheSidesOneAfterTheOther) {
  const ObjectiveData data = same_texts();
  EXPECT_EQ(make_objective(simcse_options("negatives"), data).batches_per_epoch(), 2);
  const PackedBatch packed = pack(*data.train.examples, {2, 1});
  EXPECT_THAT(packed.offsets, ElementsAre(0, 5, 8, 13, 16));
  EXPECT_THAT(packed.ids, ElementsAre(2, 13, 14, 15, 3, 2, 12, 3, 2, 13, 14, 15, 3, 2, 12, 3));
}

TEST(Objective, TheTwoCopiesOfATextGetDifferentDropoutMasks) {
  const PackedBatch packed = pack(*same_texts().train.examples, {0, 1, 2});
  const torch::Tensor plain = embed(packed, 0), dropped = embed(packed, 0.1f);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(plain[i], plain[3 + i])) << "text " << i;
    EXPECT_GT((dropped[i] - dropped[3 + i]).abs().max().item<double>(), 1e-3) << "text " << i;
  }
}

TEST(Objective, ATextThatIsBothSidesOfItsPairIsItsPositiveUnderEveryTreatmentOfDuplicates) {
  const ObjectiveData data = same_texts();
  const std::vector<int32_t> batch = {0, 1, 2};
  const torch::Tensor embeddings = embed(pack(*data.train.examples, batch), 0.1f);
  const auto loss_of = [&](const std::string& duplicates) {
    Objective objective = make_objective(simcse_options(duplicates), data);
    return objective.loss()(objective.read(data.train, batch, embeddings, {})).item<double>();
  };
  const double expected = loss_of("negatives");
  for (const std::string duplicates : {"mask", "positives"}) {
    EXPECT_NEAR(loss_of(duplicates), expected, 1e-6);
  }
}

}  // namespace
}  // namespace simile
