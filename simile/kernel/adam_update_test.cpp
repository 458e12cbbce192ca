// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/adam_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "simile/core/random.h"
#include "simile/core/threads.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

std::vector<float> normals(size_t n, const char* name) {
  RandomStream stream(1, name);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(stream.normal());
  return values;
}

TEST(AdamUpdate, FollowsTheFormulaForSeveralSteps) {
  for (const bool correct : {false, true}) {
    for (const int64_t n : {1, 7, 16, 37}) {
      std::vector<float> w = normals(n, "w"), m(n), v(n);
      std::vector<double> W(w.begin(), w.end()), M(n), V(n);
      for (int step = 1; step <= 5; ++step) {
        const std::vector<float> g = normals(n, "g");
        AdamUpdate update;
        update.eps = 1e-6f;
        update.gradient_scale = 0.5f;
        if (correct) {
          update.first_correction = static_cast<float>(1 - std::pow(0.9, step));
          update.second_correction = static_cast<float>(1 - std::pow(0.999, step));
        }
        adam_update(update, n, w.data(), m.data(), v.data(), g.data());
        for (int64_t i = 0; i < n; ++i) {
          const double s = 0.5 * g[i];
          W[i] *= 1 - 1e-3 * 0.01;
          M[i] = 0.9 * M[i] + 0.1 * s;
          V[i] = 0.999 * V[i] + 0.001 * s * s;
          W[i] -= 1e-3 * (M[i] / update.first_correction) /
                  (std::sqrt(V[i] / update.second_correction) + 1e-6);
          ASSERT_NEAR(w[i], W[i], 2e-6 * step) << n << " numbers, step " << step;
        }
      }
    }
  }
}

TEST(AdamUpdate, ASpanMayBeCutAnywhere) {
  const int64_t n = 67;
  const std::vector<float> g = normals(n, "g");
  const AdamUpdate update;
  std::vector<float> w = normals(n, "w"), m(n), v(n);
  adam_update(update, n, w.data(), m.data(), v.data(), g.data());
  for (const int64_t cut : {1, 16, 33}) {
    std::vector<float> x = normals(n, "w"), first(n), second(n);
    adam_update(update, cut, x.data(), first.data(), second.data(), g.data());
    adam_update(update, n - cut, x.data() + cut, first.data() + cut, second.data() + cut,
                g.data() + cut);
    EXPECT_EQ(x, w);
    EXPECT_EQ(second, v);
  }
}

TEST(SumOfSquares, IsExactToDoublePrecisionAndTheSameForAnyNumberOfThreads) {
  const int threads = thread_count();
  for (const int64_t n : {0, 1, 5, 16, 31, 1000, 16385, 600001}) {
    const std::vector<float> x = normals(n, "x");
    long double expected = 0;
    for (const float v : x) expected += static_cast<long double>(v) * v;
    set_thread_count(1);
    const double one = sum_of_squares(x.data(), n);
    EXPECT_NEAR(one, static_cast<double>(expected), 1e-12 * static_cast<double>(expected));
    set_thread_count(2);
    EXPECT_EQ(sum_of_squares(x.data(), n), one);
    for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
      const VectorKernels* kernels = vector_kernels_for(isa);
      if (!kernels) continue;
      EXPECT_EQ(kernels->sum_of_squares(x.data(), n), vector_kernels().sum_of_squares(x.data(), n));
    }
  }
  set_thread_count(threads);
}

}  // namespace
}  // namespace simile
