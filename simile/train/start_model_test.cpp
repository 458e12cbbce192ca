// SPDX-License-Identifier: Apache-2.0
#include "simile/train/start_model.h"

#include <gmock/gmock.h>

#include "simile/model/encoder_reader.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_folder.h"
#include "simile/model/model_writer.h"
#include "simile/train/detail/run_test.h"

namespace simile {
namespace {

using StartModelTest = testing::RunTest;

TEST_F(StartModelTest, APoolerThatNobodyTrainsIsKept) {
  const std::string golden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  ModelToSave model;
  model.settings = open_model_folder(golden, silent_events()).settings;
  std::vector<float> flat(
      static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
  initialise_encoder_weights(model.settings.encoder, 9, flat.data());
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(golden);
  const float numbers[4] = {1, -2, 3, 4};
  model.other_tensors = {{"pooler.dense.weight", {2, 2}, numbers},
                         {"pooler.dense.bias", {2}, numbers},
                         {"cls.predictions.bias", {2}, numbers}};
  save_model_folder(path("model"), model);

  TrainOptions options;
  options.model = path("model");
  const StartModel start = load_start_model(options, silent_events());
  ModelWeights weights(start.settings, start.heads);
  weights.assign(start.weights);
  save_trained_model(path("trained"), options, start, weights, {}, {});
  const auto trained = open_weights(path("trained/model.safetensors"));
  const TensorInfo* matrix = trained->find("pooler.dense.weight");
  ASSERT_NE(matrix, nullptr);
  std::vector<float> read(4);
  trained->read_floats(*matrix, 0, 4, read.data());
  EXPECT_THAT(read, ::testing::ElementsAreArray(numbers));
  EXPECT_NE(trained->find("pooler.dense.bias"), nullptr);
  EXPECT_EQ(trained->find("cls.predictions.bias"), nullptr);
}

}  // namespace
}  // namespace simile
