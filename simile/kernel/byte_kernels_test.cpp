// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/byte_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simile/core/memory.h"
#include "simile/core/random.h"

namespace simile {
namespace {

// Each test runs with every kind of instructions that this processor has.
class ByteKernelsTest : public testing::TestWithParam<ByteIsa> {
 protected:
  void SetUp() override {
    if (!byte_kernels_for(GetParam())) GTEST_SKIP() << "skipped: not on this processor";
  }
  const ByteKernels& kernels() const { return *byte_kernels_for(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, ByteKernelsTest,
                         testing::Values(ByteIsa::kBaseline, ByteIsa::kAvx2, ByteIsa::kAvx512,
                                         ByteIsa::kVnni, ByteIsa::kAmx),
                         [](const testing::TestParamInfo<ByteIsa>& info) {
                           return std::string(byte_kernels_for(info.param)
                                                  ? byte_kernels_for(info.param)->name
                                                  : "missing" + std::to_string(info.index));
                         });

std::vector<float> numbers(int64_t size, const char* name) {
  RandomStream stream(6, name);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

struct Operands {
  int64_t m, n, k;
  std::vector<float> a, b, bias;  // b [n, k]
};

Operands operands(int64_t m, int64_t n, int64_t k) {
  return {m, n, k, numbers(m * k, "a"), numbers(n * k, "b"), numbers(n, "bias")};
}

// Numbers of the panels in `memory`.
int8_t* panels_in(FloatBuffer& memory, int64_t n, int64_t k) {
  return reinterpret_cast<int8_t*>(memory.reserve(byte_panel_size(n, k) / 4));
}

std::vector<float> multiply(const ByteKernels& kernels, const Operands& o, bool with_bias = true) {
  FloatBuffer panels, scratch;
  int8_t* const packed = panels_in(panels, o.n, o.k);
  pack_byte_rows(o.b.data(), o.n, o.k, o.k, packed);
  std::vector<float> c(static_cast<size_t>(o.m * o.n), 7.0f);
  kernels.matmul({o.m, o.n, o.k, o.a.data(), o.k, packed, c.data(), o.n,
                  with_bias ? o.bias.data() : nullptr,
                  reinterpret_cast<int16_t*>(scratch.reserve(byte_scratch(o.k) / 2))});
  return c;
}

struct Rotated {
  std::vector<float> numbers;
  float together;  // P
};

// x [, k] R, with k above 0.
Rotated rotate(std::vector<float> x, int64_t k) {
  int64_t together = 1;
  while (together < 16 && k % (2 * together * kRotatedApart) == 0) together *= 2;
  for (int64_t half = kRotatedApart; half < together * kRotatedApart; half *= 2) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (i / static_cast<size_t>(half) % 2 == 1) continue;
      float &first = x[i], &second = x[i + static_cast<size_t>(half)];
      const float sum = first + second;
      second = first - second;
      first = sum;
    }
  }
  return {x, static_cast<float>(together)};
}

// The formulas of the header, one number after the other.
std::vector<float> multiply_naively(const Operands& o, bool with_bias = true) {
  if (o.k == 0) {
    std::vector<float> c;
    for (int64_t i = 0; i < o.m * o.n; ++i) c.push_back(with_bias ? o.bias[i % o.n] : 0);
    return c;
  }
  std::vector<int8_t> q(o.b.size());
  std::vector<float> scales(static_cast<size_t>(o.n)), c;
  const std::vector<float> a = rotate(o.a, o.k).numbers;
  Rotated b = rotate(o.b, o.k);
  for (float& number : b.numbers) number /= b.together;
  EXPECT_TRUE(quantise_rows(b.numbers.data(), o.n, o.k, q.data(), scales.data()));
  for (int64_t r = 0; r < o.m; ++r) {
    const float* const row = a.data() + r * o.k;
    float most = 0;
    for (int64_t i = 0; i < o.k; ++i) most = std::max(most, std::abs(row[i]));
    const float scale = most / 127.0f, inverse = most > 0 ? 127.0f / most : 0.0f;
    for (int64_t j = 0; j < o.n; ++j) {
      int64_t sum = 0;
      for (int64_t i = 0; i < o.k; ++i) {
        sum += std::lrint(row[i] * inverse) * q[static_cast<size_t>(j * o.k + i)];
      }
      volatile float product = scale * scales[static_cast<size_t>(j)];
      product = static_cast<float>(sum) * product;
      c.push_back(with_bias ? product + o.bias[static_cast<size_t>(j)] : product);
    }
  }
  return c;
}

TEST_P(ByteKernelsTest, ProductsHaveTheBitsOfTheNaiveOne) {
  std::vector<std::vector<int64_t>> shapes = {
      {1, 1, 1},     {2, 2, 2},      {255, 33, 31}, {256, 32, 64}, {257, 31, 65}, {1, 255, 64},
      {3, 256, 257}, {16, 257, 255}, {0, 5, 5},     {5, 0, 5},     {5, 5, 0},     {300, 40, 1},
      {9, 40, 16},   {9, 40, 32},    {9, 40, 48},   {9, 40, 128},  {9, 40, 256},  {9, 40, 384}};
  RandomStream stream(5, "shapes");
  for (int i = 0; i < 20; ++i) {
    const auto draw = [&] { return static_cast<int64_t>(stream.below(i < 10 ? 40 : 300)); };
    const int64_t m = draw(), n = draw(), k = draw();
    shapes.push_back({m, n, k});
  }
  for (const std::vector<int64_t>& s : shapes) {
    const Operands o = operands(s[0], s[1], s[2]);
    EXPECT_EQ(multiply(kernels(), o), multiply_naively(o)) << s[0] << " " << s[1] << " " << s[2];
    EXPECT_EQ(multiply(kernels(), o, false), multiply_naively(o, false));
  }
}

TEST_P(ByteKernelsTest, ARowHasTheSameBitsAloneAndRowsMayLieApart) {
  const Operands o = operands(140, 70, 100);
  const std::vector<float> whole = multiply(kernels(), o);
  for (const int64_t row : {0, 5, 127, 128, 139}) {
    Operands one = o;
    one.m = 1;
    one.a.assign(o.a.begin() + row * o.k, o.a.begin() + (row + 1) * o.k);
    const std::vector<float> alone = multiply(kernels(), one);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + row * o.n));
  }
  constexpr int64_t lda = 111, ldc = 75;
  std::vector<float> a(static_cast<size_t>(o.m * lda), NAN);
  std::vector<float> c(static_cast<size_t>(o.m * ldc), 3.0f);
  for (int64_t i = 0; i < o.m; ++i) {
    std::copy(o.a.begin() + i * o.k, o.a.begin() + (i + 1) * o.k, a.begin() + i * lda);
  }
  FloatBuffer panels, scratch;
  int8_t* const packed = panels_in(panels, o.n, o.k);
  pack_byte_rows(o.b.data(), o.n, o.k, o.k, packed);
  kernels().matmul({o.m, o.n, o.k, a.data(), lda, packed, c.data(), ldc, o.bias.data(),
                    reinterpret_cast<int16_t*>(scratch.reserve(byte_scratch(o.k) / 2))});
  for (int64_t i = 0; i < o.m; ++i) {
    EXPECT_TRUE(
        std::equal(c.begin() + i * ldc, c.begin() + i * ldc + o.n, whole.begin() + i * o.n));
    for (int64_t j = o.n; j < ldc; ++j) EXPECT_EQ(c[static_cast<size_t>(i * ldc + j)], 3.0f);
  }
}

TEST_P(ByteKernelsTest, SumsOfTheLargestNumbersDoNotOverflow) {
  const int64_t k = kLongestByteSum;
  Operands o = operands(2, 2, k);
  for (int64_t i = 0; i < k; ++i) {  // rotated, all are 127 or -127
    const float number = i / kRotatedApart % 16 == 0 ? 127 : 0;
    o.a[i] = o.b[i] = number;
    o.a[k + i] = -number;
    o.b[k + i] = i % 2 == 0 ? number : -number;
  }
  const float most = 127.0f * 127.0f * static_cast<float>(k / 16);
  EXPECT_EQ(multiply(kernels(), o, false), (std::vector<float>{most, 0, -most, 0}));
}

TEST_P(ByteKernelsTest, RotatedRowsHaveKnownProducts) {
  // P is 2. Rotated, a has 127 at 0 and 16, 1 at 1 and 17; so has the first column of B, over 2.
  Operands o{1, 2, 32, std::vector<float>(32), std::vector<float>(64), {}};
  o.a[0] = 127;
  o.a[1] = 1;
  o.b[0] = 254;
  o.b[1] = 2;
  o.b[32 + 17] = 3;  // rotated 3 at 1 and -3 at 17
  EXPECT_EQ(multiply(kernels(), o, false), (std::vector<float>{127 * 254 + 2, 0}));
}

TEST_P(ByteKernelsTest, OneLargeChannelLeavesTheOthersTheirBits) {
  Operands o = operands(8, 64, 256);
  for (int64_t r = 0; r < o.m; ++r) o.a[r * o.k + 77] = 200;
  const std::vector<float> found = multiply(kernels(), o, false);
  double error = 0;
  for (int64_t r = 0; r < o.m; ++r) {
    for (int64_t j = 0; j < o.n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < o.k; ++i) sum += double{o.a[r * o.k + i]} * o.b[j * o.k + i];
      const double away = sum - found[static_cast<size_t>(r * o.n + j)];
      error += away * away;
    }
  }
  // Steps of 200 / 127 would be away by 7, the root of 256 times 1 / 12 of a step's square.
  EXPECT_LT(std::sqrt(error / static_cast<double>(o.m * o.n)), 2.5);
}

