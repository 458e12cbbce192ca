// SPDX-License-Identifier: Apache-2.0
// Telling models apart, and checking that a model still computes what it did when it was saved.
#pragma once

#include <string>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

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

// The largest difference between expected and `actual` vectors.
double self_test_difference(const SelfTest& test, const Matrix<float>& actual);

// Throws ErrorKind::kFailed naming the text that differs most, its difference and the tolerance.
void verify_self_test(const SelfTest& test, const Matrix<float>& actual);

// Short sentences of several kinds (plain, accented, long, empty-looking) for self_test.json.
std::vector<std::string> self_test_sentences();

}  // namespace simile
