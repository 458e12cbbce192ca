// SPDX-License-Identifier: Apache-2.0
// Training examples as token ids: every distinct text tokenised once, before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/checkpoint/embedding_store.h"
#include "simile/checkpoint/head_settings.h"
#include "simile/core/event.h"
#include "simile/text/tokenizer.h"
#include "simile/train/train_options.h"

namespace simile {

// Pairs of texts, or single texts (left alone). Under a joint head an example is one sequence of
// both texts: it stands in `texts` and in `left`.
struct TrainingSet {
  std::string file;                             // that messages name
  std::vector<std::vector<int32_t>> texts;      // token ids, each distinct text once
  std::vector<int32_t> second;                  // [texts] token at which the second text of a joint
                                                // sequence begins; empty: none is joint
  std::vector<int32_t> left, right;             // [examples] number of the text in `texts`
  std::vector<std::vector<int32_t>> negatives;  // [columns][examples]
  std::vector<float> target;                    // [examples]
  std::vector<int32_t> classes;                 // [examples] as the head numbers them, or empty
  std::vector<std::string> originals;           // [texts] as they were read, if asked for

  // Vectors that frozen models gave `texts`, one row each; filled by store_teacher_vectors().
  std::vector<EmbeddingStore> teachers;

  int64_t size() const { return static_cast<int64_t>(left.size()); }

  // The texts of examples in the order of a batch: their left sides, their right sides, then each
  // negative column.
  std::vector<int32_t> texts_of(const std::vector<int32_t>& examples) const;
};

struct TrainingSetSource {
  const ObjectiveOptions& objective;
  const PairDataOptions& data;  // the objective's, or its dev data
  const HeadSettings* head;     // the objective's, or null
  const Tokenizer& tokenizer;   // its length limit holds where the objective has none
  const std::string& prompt;    // put before every text; not before those of a joint head
};

// Reads the data, checks the objective's loss against it and tokenises in parallel. Broken bytes,
// how pairs were made of raw data, and options or columns that do not go together, are told to
// `events`. `originals` are kept for teachers that have a tokenizer of their own. Errors:
// ErrorKind::kInput for data that cannot be read or has an empty negative; ErrorKind::kRecipe when
// loss or head need what the data lacks, or the data has a class that the head does not know.
TrainingSet read_training_set(const TrainingSetSource& source, bool keep_originals,
                              EventSink& events);

}  // namespace simile
