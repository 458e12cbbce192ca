// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/vector_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/half.h"
#include "simile/core/random.h"
#include "simile/kernel/bfloat_kernels.h"

namespace simile {
namespace {

// Each test runs on every instruction set that this processor has.
class VectorKernelsTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!vector_kernels_for(GetParam())) GTEST_SKIP() << "skipped: not on this processor";
  }
  const VectorKernels& kernels() const { return *vector_kernels_for(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Levels, VectorKernelsTest,
                         testing::Values(Isa::kBaseline, Isa::kAvx2, Isa::kAvx512),
                         [](const testing::TestParamInfo<Isa>& info) {
                           return std::string(info.param == Isa::kBaseline ? "Baseline"
                                              : info.param == Isa::kAvx2   ? "Avx2"
                                                                           : "Avx512");
                         });

std::vector<float> normals(int64_t count, const char* name, double deviation = 1) {
  RandomStream stream(5, name);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(deviation * stream.normal());
  return values;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

struct Sizes {
  int64_t m, n, k;
};
const Sizes kSizes[] = {{1, 1, 1},    {3, 5, 7},     {14, 32, 64},  {15, 33, 193},
                        {29, 64, 50}, {6, 100, 385}, {113, 48, 10}, {28, 17, 400}};

TEST_P(VectorKernelsTest, MatmulAgreesWithDoublePrecision) {
  for (const Sizes& s : kSizes) {
    const std::vector<float> a = normals(s.m * s.k, "a"), w = normals(s.n * s.k, "w");
    const std::vector<float> bias = normals(s.n, "bias"), old = normals(s.m * s.n, "old");
    std::vector<float> panels(static_cast<size_t>(panel_floats(kernels(), s.n, s.k)), NAN);
    kernels().pack_rows(w.data(), s.n, s.k, s.k, panels.data());
    std::vector<float> plain(s.m * s.n), added = old, activated = plain;
    kernels().matmul({s.m, s.n, s.k, a.data(), s.k, panels.data(), plain.data(), s.n, bias.data(),
                      false, false});
    kernels().matmul({s.m, s.n, s.k, a.data(), s.k, panels.data(), activated.data(), s.n,
                      bias.data(), false, true});
    kernels().matmul(
        {s.m, s.n, s.k, a.data(), s.k, panels.data(), added.data(), s.n, nullptr, true, false});
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum += double{a[i * s.k + k]} * w[j * s.k + k];
        const double tolerance = 2e-6 * (10 + s.k);
        ASSERT_NEAR(plain[i * s.n + j], sum + bias[j], tolerance);
        ASSERT_NEAR(activated[i * s.n + j], gelu(sum + bias[j]), tolerance);
        ASSERT_NEAR(added[i * s.n + j], sum + old[i * s.n + j], tolerance);
      }
    }
  }
}

TEST_P(VectorKernelsTest, MatmulTransposedAgreesWithDoublePrecision) {
  for (const Sizes& s : kSizes) {
    const std::vector<float> a = normals(s.k * (s.m + 3), "a"), b = normals(s.n * s.k, "b");
    const std::vector<float> old = normals(s.m * s.n, "old");
    std::vector<float> panels(static_cast<size_t>(panel_floats(kernels(), s.n, s.k)), NAN);
    kernels().pack_columns(b.data(), s.n, s.k, s.n, panels.data());
    std::vector<float> c = old;
    kernels().matmul_transposed(
        {s.m, s.n, s.k, a.data(), s.m + 3, panels.data(), c.data(), s.n, nullptr, true, false});
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = old[i * s.n + j];
        for (int64_t k = 0; k < s.k; ++k) sum += double{a[k * (s.m + 3) + i]} * b[k * s.n + j];
        ASSERT_NEAR(c[i * s.n + j], sum, 2e-6 * (10 + s.k));
      }
    }
  }
}

TEST_P(VectorKernelsTest, RowsOfAProductDoNotDependOnTheirNumber) {
  const int64_t n = 40, k = 500, rows = 61;
  const std::vector<float> a = normals(rows * k, "a"), w = normals(n * k, "w");
  std::vector<float> panels(static_cast<size_t>(panel_floats(kernels(), n, k)));
  kernels().pack_rows(w.data(), n, k, k, panels.data());
  const auto product = [&](int64_t first, int64_t count) {
    std::vector<float> c(static_cast<size_t>(count * n));
    kernels().matmul(
        {count, n, k, a.data() + first * k, k, panels.data(), c.data(), n, nullptr, false, false});
    return c;
  };
  const std::vector<float> all = product(0, rows);
  for (int64_t count = 1; count <= rows; ++count) {
    const int64_t first = rows - count;
    EXPECT_EQ(product(first, count), std::vector<float>(all.begin() + first * n, all.end()));
  }
}