TEST_P(ByteKernelsTest, ZerosGiveTheBiasAndWhatIsNotFiniteItsRowAlone) {
  Operands o = operands(5, 33, 40);
  std::fill(o.a.begin(), o.a.begin() + 40, 0.0f);
  std::fill(o.a.begin() + 40, o.a.begin() + 80, -1e-35f);
  std::fill(o.b.begin(), o.b.begin() + 40, 0.0f);
  o.a[80] = std::numeric_limits<float>::infinity();
  o.a[125] = -std::numeric_limits<float>::quiet_NaN();
  o.a[160] = 1e36f;
  const std::vector<float> c = multiply(kernels(), o);
  for (int64_t j = 0; j < o.n; ++j) {
    EXPECT_EQ(c[j], o.bias[j]);
    EXPECT_EQ(c[o.n + j], o.bias[j]);
    EXPECT_TRUE(std::isnan(c[2 * o.n + j]));
    EXPECT_TRUE(std::isnan(c[3 * o.n + j]));
    EXPECT_TRUE(std::isfinite(c[4 * o.n + j]));
  }
  EXPECT_EQ(c[4 * o.n], o.bias[0]);
}

TEST(ByteKernels, BytesArePackedAsTheFloatsThatTheyStandFor) {
  for (const int64_t k : {1, 64, 100, 384}) {
    const int64_t n = 70;
    const std::vector<float> b = numbers(n * k, "b");
    std::vector<int8_t> q(b.size());
    std::vector<float> scales(static_cast<size_t>(n));
    EXPECT_TRUE(quantise_rows(b.data(), n, k, q.data(), scales.data()));
    FloatBuffer one, other;
    int8_t *const floats = panels_in(one, n, k), *const bytes = panels_in(other, n, k);
    std::vector<float> back;
    for (size_t i = 0; i < b.size(); ++i) back.push_back(q[i] * scales[i / static_cast<size_t>(k)]);
    pack_byte_rows(back.data(), n, k, k, floats);
    pack_byte_rows(q.data(), scales.data(), n, k, bytes);
    EXPECT_EQ(std::memcmp(floats, bytes, static_cast<size_t>(byte_panel_size(n, k))), 0);
  }
}

