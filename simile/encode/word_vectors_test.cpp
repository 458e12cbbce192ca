// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/word_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/text/tokenizer.h"

namespace simile {
namespace {

TEST(WordVectors, AreMeansOfTheRowsOfTheTokensThatAreNotSpecial) {
  const std::string folder = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
  const ModelFolder model = open_model_folder(folder, silent_events());
  const LoadedEncoder loaded(model.weights_path, model.settings.encoder, silent_events());
  const Tokenizer tokenizer = Tokenizer::load(model.tokenizer_path);
  const std::vector<int32_t> ids = tokenizer.encode("cat dog").ids;  // [CLS] cat dog [SEP]
  ASSERT_EQ(ids.size(), 4u);
  const Matrix<float> means = load_word_means(folder, silent_events())({"cat dog", ""});
  ASSERT_EQ(means.cols, loaded.shape().embedding_size());
  for (int64_t j = 0; j < means.cols; ++j) {
    const float* word = loaded.weights().word + j;
    EXPECT_EQ(means.at(0, j), (word[ids[1] * means.cols] + word[ids[2] * means.cols]) / 2);
    EXPECT_EQ(means.at(1, j), 0);
  }
}

}  // namespace
}  // namespace simile
