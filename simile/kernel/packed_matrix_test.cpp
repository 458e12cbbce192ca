// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/packed_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "simile/core/random.h"
#include "simile/core/threads.h"

namespace simile {
namespace {

std::vector<float> random_floats(int64_t size, const char* name) {
  RandomStream stream(3, name);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

// b [n, k] as [k, n].
std::vector<float> transposed(const std::vector<float>& b, int64_t n, int64_t k) {
  std::vector<float> out(b.size());
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      out[static_cast<size_t>(i * n + j)] = b[static_cast<size_t>(j * k + i)];
    }
  }
  return out;
}

TEST(PackedMatrix, MultipliesInEitherLayoutWithTheSameBits) {
  const int64_t m = 150, n = 37, k = 20;
  const auto a = random_floats(m * k, "a"), b = random_floats(n * k, "b"),
             bias = random_floats(n, "bias");
  std::vector<float> c(static_cast<size_t>(m * n)), other(c);
  PackedMatrix(b.data(), n, k, MatrixLayout::kColumns).multiply(a.data(), m, bias.data(), c.data());
  PackedMatrix(transposed(b, n, k).data(), n, k, MatrixLayout::kRows)
      .multiply(a.data(), m, bias.data(), other.data());
  EXPECT_EQ(c, other);
  for (int64_t i = 0; i < m; i += 7) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = bias[static_cast<size_t>(j)];
      for (int64_t d = 0; d < k; ++d) {
        sum += static_cast<double>(a[static_cast<size_t>(i * k + d)]) *
               b[static_cast<size_t>(j * k + d)];
      }
      EXPECT_NEAR(c[static_cast<size_t>(i * n + j)], sum, 1e-4);
    }
  }
}

TEST(PackedMatrix, PiecesRowsAloneAndThreadsChangeNoBit) {
  const int64_t m = 130, n = 600, k = 24;
  const auto a = random_floats(m * k, "a"), b = random_floats(n * k, "b");
  const PackedMatrix whole(b.data(), n, k, MatrixLayout::kColumns);
  PackedMatrix pieces(n, k);
  for (int64_t first = 0; first < n; first += PackedMatrix::kColumnBlock) {
    pieces.set_columns(first, std::min(PackedMatrix::kColumnBlock, n - first),
                       b.data() + first * k);
  }
  std::vector<float> expected(static_cast<size_t>(m * n)), c(expected);
  const int threads = thread_count();
  set_thread_count(1);
  whole.multiply(a.data(), m, nullptr, expected.data());
  set_thread_count(threads);
  pieces.multiply(a.data(), m, nullptr, c.data());
  EXPECT_EQ(c, expected);
  std::vector<float> some(88);
  pieces.multiply_columns(a.data() + 5 * k, 1, 512, 88, nullptr, some.data(), 88);
  EXPECT_THAT(some,
              testing::ElementsAreArray(expected.begin() + 5 * n + 512, expected.begin() + 6 * n));
}

}  // namespace
}  // namespace simile
