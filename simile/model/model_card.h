// SPDX-License-Identifier: Apache-2.0
// Describes a model: its card (README.md: a front matter that model hubs read, what the model is,
// and how to use it from Simile and from sentence-transformers), its fingerprint, which identifies
// it, and a self test, which checks that it still computes what it did when it was saved.
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
  std::vector<std::string> part_models;  // in place of base_model: those that were averaged
};

// `type`: how the weights are stored; I8 is a format of Simile's own and the card says so.
std::string make_model_card(const ModelCard& card, const ModelSettings& settings,
                            TensorType type = TensorType::kF32);

// The front matter of another card, without the keys that make_model_card() writes, and the rest.
struct CardParts {
  std::string front_matter, body;
};
CardParts split_model_card(const std::string& card);

struct ModelFolder;

// A model's fingerprint: 32 hexadecimal digits. They change with everything that a vector depends
// on (encoder config, weights, tokenizer, pooling, normalisation, length limit, prompts,
// similarity). They stay if a folder is copied, renamed or gets a new README, and if other files or
// types hold the same weights.
//
// Each call computes it from the numbers, on all threads; it is never read from a file. It uses the
// hash of hash.h, which distinguishes models but does not protect against forged ones.
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

// Returns the largest difference between expected and `actual` vectors. Errors (kFailed): it is
// more than the tolerance; names the text that differs most.
double verify_self_test(const SelfTest& test, const Matrix<float>& actual);

// Short sentences of several kinds (plain, accented, long, empty-looking) for self_test.json.
std::vector<std::string> self_test_sentences();

}  // namespace simile
