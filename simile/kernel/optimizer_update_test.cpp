// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/optimizer_update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

std::vector<float> normals(size_t n, const char* name) {
  RandomStream stream(1, name);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(stream.normal());
  return values;
}

AdamUpdate usual_update() {
  AdamUpdate update;
  update.learning_rate = 1e-3f;
  update.beta1 = 0.9f;
  update.beta2 = 0.999f;
  update.eps = 1e-8f;
  update.decay = 0.01f;
  return update;
}

TEST(AdamUpdate, FollowsTheFormulaForSeveralSteps) {
  for (const bool correct : {false, true}) {
    for (const int64_t n : {1, 7, 16, 37}) {
      std::vector<float> w = normals(n, "w"), m(n), v(n);
      std::vector<double> W(w.begin(), w.end()), M(n), V(n);
      for (int step = 1; step <= 5; ++step) {
        const std::vector<float> g = normals(n, "g");
        AdamUpdate update = usual_update();
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

TEST(AdamUpdate, CoupledDecayIsPartOfTheGradient) {
  const int64_t n = 37;
  std::vector<float> w = normals(n, "w"), m(n), v(n), g = normals(n, "g");
  std::vector<float> other = w, first(n), second(n), sum = g;
  for (int64_t i = 0; i < n; ++i) sum[i] = 0.5f * g[i] + 0.1f * w[i];
  AdamUpdate update = usual_update();
  update.decay = 0;
  adam_update(update, n, other.data(), first.data(), second.data(), sum.data());
  update.gradient_scale = 0.5f;
  update.l2 = 0.1f;
  adam_update(update, n, w.data(), m.data(), v.data(), g.data());
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(w[i], other[i], 1e-6);
    EXPECT_NEAR(m[i], first[i], 1e-7);
  }
}

TEST(AdamaxUpdate, FollowsTheFormulaForSeveralSteps) {
  const int64_t n = 21;
  std::vector<float> w = normals(n, "w"), m(n), u(n);
  std::vector<double> W(w.begin(), w.end()), M(n), U(n);
  for (int step = 1; step <= 5; ++step) {
    std::vector<float> g = normals(n, "g");
    for (float& value : g) value /= static_cast<float>(step);  // so that the past counts
    AdamUpdate update = usual_update();
    update.gradient_scale = 0.5f;
    update.l2 = 0.1f;
    update.first_correction = static_cast<float>(1 - std::pow(0.9, step));
    adamax_update(update, n, w.data(), m.data(), u.data(), g.data());
    for (int64_t i = 0; i < n; ++i) {
      const double s = 0.5 * g[i] + 0.1 * W[i];
      M[i] = 0.9 * M[i] + 0.1 * s;
      U[i] = std::max(0.999 * U[i], std::abs(s) + 1e-8);
      W[i] -= 1e-3 * (M[i] / update.first_correction) / U[i];
      ASSERT_NEAR(w[i], W[i], 2e-6 * step) << "step " << step;
    }
  }
}

TEST(SgdUpdate, FollowsTheFormulaForSeveralSteps) {
  for (const float momentum : {0.0f, 0.9f}) {
    const int64_t n = 21;
    std::vector<float> w = normals(n, "w"), b(n);
    std::vector<double> W(w.begin(), w.end()), B(n);
    for (int step = 1; step <= 5; ++step) {
      const std::vector<float> g = normals(n, "g");
      sgd_update({1e-2f, momentum, 0.1f, 0.5f}, n, w.data(), b.data(), g.data());
      for (int64_t i = 0; i < n; ++i) {
        B[i] = momentum * B[i] + 0.5 * g[i] + 0.1 * W[i];
        W[i] -= 1e-2 * B[i];
        ASSERT_NEAR(w[i], W[i], 2e-6 * step) << "step " << step;
      }
    }
  }
}

TEST(OptimizerUpdates, ASpanMayBeCutAnywhere) {
  const int64_t n = 67;
  const std::vector<float> g = normals(n, "g");
  AdamUpdate update = usual_update();
  update.l2 = 0.1f;
  const auto adam = [&](int64_t size, float* w, float* m, float* v, const float* gradient) {
    adam_update(update, size, w, m, v, gradient);
  };
  const auto adamax = [&](int64_t size, float* w, float* m, float* u, const float* gradient) {
    adamax_update(update, size, w, m, u, gradient);
  };
  const auto sgd = [&](int64_t size, float* w, float* b, float*, const float* gradient) {
    sgd_update({1e-2f, 0.9f, 0.1f, 0.5f}, size, w, b, gradient);
  };
  const auto check = [&](const auto& step) {
    std::vector<float> w = normals(n, "w"), m = normals(n, "m"), v(n);
    step(n, w.data(), m.data(), v.data(), g.data());
    for (const int64_t cut : {1, 16, 33}) {
      std::vector<float> x = normals(n, "w"), first = normals(n, "m"), second(n);
      step(cut, x.data(), first.data(), second.data(), g.data());
      step(n - cut, x.data() + cut, first.data() + cut, second.data() + cut, g.data() + cut);
      EXPECT_EQ(x, w);
      EXPECT_EQ(first, m);
      EXPECT_EQ(second, v);
    }
  };
  check(adam);
  check(adamax);
  check(sgd);
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