TEST_P(VectorKernelsTest, ExponentialIsAccurate) {
  std::vector<float> x, y;
  for (double v = -87; v <= 0; v += 0.00137) x.push_back(static_cast<float>(v));
  x.push_back(0);
  x.push_back(-1000);
  x.push_back(-INFINITY);
  y.resize(x.size());
  kernels().exponential(static_cast<int64_t>(x.size()), x.data(), y.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(std::max(-87.0, double{x[i]}));
    ASSERT_NEAR(y[i] / expected, 1, 3e-7) << x[i];
  }
}

TEST_P(VectorKernelsTest, GeluAndItsDerivativeAreAccurate) {
  std::vector<float> x;
  for (double v = -12; v <= 12; v += 0.00071) x.push_back(static_cast<float>(v));
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<float> y(x.size()), again(x.size()), g(x.size(), 1.0f), sums(x.size());
  kernels().activate({Activation::kGelu, false, 1, n, x.data(), y.data()});
  kernels().activate_backward({Activation::kGelu, false, 1, n, x.data(), again.data()},
                              {g.data(), g.data(), sums.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double phi = 0.5 * std::erfc(-v / std::sqrt(2.0));
    const double slope = phi + v * std::exp(-0.5 * v * v) / std::sqrt(2 * M_PI);
    ASSERT_NEAR(y[i], v * phi, 4e-7 * std::max(1.0, std::abs(v))) << v;
    ASSERT_NEAR(again[i], v * phi, 4e-7 * std::max(1.0, std::abs(v))) << v;
    ASSERT_NEAR(g[i], slope, 1e-6) << v;
    ASSERT_EQ(sums[i], g[i]);
  }
}

TEST_P(VectorKernelsTest, GeluKeepsInfinitiesAndNotANumberVisible) {
  const float x[] = {INFINITY, NAN, -40.0f, 40.0f};
  float y[4];
  kernels().activate({Activation::kGelu, false, 1, 4, x, y});
  EXPECT_EQ(y[0], INFINITY);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_NEAR(y[2], 0, 1e-5);
  EXPECT_EQ(y[3], 40.0f);
}

// f and its slope by central differences in double precision.
double activation_value(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    default:
      return x / (1 + std::exp(-x));
  }
}

TEST_P(VectorKernelsTest, ActivationsAndTheirGatedFormAreAccurate) {
  constexpr int64_t kRows = 3, kWidth = 53;
  std::vector<float> x(kRows * 2 * kWidth);
  RandomStream stream(4, "activations");
  for (float& v : x) v = static_cast<float>(5 * stream.normal());
  for (const Activation f :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu, Activation::kSilu}) {
    for (const bool gated : {false, true}) {
      const int64_t wide = gated ? 2 * kWidth : kWidth;
      std::vector<float> y(kRows * kWidth), again(y), dy(y), dx(kRows * wide), sums(wide, 0.5f);
      for (float& v : dy) v = static_cast<float>(stream.normal());
      const ActivationCall call{f, gated, kRows, kWidth, x.data(), y.data()};
      kernels().activate(call);
      ActivationCall back = call;
      back.y = again.data();
      kernels().activate_backward(back, {dy.data(), dx.data(), sums.data()});
      EXPECT_EQ(y, again);
      std::vector<float> in_place = x;
      kernels().activate({f, gated, kRows, kWidth, in_place.data(), in_place.data()});
      EXPECT_TRUE(std::equal(y.begin(), y.end(), in_place.begin()));
      std::vector<double> totals(wide, 0.5);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t i = 0; i < kWidth; ++i) {
          const double at = x[r * wide + i], g = dy[r * kWidth + i], h = 1e-6;
          const double factor = gated ? x[r * wide + kWidth + i] : 1.0;
          const double value = activation_value(f, at);
          const double slope =
              (activation_value(f, at + h) - activation_value(f, at - h)) / (2 * h);
          const double scale = std::max(1.0, std::abs(at)) * std::max(1.0, std::abs(factor));
          ASSERT_NEAR(y[r * kWidth + i], value * factor, 5e-7 * scale) << at;
          ASSERT_NEAR(dx[r * wide + i], g * slope * factor, 5e-6 * scale) << at;
          totals[i] += dx[r * wide + i];
          if (!gated) continue;
          ASSERT_NEAR(dx[r * wide + kWidth + i], g * value, 5e-6 * scale) << at;
          totals[kWidth + i] += dx[r * wide + kWidth + i];
        }
      }
      for (int64_t i = 0; i < wide; ++i) ASSERT_NEAR(sums[i], totals[i], 1e-4);
    }
  }
}

