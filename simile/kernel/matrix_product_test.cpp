// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/matrix_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/memory.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

namespace {

std::string message_of(const std::string& name) {
  try {
    choose_precision(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    return error.what();
  }
  return "";
}

TEST(Precision, NamesAreThoseOfProducts) {
  EXPECT_EQ(choose_precision("fp32"), ProductType::kFloat);
  EXPECT_EQ(choose_precision("int8"), ProductType::kByte);
  EXPECT_THAT(message_of("fp8"),
              testing::AllOf(testing::HasSubstr("fp8"), testing::HasSubstr("fp32, bf16, int8")));
}

TEST(Precision, OneThatTheProcessorLacksIsRefusedWithThoseItHas) {
  if (bfloat_kernels() != nullptr) {
    EXPECT_EQ(choose_precision("bf16"), ProductType::kBfloat);
    return;
  }
  EXPECT_THAT(message_of("bf16"), testing::AllOf(testing::HasSubstr("precision bf16"),
                                                 testing::HasSubstr(vector_kernels().name),
                                                 testing::HasSubstr("fp32 and int8")));
}

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

// Each test runs with both kinds of instructions, where this processor has them.
class BfloatMatrixTest : public testing::TestWithParam<BfloatIsa> {
 protected:
  void SetUp() override {
    if (kernels() == nullptr) GTEST_SKIP() << "skipped: not on this processor";
  }
  const BfloatKernels* kernels() const { return bfloat_kernels_for(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, BfloatMatrixTest,
                         testing::Values(BfloatIsa::kAvx512, BfloatIsa::kAmx),
                         [](const testing::TestParamInfo<BfloatIsa>& info) {
                           return std::string(info.param == BfloatIsa::kAmx ? "Amx" : "Avx512");
                         });

std::vector<float> numbers(int64_t size, const char* name) {
  RandomStream stream(4, name);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

double rounded(float value) { return bfloat16_to_float(float_to_bfloat16(value)); }

// b [n, k] as [k, n].
std::vector<float> turned(const std::vector<float>& b, int64_t n, int64_t k) {
  std::vector<float> out(b.size());
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) out[i * n + j] = b[j * k + i];
  }
  return out;
}

// a B + bias of numbers rounded to bfloat16, and how far floats may be from it.
void expect_product(const std::vector<float>& c, const std::vector<float>& a,
                    const std::vector<float>& b, const std::vector<float>& bias, int64_t m,
                    int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = bias.empty() ? 0 : bias[j], size = std::abs(sum);
      for (int64_t d = 0; d < k; ++d) {
        const double product = rounded(a[i * k + d]) * rounded(b[j * k + d]);
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(c[i * n + j], sum, 1e-6 * size) << m << " " << n << " " << k;
    }
  }
}

struct Shape {
  int64_t m, n, k;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all = {{1, 1, 1},     {2, 2, 2},    {255, 33, 31}, {256, 32, 32},
                            {257, 31, 33}, {1, 255, 64}, {3, 256, 257}, {16, 257, 255},
                            {0, 5, 5},     {5, 0, 5},    {5, 5, 0},     {300, 40, 1}};
  RandomStream stream(5, "shapes");
  for (int i = 0; i < 20; ++i) {
    const auto draw = [&] { return static_cast<int64_t>(stream.below(i < 10 ? 40 : 300)); };
    const int64_t m = draw(), n = draw(), k = draw();
    all.push_back({m, n, k});
  }
  return all;
}

TEST_P(BfloatMatrixTest, ProductsAgreeWithTheNaiveOneInEitherLayout) {
  for (const auto& [m, n, k] : shapes()) {
    const auto a = numbers(m * k, "a"), b = numbers(n * k, "b"), bias = numbers(n, "bias");
    std::vector<float> c(static_cast<size_t>(m * n), 7.0f), other(c);
    const PackedMatrix columns(b.data(), n, k, MatrixLayout::kColumns, MatrixProducts(kernels()));
    EXPECT_EQ(columns.columns(), n);
    columns.multiply(a.data(), m, nullptr, c.data());
    expect_product(c, a, b, {}, m, n, k);
    PackedMatrix(turned(b, n, k).data(), n, k, MatrixLayout::kRows, MatrixProducts(kernels()))
        .multiply(a.data(), m, nullptr, other.data());
    EXPECT_EQ(c, other);
    columns.multiply(a.data(), m, bias.data(), c.data());
    expect_product(c, a, b, bias, m, n, k);
  }
}

TEST_P(BfloatMatrixTest, PiecesRowsAloneAndThreadsChangeNoBit) {
  const int64_t m = 300, n = 600, k = 290;
  const auto a = numbers(m * k, "a"), b = numbers(n * k, "b"), bias = numbers(n, "bias");
  const PackedMatrix whole(b.data(), n, k, MatrixLayout::kColumns, MatrixProducts(kernels()));
  std::vector<float> expected(static_cast<size_t>(m * n)), c(expected);
  const int threads = thread_count();
  set_thread_count(1);
  whole.multiply(a.data(), m, nullptr, expected.data());
  set_thread_count(3);
  whole.multiply(a.data(), m, nullptr, c.data());
  EXPECT_EQ(c, expected);
  set_thread_count(threads);

  PackedMatrix pieces(n, k, MatrixProducts(kernels()));
  const std::vector<float> rows = turned(b, n, k);
  for (int64_t first = 0; first < k; first += PackedMatrix::kRowBlock) {
    pieces.set_rows(first, std::min(PackedMatrix::kRowBlock, k - first), rows.data() + first * n,
                    n);
  }
  for (const int64_t row : {0, 5, 150, 299}) {
    std::vector<float> alone(static_cast<size_t>(n) + 3, -1.0f);
    pieces.multiply_rows(a.data() + row * k, k, 1, alone.data(), n);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end() - 3, expected.begin() + row * n));
    EXPECT_EQ(alone[static_cast<size_t>(n)], -1.0f);
  }
  std::vector<float> some(2 * 90, -1.0f);
  whole.multiply_columns(a.data(), 2, 512, 88, nullptr, some.data(), 90);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::equal(some.begin() + i * 90, some.begin() + i * 90 + 88,
                           expected.begin() + i * n + 512));
    EXPECT_EQ(some[static_cast<size_t>(i * 90 + 89)], -1.0f);
  }
}

