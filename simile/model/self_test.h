// SPDX-License-Identifier: Apache-2.0
// self_test.json: sentences and the vectors a model gave them when it was saved, so that any later
// loading (another machine, another version) can show that it computes the same.
//
// {"format": 1, "tolerance": 1e-5, "texts": [...], "vectors": [[...], ...]}. The difference of two
// vectors is the largest absolute difference of their coordinates, relative to the largest absolute
// coordinate of the expected vector where that exceeds 1.
#pragma once

#include <string>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

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
