// SPDX-License-Identifier: Apache-2.0
// Training examples as token ids: every distinct text tokenised once, before the first step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/core/error.h"
#include "simile/data/data_review.h"
#include "simile/loss/loss_options.h"
#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/text/tokenizer.h"
#include "simile/train/teacher_vectors.h"
#include "simile/train/train_options.h"

namespace simile {

// Pairs of texts, or single texts (left alone). Under a joint head an example is one sequence of
// both texts, in `texts` and in `left`.
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

  LossData offer;  // what it has for a loss, without head and teachers

  DataReview review;
  int64_t max_length = 0;  // tokens of a text; 0: no limit
  int64_t cut_texts = 0;   // of `texts`, longer than that

  int64_t size() const { return static_cast<int64_t>(left.size()); }

  // The texts of examples in the order of a batch: left sides, right sides, then negative columns.
  std::vector<int32_t> texts_of(const std::vector<int32_t>& examples) const;
};

// Examples, shared by objectives with the same data, and the vectors of the objective's teachers.
struct ExampleSet {
  std::shared_ptr<const TrainingSet> examples;  // null: none
  std::vector<TeacherVectors> teachers;         // of examples->texts

  const TrainingSet* operator->() const { return examples.get(); }
  int64_t size() const { return examples ? examples->size() : 0; }
};

// Prompts before the texts of columns. A text with another prompt counts as another text.
struct ColumnPrompts {
  std::string left, right;  // right: also of negatives
};

struct TrainingSetSource {
  const PairDataOptions& data;
  int64_t max_length;        // 0: the tokenizer's limit
  const HeadSettings* head;  // that reads the examples, or null
  int64_t token_types;       // that the encoder has
  const Tokenizer& tokenizer;
  const ColumnPrompts& prompts;  // none where a joint head reads
  bool keep_originals;  // for teachers with a tokenizer of their own, and the order `words`
};

// 32 hexadecimal digits that change with the texts of a set, and with all that is trained on.
std::string fingerprint_texts(const TrainingSet& set);
std::string fingerprint_examples(const TrainingSet& set);

// The texts that `options` mean. Errors: ErrorKind::kRecipe for a model that leaves prompts out of
// its pooling, which training does not, and for prompts before the texts of a joint head.
ColumnPrompts find_column_prompts(const ColumnPromptOptions& options, const ModelSettings& settings,
                                  const HeadSettings* head);

// Token ids of texts outside the data, made like those of its right column.
std::vector<std::vector<int32_t>> tokenise_as(const TrainingSetSource& source,
                                              const std::vector<std::string>& texts);

// Reads the data, collects the facts for simile/train/data_review.h and tokenises, in parallel.
// Reports broken bytes, and how pairs were made of raw data, to `events`. Errors: ErrorKind::kInput
// for data that cannot be read or has an empty negative; kRecipe for data of another kind than the
// head reads, an unknown class, or a length limit above the tokenizer's.
TrainingSet read_training_set(const TrainingSetSource& source, EventSink& events);

// The memory of numbers as bytes, for hashes.
template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace simile