TEST_P(BfloatMatrixTest, ProductsOverRowsOfBothInPartsAreAdded) {
  for (const auto& [m, n, k] : shapes()) {
    const auto a = numbers(m * k, "a"), b = numbers(n * k, "b");
    const std::vector<float> a_rows = turned(a, m, k), b_rows = turned(b, n, k);
    constexpr int64_t kPart = 40, kRoom = 64;
    const int64_t room =
        k / kPart * kRoom + (k % kPart + kBfloatStep - 1) / kBfloatStep * kBfloatStep;
    FloatBuffer left_memory, right_memory;  // of twice as many numbers as are needed
    auto* const left = reinterpret_cast<uint16_t*>(left_memory.reserve(bfloat_panel_size(m, room)));
    auto* const right =
        reinterpret_cast<uint16_t*>(right_memory.reserve(bfloat_panel_size(n, room)));
    for (int64_t i = 0; i < k; i += kPart) {
      const int64_t first = i / kPart * kRoom, count = std::min(kPart, k - i);
      kernels()->pack_left_columns(a_rows.data() + i * m, m, room, first, count, m, left);
      kernels()->pack_columns(b_rows.data() + i * n, n, room, first, count, n, right);
    }
    std::vector<float> c(static_cast<size_t>(m * n), 0.0f);
    kernels()->matmul_packed({m, n, room, left, right, c.data(), n});
    expect_product(c, a, b, {}, m, n, k);
    std::vector<float> twice = c;
    kernels()->matmul_packed({m, n, room, left, right, twice.data(), n});
    for (size_t i = 0; i < c.size(); ++i) ASSERT_NEAR(twice[i], 2 * c[i], 1e-5 * std::sqrt(k));
  }
}

TEST_P(BfloatMatrixTest, RowsThatLieApartAndNumbersBehindThemDoNotMatter) {
  const int64_t m = 21, n = 35, k = 37, lda = 50, ldc = 41;
  auto a = numbers(m * lda, "a");
  const auto b = numbers(n * k, "b");
  std::vector<float> close, c(static_cast<size_t>(m * ldc), 3.0f), expected(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = k; j < lda; ++j) a[i * lda + j] = NAN;
    close.insert(close.end(), a.begin() + i * lda, a.begin() + i * lda + k);
  }
  const PackedMatrix matrix(b.data(), n, k, MatrixLayout::kColumns, MatrixProducts(kernels()));
  matrix.multiply(close.data(), m, nullptr, expected.data());
  matrix.multiply_rows(a.data(), lda, m, c.data(), ldc);
  for (int64_t i = 0; i < m; ++i) {
    EXPECT_TRUE(std::equal(c.begin() + i * ldc, c.begin() + i * ldc + n, expected.begin() + i * n));
    for (int64_t j = n; j < ldc; ++j) EXPECT_EQ(c[i * ldc + j], 3.0f);
  }
}

TEST(BfloatProducts, AreRefusedWithWhatTheProcessorHas) {
  const bool has = bfloat_kernels() != nullptr;
  std::string message;
  try {
    check_bfloat_products("`compute: bf16`");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    message = error.what();
  }
  EXPECT_EQ(message.empty(), has);
  if (has) return;
  EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("`compute: bf16`"),
                                      testing::HasSubstr(vector_kernels().name),
                                      testing::HasSubstr("fp32")));
  EXPECT_THROW(PackedMatrix(3, 3, MatrixProducts(ProductType::kBfloat)), Error);
}

}  // namespace

}  // namespace simile