TEST_P(VectorKernelsTest, RotationTurnsPairsOfQueryAndKeyAndBack) {
  constexpr int64_t kRows = 3, kHeads = 2, kSize = 10, kLd = 3 * kHeads * kSize + 1;
  std::vector<float> x(kRows * kLd), cosines, sines;
  RandomStream stream(5, "rotation");
  for (float& v : x) v = static_cast<float>(stream.normal());
  for (int64_t i = 0; i < kRows * kSize / 2; ++i) {
    cosines.push_back(static_cast<float>(std::cos(0.3 * static_cast<double>(i))));
    sines.push_back(static_cast<float>(std::sin(0.3 * static_cast<double>(i))));
  }
  std::vector<float> y = x;
  RotationCall call{kRows, kHeads, kSize, y.data(), kLd, cosines.data(), sines.data(), false};
  kernels().rotate(call);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t column = 0; column < kLd; ++column) {
      const int64_t in_head = column % kSize, pair = in_head % (kSize / 2);
      const float* at = &x[r * kLd + column - in_head];
      const double c = cosines[r * kSize / 2 + pair], s = sines[r * kSize / 2 + pair];
      double expected = x[r * kLd + column];
      if (column < 2 * kHeads * kSize) {
        expected = in_head < kSize / 2 ? at[pair] * c - at[pair + kSize / 2] * s
                                       : at[pair + kSize / 2] * c + at[pair] * s;
      }
      ASSERT_NEAR(y[r * kLd + column], expected, 1e-6) << r << " " << column;
    }
  }
  call.backward = true;
  kernels().rotate(call);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-6);
}

// The context of query q of head h, in double precision; of numbers rounded to bfloat16 if the call
// rounds them. `bits`: what dropout keeps.
std::vector<double> reference_context(const AttentionCall& call, const std::vector<uint8_t>& bits,
                                      int64_t h, int64_t q) {
  const int64_t H = call.heads * call.head_size;
  const auto number = [&](int64_t token, int64_t part, int64_t i) {
    const float x = call.qkv[token * call.ld_qkv + part * H + h * call.head_size + i];
    return double{call.rounded ? bfloat16_to_float(float_to_bfloat16(x)) : x};
  };
  std::vector<double> p(static_cast<size_t>(call.length)),
      context(static_cast<size_t>(call.head_size));
  double sum = 0;
  for (int64_t k = 0; k < call.length; ++k) {
    if (call.window > 0 && std::abs(k - q) > call.window) continue;
    double score = 0;
    for (int64_t i = 0; i < call.head_size; ++i) score += number(q, 0, i) * number(k, 1, i);
    score /= std::sqrt(double(call.head_size));
    if (call.shift) score += call.shift[h * call.ld_shift + k - q];
    sum += p[k] = std::exp(score);
  }
  for (int64_t k = 0; k < call.length; ++k) {
    const int64_t byte = (h * call.length + q) * mask_bytes(call.length) + k / 8;
    const double factor = bits[byte] >> (k % 8) & 1 ? call.dropout.scale : 0;
    for (int64_t i = 0; i < call.head_size; ++i) {
      context[i] += factor * p[k] / sum * number(k, 2, i);
    }
  }
  return context;
}

AttentionCall attention_call(int64_t length, int64_t heads, int64_t size,
                             const std::vector<float>& qkv) {
  AttentionCall call{};
  call.length = length;
  call.heads = heads;
  call.head_size = size;
  call.qkv = qkv.data();
  call.ld_qkv = static_cast<int64_t>(qkv.size()) / length;
  return call;
}

