// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/word_vectors.h"

#include <algorithm>
#include <memory>

#include "simile/core/check.h"
#include "simile/core/hash.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/text/tokenizer.h"

namespace simile {

std::function<Matrix<float>(const std::vector<std::string>& texts)> load_word_means(
    const std::string& folder, EventSink& events) {
  const ModelFolder model = open_model_folder(folder, events);
  SIMILE_CHECK(!model.settings.encoder.variant.averaged, ErrorKind::kUsage,
               "'{}' is a static model: its vectors are averages of word vectors "
               "already; name it without \"words:\"",
               folder);
  for (const std::string& file : weight_files(model.weights_path)) verify_checksum(file);
  const auto loaded =
      std::make_shared<const LoadedEncoder>(model.weights_path, model.settings.encoder, events);
  Tokenizer tokenizer = load_tokenizer(model, events);
  tokenizer.fit(loaded->shape().vocabulary);
  tokenizer.set_max_length(model.settings.max_length);
  return [=](const std::vector<std::string>& texts) {
    const int64_t E = loaded->shape().embedding_size();
    Matrix<float> means(static_cast<int64_t>(texts.size()), E);
    std::vector<float> row(static_cast<size_t>(E));
    const std::vector<std::vector<int32_t>> sequences = tokenizer.encode_ids_batch(texts);
    for (int64_t i = 0; i < means.rows; ++i) {
      float* mean = means.row(i);
      std::fill_n(mean, E, 0.0f);
      int64_t words = 0;
      for (const int32_t id : sequences[static_cast<size_t>(i)]) {
        if (tokenizer.is_special(id)) continue;
        const float* word = word_row(loaded->weights(), E, id, row.data());
        for (int64_t j = 0; j < E; ++j) mean[j] += word[j];
        ++words;
      }
      for (int64_t j = 0; j < E && words > 0; ++j) mean[j] /= static_cast<float>(words);
    }
    return means;
  };
}

}  // namespace simile
