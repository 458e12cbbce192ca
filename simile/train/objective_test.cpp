// SPDX-License-Identifier: Apache-2.0
#include "simile/train/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "simile/batch/packing.h"
#include "simile/core/random.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/mnrl.h"
#include "simile/model/encoder_tensors.h"
#include "simile/nn/fused_encoder.h"
#include "simile/nn/head.h"

namespace simile {
namespace {

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
  FusedEncoder encoder(config.shape());
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