// Calls attention() and compares all numbers; the call has no results and no scratch yet.
void expect_attention(const VectorKernels& kernels, AttentionCall call, double error) {
  const int64_t H = call.heads * call.head_size;
  std::vector<float> context(static_cast<size_t>(call.length * H), NAN);
  std::vector<float> scratch(
      static_cast<size_t>(attention_scratch_floats(call.length, call.head_size)), NAN);
  std::vector<uint8_t> bits(static_cast<size_t>(call.heads * call.length * mask_bytes(call.length)),
                            0xff);
  if (call.dropout.threshold > 0) {
    kernels.fill_mask(call.dropout.key, call.dropout.site, call.dropout.threshold,
                      call.dropout.first, static_cast<int64_t>(bits.size()), bits.data());
  }
  call.context = context.data();
  call.ld_context = H;
  call.scratch = scratch.data();
  kernels.attention(call);
  for (int64_t h = 0; h < call.heads; ++h) {
    for (int64_t q = 0; q < call.length; ++q) {
      const std::vector<double> expected = reference_context(call, bits, h, q);
      for (int64_t i = 0; i < call.head_size; ++i) {
        ASSERT_NEAR(context[q * H + h * call.head_size + i], expected[i], error)
            << call.length << " tokens";
      }
    }
  }
}

TEST_P(VectorKernelsTest, AttentionOfOneSequenceAgreesWithDoublePrecision) {
  struct Case {
    int64_t length, heads, size, window;
    uint32_t threshold;
  };
  for (const Case& c : {Case{1, 1, 4, 0, 0},
                        {5, 2, 32, 0, 0},
                        {14, 3, 8, 0, 20000},
                        {33, 2, 5, 0, 0},
                        {70, 1, 64, 0, 0},
                        {29, 1, 16, 0, 6554},
                        {257, 2, 16, 0, 30000},
                        {130, 2, 16, 9, 0},
                        {130, 2, 16, 9, 30000}}) {
    const std::vector<float> qkv = normals(c.length * (3 * c.heads * c.size + 2), "qkv", 1.5);
    AttentionCall call = attention_call(c.length, c.heads, c.size, qkv);
    call.dropout = {77, 5, c.threshold, 1000, c.threshold > 0 ? 1.5f : 1.0f};
    call.window = c.window;
    expect_attention(kernels(), call, 1e-5);
  }
}

TEST_P(VectorKernelsTest, AttentionOfRoundedNumbersAgreesWithDoublePrecision) {
  struct Case {
    int64_t length, heads, size;
    bool is_shifted;
  };
  for (const BfloatIsa isa : {BfloatIsa::kAvx512, BfloatIsa::kAmx}) {
    for (const Case& c : {Case{1, 1, 4, false},
                          {31, 2, 8, true},
                          {32, 2, 32, false},
                          {65, 3, 64, true},
                          {100, 1, 5, false},
                          {257, 2, 33, true}}) {
      const std::vector<float> qkv = normals(c.length * (3 * c.heads * c.size + 2), "qkv", 1.5);
      const std::vector<float> shifts = normals(c.heads * (2 * c.length + 16), "shifts");
      AttentionCall call = attention_call(c.length, c.heads, c.size, qkv);
      if (c.is_shifted) call.shift = shifts.data() + c.length - 1;
      call.ld_shift = 2 * c.length + 16;
      call.rounded = bfloat_kernels_for(isa);
      // A probability is rounded by one part in 512 at most; no number is above 8.
      if (call.rounded) expect_attention(kernels(), call, 8 / 512.0);
    }
  }
}

TEST_P(VectorKernelsTest, LargeScoresDoNotOverflow) {
  const int64_t length = 3, size = 4;
  std::vector<float> qkv(length * 12, 30.0f), context(length * size);
  std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(length, size)));
  qkv[4] = -30.0f;
  kernels().attention({length,
                       1,
                       size,
                       qkv.data(),
                       12,
                       context.data(),
                       size,
                       {},
                       nullptr,
                       nullptr,
                       scratch.data()});
  for (const float v : context) EXPECT_NEAR(v, 30.0f, 1e-4);
}

