// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/gram.h"

#include <gtest/gtest.h>

#include "simile/core/random.h"
#include "simile/core/threads.h"
#include "simile/kernel/symmetric.h"

namespace simile {
namespace {

std::vector<float> normals(int64_t count) {
  RandomStream stream(8, "gram");
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

TEST(Gram, AgreesWithDoublePrecision) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 7}, {256, 5}, {257, 33}, {9000, 12}}) {
    const std::vector<float> x = normals(rows * columns);
    const Matrix<double> gram = gram_matrix(x.data(), rows, columns);
    for (int64_t a = 0; a < columns; ++a) {
      for (int64_t b = 0; b < columns; ++b) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) sum += double{x[i * columns + a]} * x[i * columns + b];
        ASSERT_NEAR(gram.at(a, b), sum, 1e-6 * static_cast<double>(10 + rows));
      }
    }
  }
}

TEST(Gram, TheSameBitsWithAnyNumberOfThreads) {
  const std::vector<float> x = normals(5000 * 40);
  set_thread_count(1);
  const std::vector<double> one = gram_matrix(x.data(), 5000, 40).values;
  set_thread_count(3);
  EXPECT_EQ(gram_matrix(x.data(), 5000, 40).values, one);
  set_thread_count(2);
}

TEST(Gram, NoRowsGiveZeros) {
  EXPECT_EQ(gram_matrix(nullptr, 0, 2).values, std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace simile
