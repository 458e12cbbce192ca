// SPDX-License-Identifier: Apache-2.0
// What tells of a model: its card (README.md: a front matter that model hubs read, what the model is,
// and how to use it from Simile and from sentence-transformers), its fingerprint, which tells it from
// others, and a self test, which shows that it still computes what it did when it was saved.
#pragma once

#include <string>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/model/model_settings.h"
#include "simile/model/tensor_source.h"

namespace simile {

struct ModelCard {
  std::string title;
  std::string base_model;    // the model it was made from; empty where there is none
  std::string introduction;  // a paragraph
  std::string body;          // sections: data, results, recipe
  std::string front_matter;  // more lines of front matter, as front_matter_of() gives them
  // Of a joined model: the models its parts were, and how the weights of each part are stored where
  // that differs.
  std::vector<std::string> part_models;
  std::vector<TensorType> part_types;
};

// `type`: how the weights are stored; I8 is a format of Simile's own and the card says so.
std::string make_model_card(const ModelCard& card, const ModelSettings& settings,
                            TensorType type = TensorType::kF32);

// The front matter of another card, without the keys that make_model_card() writes itself, and what
// stands behind it.
struct CardParts {
  std::string front_matter, body;
};
CardParts split_model_card(const std::string& card);

struct ModelFolder;

// A model's fingerprint: 32 hexadecimal digits that change when anything changes that a vector
// depends on (encoder config, weights, tokenizer, pooling, normalisation, length limit, prompts,
// similarity), and that stay when a folder is copied, renamed or gets a new README, and when its
// weights are written in other files or another type that hold the same numbers.
//
// It is computed from the numbers each time it is asked for, never trusted from a file, on all
// threads. The hash is that of hash.h: it tells models apart and does not protect against somebody
// who forges a model on purpose.
std::string model_fingerprint(const ModelFolder& model);

// self_test.json: sentences and the vectors a model gave them when it was saved, so that any later
// loading (another machine, another version) can show that it computes the same.
//
// {"format": 1, "tolerance": 1e-5, "texts": [...], "vectors": [[...], ...]}. The difference of two
// vectors is the largest absolute difference of their coordinates, relative to the largest absolute
// coordinate of the expected vector where that exceeds 1.
struct SelfTest {
  double tolerance = 1e-5;
  std::vector<std::string> texts;
  Matrix<float> vectors;  // [texts, D]
};

std::string self_test_to_json(const SelfTest& test);
SelfTest read_self_test(const std::string& path);  // ErrorKind::kInput

// Returns the largest difference between expected and `actual` vectors. Errors (kFailed): it is more
// than the tolerance; names the text that differs most.
double verify_self_test(const SelfTest& test, const Matrix<float>& actual);

// Short sentences of several kinds (plain, accented, long, empty-looking) for self_test.json.
std::vector<std::string> self_test_sentences();

}  // namespace simile