TEST_P(VectorKernelsTest, NormAgreesWithDoublePrecisionAndSurvivesConstantRows) {
  for (const int64_t width : {1, 5, 16, 33, 384}) {
    std::vector<float> x = normals(3 * width, "x"), residual = normals(3 * width, "residual");
    std::fill(x.begin(), x.begin() + width, 1e6f);
    std::fill(residual.begin(), residual.begin() + width, 0.0f);
    const std::vector<float> weight = normals(width, "weight"), bias = normals(width, "bias");
    std::vector<float> y(3 * width), normalized(3 * width), inverse(3);
    kernels().norm({3, width, x.data(), residual.data(), nullptr, 1.0f, weight.data(), bias.data(),
                    1e-12f, y.data(), normalized.data(), inverse.data()});
    for (int64_t r = 0; r < 3; ++r) {
      double mean = 0, variance = 0;
      const auto z = [&](int64_t i) { return double{x[r * width + i]} + residual[r * width + i]; };
      for (int64_t i = 0; i < width; ++i) mean += z(i);
      mean /= width;
      for (int64_t i = 0; i < width; ++i) variance += (z(i) - mean) * (z(i) - mean) / width;
      for (int64_t i = 0; i < width; ++i) {
        const double expected = (z(i) - mean) / std::sqrt(variance + 1e-12);
        ASSERT_NEAR(normalized[r * width + i], expected, 1e-5) << width;
        ASSERT_NEAR(y[r * width + i], expected * weight[i] + bias[i], 1e-5) << width;
      }
    }
  }
}

TEST_P(VectorKernelsTest, MaskBitsAreThoseOfPhilox) {
  const uint64_t key = 0x123456789ABCDEFull, first = 0xFFFFFFF9ull;  // across 32 bits
  const uint32_t site = 77, threshold = 20000;
  std::vector<uint8_t> mask(37);
  kernels().fill_mask(key, site, threshold, first, 37, mask.data());
  for (uint64_t b = 0; b < mask.size(); ++b) {
    const uint64_t number = first + b;
    const auto words =
        philox({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), site, 0},
               {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t half = bit % 2 ? words[bit / 2] >> 16 : words[bit / 2] & 0xFFFF;
      ASSERT_EQ(mask[b] >> bit & 1, half >= threshold ? 1 : 0) << b << " " << bit;
    }
  }
}

TEST_P(VectorKernelsTest, MasksKeepAndScaleTheRightPlaces) {
  for (const int64_t width : {3, 16, 29}) {
    const std::vector<float> x = normals(2 * width, "x");
    std::vector<uint8_t> mask(2 * mask_bytes(width));
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<uint8_t>(37 * i + 11);
    std::vector<float> y(2 * width);
    kernels().apply_mask(2, width, x.data(), mask.data(), 1.5f, y.data());
    for (int64_t i = 0; i < 2 * width; ++i) {
      const int64_t column = i % width;
      const bool keep = mask[i / width * mask_bytes(width) + column / 8] >> column % 8 & 1;
      ASSERT_EQ(y[i], keep ? x[i] * 1.5f : 0.0f);
    }
  }
}

TEST_P(VectorKernelsTest, SumsAndAdditions) {
  const int64_t n = 35;
  const std::vector<float> a = normals(2 * n, "a"), b = normals(n, "b"), c = normals(n, "c");
  std::vector<float> two(n), three(n), sums = c, to = b;
  kernels().add_rows(n, a.data(), b.data(), nullptr, two.data());
  kernels().add_rows(n, a.data(), b.data(), c.data(), three.data());
  kernels().column_sums(2, n, a.data(), n, sums.data());
  kernels().add_to(n, a.data(), to.data());
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(two[i], a[i] + b[i]);
    EXPECT_EQ(to[i], a[i] + b[i]);
    EXPECT_EQ(three[i], a[i] + b[i] + c[i]);
    EXPECT_EQ(sums[i], c[i] + a[i] + a[n + i]);
  }
}

TEST_P(VectorKernelsTest, WeightedRowsAgreeWithDoublePrecision) {
  const int64_t rows = 9, ldx = 150;
  const std::vector<float> x = normals(rows * ldx, "x"), weights = normals(7, "weights");
  const int32_t chosen[] = {3, 8, 0, 3, 5, 1, 8};
  for (const int64_t width : {1, 5, 16, 63, 64, 65, 130, 150}) {
    for (int64_t count = 0; count <= 7; ++count) {
      std::vector<float> y(static_cast<size_t>(width) + 1, 9.0f);
      kernels().weighted_rows({count, chosen, weights.data(), x.data(), ldx, width, y.data()});
      for (int64_t j = 0; j < width; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) sum += double{weights[k]} * x[chosen[k] * ldx + j];
        ASSERT_NEAR(y[j], sum, 1e-5) << width << " " << count;
      }
      EXPECT_EQ(y.back(), 9.0f);  // nothing behind the row
    }
  }
}