using testing::Each;
using testing::ElementsAre;

struct Quantised {
  std::vector<int8_t> numbers;
  std::vector<float> scales;
  std::vector<float> back;
};

Quantised quantise(const std::vector<float>& values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  Quantised q;
  q.numbers.resize(values.size());
  q.scales.resize(static_cast<size_t>(rows));
  EXPECT_TRUE(quantise_rows(values.data(), rows, columns, q.numbers.data(), q.scales.data()));
  for (size_t i = 0; i < values.size(); ++i) {
    q.back.push_back(q.numbers[i] * q.scales[i / static_cast<size_t>(columns)]);
  }
  return q;
}

TEST(Quantise, KnownValues) {
  const Quantised q = quantise({127, -127, 63.4f, 0, 0, 0, 0.5f, -0.25f, 0}, 3);
  EXPECT_THAT(q.numbers, ElementsAre(127, -127, 63, 0, 0, 0, 127, -63, 0));
  EXPECT_EQ(q.scales[0], 1.0f);
  EXPECT_EQ(q.scales[1], 0.0f);
  EXPECT_NEAR(q.scales[2], 0.5 / 127, 1e-7);
}

TEST(Quantise, NoNumberIsFurtherThanHalfAScaleAndQuantisingAgainChangesNothing) {
  RandomStream stream(3, "quantise");
  for (int round = 0; round < 200; ++round) {
    std::vector<float> values(64);
    const double size = std::pow(10.0, static_cast<double>(stream.below(40)) - 25);
    for (float& value : values) value = static_cast<float>(stream.normal() * size);
    const Quantised once = quantise(values, 4), twice = quantise(once.back, 4);
    EXPECT_EQ(once.numbers, twice.numbers);
    EXPECT_EQ(once.scales, twice.scales);
    EXPECT_EQ(once.back, twice.back);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(std::abs(values[i] - once.back[i]), once.scales[i / 16] * 0.50001f);
    }
  }
}

TEST(Quantise, TinyNumbersAreZeroAndNumbersThatAreNotFiniteAreRefused) {
  EXPECT_THAT(quantise({1e-38f, -1e-35f}, 1).numbers, Each(0));
  EXPECT_THAT(quantise({3e38f, -3e38f}, 1).numbers, ElementsAre(127, -127));
  int8_t number;
  float scale;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(quantise_rows(&bad, 1, 1, &number, &scale));
  }
}

}  // namespace

}  // namespace simile
