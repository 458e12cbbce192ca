// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "simile/checkpoint/initialise.h"
#include "simile/core/random.h"
#include "simile/nn/encoder_node.h"
#include "simile/nn/pooling.h"

namespace simile {
namespace {

using ::testing::ElementsAre;

// Three texts, each the positive of itself, as unsupervised training has them.
TrainingSet same_texts() {
  TrainingSet set;
  set.texts = {{2, 10, 11, 3}, {2, 12, 3}, {2, 13, 14, 15, 3}};
  set.left = set.right = {0, 1, 2};
  set.target = {1, 1, 1};
  return set;
}

ObjectiveOptions simcse_options(const std::string& duplicates) {
  ObjectiveOptions options;
  options.loss.name = "simcse";
  options.loss.simcse.bsc.duplicates = duplicates;
  options.batch_size = 2;
  return options;
}

torch::Tensor embed(const PackedBatch& packed, float dropout_probability) {
  EncoderConfig config;
  config.layers = 2;
  config.hidden = 32;
  config.heads = 4;
  config.intermediate = 64;
  config.vocabulary = 20;
  config.positions = 8;
  EncoderNode encoder(config.shape());
  initialise_encoder_weights(config, 1, encoder.weights());
  EncoderDropout dropout;
  dropout.hidden = dropout.attention = dropout_probability;
  dropout.key = stream_key(1, "dropout");
  torch::NoGradGuard guard;
  return pool_tokens(encoder.forward(packed, dropout), packed.offsets, PoolingMode::kMean);
}

TEST(Objective, CountsBatchesAndPacksTheSidesOneAfterTheOther) {
  const TrainingSet set = same_texts();
  const Objective objective(simcse_options("negatives"), "0", set, 1);
  EXPECT_EQ(objective.batches_per_epoch(), 2);
  const PackedBatch packed = objective.pack({2, 1});
  EXPECT_THAT(packed.offsets, ElementsAre(0, 5, 8, 13, 16));
  EXPECT_THAT(packed.ids, ElementsAre(2, 13, 14, 15, 3, 2, 12, 3, 2, 13, 14, 15, 3, 2, 12, 3));
}

TEST(Objective, TheTwoCopiesOfATextGetDifferentDropoutMasks) {
  const TrainingSet set = same_texts();
  const Objective objective(simcse_options("negatives"), "0", set, 1);
  const PackedBatch packed = objective.pack({0, 1, 2});
  const torch::Tensor plain = embed(packed, 0), dropped = embed(packed, 0.1f);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(plain[i], plain[3 + i])) << "text " << i;
    EXPECT_GT((dropped[i] - dropped[3 + i]).abs().max().item<double>(), 1e-3) << "text " << i;
  }
}

TEST(Objective, ATextThatIsBothSidesOfItsPairIsItsPositiveUnderEveryTreatmentOfDuplicates) {
  const TrainingSet set = same_texts();
  const Objective plain(simcse_options("negatives"), "0", set, 1);
  const std::vector<int32_t> batch = {0, 1, 2};
  const torch::Tensor embeddings = embed(plain.pack(batch), 0.1f);
  const double expected = plain.compute(embeddings, batch).item<double>();
  for (const std::string duplicates : {"mask", "positives"}) {
    const Objective objective(simcse_options(duplicates), "0", set, 1);
    EXPECT_NEAR(objective.compute(embeddings, batch).item<double>(), expected, 1e-6);
  }
}

TEST(Objective, OrdersDependOnTheSeedAndTheEpoch) {
  TrainingSet set;
  set.texts = {{2, 3}};
  set.left = set.right = std::vector<int32_t>(40, 0);
  set.target = std::vector<float>(40, 1);
  const Objective one(ObjectiveOptions(), "0", set, 1), two(ObjectiveOptions(), "1", set, 2);
  EXPECT_EQ(one.order_epoch(0, {}), one.order_epoch(0, {}));
  EXPECT_NE(one.order_epoch(0, {}), one.order_epoch(1, {}));
  EXPECT_NE(one.order_epoch(0, {}), two.order_epoch(0, {}));
}

}  // namespace
}  // namespace simile