TEST_P(VectorKernelsTest, SumsOfChosenRowsAgreeWithDoublePrecision) {
  const int64_t rows = 9;
  const int32_t chosen[] = {3, 8, 0, 3, 5, 1, 8};
  const std::vector<float> weights = normals(rows, "weights");
  for (const int64_t width : {1, 5, 16, 63, 64, 65, 130, 256, 257, 400}) {
    const std::vector<float> table = normals(rows * width, "table");
    std::vector<uint16_t> halves;
    std::vector<int8_t> bytes;
    std::vector<float> of_halves, of_bytes;
    for (const float value : table) {
      halves.push_back(float_to_half(value));
      bytes.push_back(static_cast<int8_t>(std::lround(30 * value)));
      of_halves.push_back(half_to_float(halves.back()));
      of_bytes.push_back(bytes.back());
    }
    for (const int64_t count : {0, 1, 7}) {
      for (const bool add : {false, true}) {
        const auto expect_sum = [&](const std::vector<float>& numbers, const auto& kernel,
                                    const auto* rows_of) {
          std::vector<float> sum = normals(width + 1, "old");
          const std::vector<float> old = sum;
          const float* of_rows = add ? weights.data() : nullptr;
          kernel({width, count, chosen, of_rows, 0.25f, add, sum.data()}, rows_of);
          for (int64_t j = 0; j < width; ++j) {
            double expected = 0;
            for (int64_t i = 0; i < count; ++i) {
              expected += (add ? weights[chosen[i]] : 1.0) * numbers[chosen[i] * width + j];
            }
            expected = 0.25 * expected + (add ? old[j] : 0.0);
            ASSERT_NEAR(sum[j], expected, 1e-4) << width << " " << count;
          }
          EXPECT_EQ(sum.back(), old.back());  // nothing behind the row
        };
        expect_sum(table, kernels().sum_float_rows, table.data());
        expect_sum(of_halves, kernels().sum_half_rows, halves.data());
        expect_sum(of_bytes, kernels().sum_byte_rows, bytes.data());
      }
    }
  }
}

TEST_P(VectorKernelsTest, HalvesOfEveryKindBecomeTheirFloats) {
  const int32_t first = 0;
  for (uint32_t bits = 0; bits < 0x10000; bits += 16) {
    uint16_t halves[16];
    float found[16];
    for (uint32_t i = 0; i < 16; ++i) halves[i] = static_cast<uint16_t>(bits + i);
    kernels().sum_half_rows({16, 1, &first, nullptr, 1.0f, false, found}, halves);
    for (uint32_t i = 0; i < 16; ++i) {
      const float expected = half_to_float(halves[i]);
      ASSERT_TRUE(found[i] == expected || (std::isnan(found[i]) && std::isnan(expected)))
          << bits + i << " " << found[i] << " " << expected;
    }
  }
}

TEST_P(VectorKernelsTest, UnitRowsAndTheirGradientAgreeWithDoublePrecision) {
  for (const int64_t width : {1, 7, 16, 50}) {
    const int64_t rows = 3;
    std::vector<float> x = normals(rows * width, "x", 3), y(x.size()), inverse(rows);
    for (int64_t j = 0; j < width; ++j) x[width + j] = j == 0 ? 1e-13f : 0.0f;  // as good as zero
    const std::vector<float> upstream = normals(rows * width, "upstream");
    std::vector<float> gradient(x.size());
    const UnitRowsCall call{rows, width, x.data(), y.data(), inverse.data()};
    kernels().unit_rows(call);
    kernels().unit_rows_backward(call, upstream.data(), gradient.data());
    for (int64_t r = 0; r < rows; ++r) {
      double squares = 0, along = 0;
      for (int64_t j = r * width; j < (r + 1) * width; ++j) squares += double{x[j]} * x[j];
      const double length = std::sqrt(squares);
      for (int64_t j = r * width; j < (r + 1) * width; ++j) along += x[j] / length * upstream[j];
      for (int64_t j = r * width; j < (r + 1) * width; ++j) {
        const double unit = r == 1 ? 0 : x[j] / length;
        ASSERT_NEAR(y[j], unit, 1e-6);
        ASSERT_NEAR(gradient[j], r == 1 ? 0 : (upstream[j] - along * unit) / length, 1e-5);
      }
    }
  }
}

