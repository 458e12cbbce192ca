// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/packing.h"

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {

PackedBatch pack_texts(const std::vector<std::vector<int32_t>>& texts,
                       const std::vector<int32_t>& second, const std::vector<int32_t>& which) {
  PackedBatch batch;
  batch.offsets.push_back(0);
  for (const int32_t number : which) {
    const auto text = static_cast<size_t>(number);
    const std::vector<int32_t>& ids = texts[text];
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    if (second.empty()) continue;
    batch.type_ids.resize(batch.type_ids.size() + static_cast<size_t>(second[text]), 0);
    batch.type_ids.resize(batch.ids.size(), 1);
  }
  return batch;
}

void check_mask_options(const MaskOptions& options) {
  SIMILE_CHECK(options.mask_share + options.random_share <= 1 + 1e-9, ErrorKind::kRecipe,
               "mask_share {} and random_share {} are more than all tokens together",
               options.mask_share, options.random_share);
}

MaskedTokens mask_words(const MaskOptions& options, const MaskVocabulary& vocabulary, uint64_t seed,
                        uint64_t number, PackedBatch& batch) {
  check_mask_options(options);
  RandomStream random(seed, "masking", number);
  MaskedTokens masked;
  bool is_chosen = false, has_word = false;
  for (int64_t i = 0; i < batch.tokens(); ++i) {
    int32_t& id = batch.ids[i];
    const auto word = static_cast<size_t>(id);
    if (vocabulary.is_special[word]) {
      has_word = false;
      continue;
    }
    if (!has_word || !vocabulary.is_continuation[word]) {
      is_chosen = random.uniform() < options.fraction;
    }
    has_word = true;
    if (!is_chosen) continue;
    masked.positions.push_back(static_cast<int32_t>(i));
    masked.words.push_back(id);
    const double fate = random.uniform();
    if (fate < options.mask_share) {
      id = vocabulary.mask;
    } else if (fate < options.mask_share + options.random_share) {
      id = vocabulary.ordinary[random.below(vocabulary.ordinary.size())];
    }
  }
  return masked;
}

}  // namespace simile