TEST_P(VectorKernelsTest, SoftmaxOfRowsAndColumnsAgreesWithDoublePrecision) {
  for (const int64_t width : {1, 15, 16, 70, 130}) {
    const int64_t rows = 9, columns = (width + 1) / 2, ldx = width + 3;
    const float scale = 12.5f;
    const std::vector<float> x = normals(rows * ldx, "x");
    const SoftmaxCall call{rows, width, scale, x.data(), ldx};
    std::vector<float> maxima(std::max(rows, width)), sums(maxima.size());
    std::vector<float> row_log_sum, column_log_sum;
    const auto score = [&](int64_t i, int64_t j) { return double{scale} * x[i * ldx + j]; };
    kernels().row_softmax(call, maxima.data(), sums.data());
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += std::exp(score(i, j));
      row_log_sum.push_back(maxima[i] + std::log(sums[i]));
      ASSERT_NEAR(row_log_sum.back(), std::log(sum), 1e-4);
    }
    kernels().column_softmax(call, maxima.data(), sums.data());
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += std::exp(score(i, j));
      column_log_sum.push_back(maxima[j] + std::log(sums[j]));
      ASSERT_NEAR(column_log_sum.back(), std::log(sum), 1e-4);
    }
    const std::vector<float> of_rows = normals(rows, "rows"),
                             of_columns = normals(width, "columns");
    for (const bool has_rows : {false, true}) {
      std::vector<float> y = x;
      kernels().softmax_gradient({rows, width, scale, y.data(), ldx},
                                 {row_log_sum.data(), has_rows ? of_rows.data() : nullptr, columns,
                                  column_log_sum.data(), of_columns.data()},
                                 y.data());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < ldx; ++j) {
          double expected = j < width ? 0 : x[i * ldx + j];
          if (j < width && has_rows)
            expected -= of_rows[i] * std::exp(score(i, j) - row_log_sum[i]);
          if (j < columns) expected -= of_columns[j] * std::exp(score(i, j) - column_log_sum[j]);
          ASSERT_NEAR(y[i * ldx + j], expected, 2e-5) << width << " " << i << " " << j;
        }
      }
    }
  }
}

TEST_P(VectorKernelsTest, TransposesTurnRowsIntoColumns) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {4, 8}, {5, 3}, {64, 64}, {17, 30}}) {
    const std::vector<float> from = normals(rows * (columns + 2), "from");
    std::vector<float> to(columns * (rows + 1), 9.0f);
    kernels().transpose(from.data(), columns + 2, rows, columns, to.data(), rows + 1);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_EQ(to[j * (rows + 1) + i], from[i * (columns + 2) + j]);
      }
      EXPECT_EQ(to[j * (rows + 1) + rows], 9.0f);
    }
  }
}

TEST_P(VectorKernelsTest, SumsOfSquaresHaveTheSameBitsAtEveryLevel) {
  for (const int64_t n : {0, 1, 15, 16, 17, 255, 1000}) {
    const std::vector<float> x = normals(n, "x");
    double expected = 0;
    for (const float value : x) expected += double{value} * value;
    const double found = kernels().sum_of_squares(x.data(), n);
    EXPECT_NEAR(found, expected, 1e-9);
    EXPECT_EQ(found, vector_kernels_for(Isa::kBaseline)->sum_of_squares(x.data(), n));
  }
}

TEST(VectorKernels, TheEnvironmentCannotAskForWhatIsNotThere) {
  EXPECT_NE(vector_kernels_for(Isa::kBaseline), nullptr);
  EXPECT_STREQ(vector_kernels_for(Isa::kBaseline)->name, "baseline");
  if (!std::getenv("SIMILE_ISA")) {
    const VectorKernels* best = vector_kernels_for(Isa::kAvx512);
    EXPECT_EQ(&vector_kernels() == best, best != nullptr);
  }
}

}  // namespace
}  // namespace simile
