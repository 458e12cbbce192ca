// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/contrastive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/bfloat_kernels.h"

namespace simile {
namespace {

// Rows of length 1.
std::vector<float> unit_vectors(int64_t rows, int64_t D, const char* name) {
  RandomStream stream(6, name);
  std::vector<float> values(static_cast<size_t>(rows * D));
  for (int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (int64_t j = i * D; j < (i + 1) * D; ++j) {
      values[j] = static_cast<float>(stream.normal());
      squares += double{values[j]} * values[j];
    }
    for (int64_t j = i * D; j < (i + 1) * D; ++j) {
      values[j] /= static_cast<float>(std::sqrt(squares));
    }
  }
  return values;
}

struct Answer {
  std::vector<float> rows, columns, left, right;
  double scale = 0;
};

Answer compute(const ContrastiveInput& input, const std::vector<float>& of_rows,
               const std::vector<float>& of_columns, int times = 1) {
  Answer answer;
  answer.rows.resize(input.rows ? input.m : 0);
  answer.columns.resize(input.columns ? input.m : 0);
  answer.left.resize(input.m * input.D);
  answer.right.resize(input.n * input.D);
  ContrastiveTerms terms(input);
  terms.terms(answer.rows.data(), answer.columns.data());
  for (int i = 0; i < times; ++i) {
    answer.scale = terms.gradients({of_rows.data(), of_columns.data()}, answer.left.data(),
                                   answer.right.data());
  }
  return answer;
}

// The formulas of the header, in double precision.
struct Reference {
  std::vector<double> rows, columns, left, right;
  double scale = 0;

  Reference(const ContrastiveInput& in, const std::vector<float>& of_rows,
            const std::vector<float>& of_columns)
      : left(in.m * in.D), right(in.n * in.D) {
    const auto number = [&](float value) {
      return in.products == ProductType::kFloat ? double{value}
                                                : bfloat16_to_float(float_to_bfloat16(value));
    };
    std::vector<double> x(in.m * in.n);
    for (int64_t i = 0; i < in.m; ++i) {
      for (int64_t j = 0; j < in.n; ++j) {
        for (int64_t d = 0; d < in.D; ++d) {
          x[i * in.n + j] += number(in.left[i * in.D + d]) * number(in.right[j * in.D + d]);
        }
      }
    }
    const auto s = [&](int64_t i, int64_t j) { return in.scale * x[i * in.n + j]; };
    std::vector<double> row_sums(in.m), column_sums(in.m);
    for (int64_t i = 0; i < in.m; ++i) {
      for (int64_t j = 0; j < in.n; ++j) {
        row_sums[i] += std::exp(s(i, j));
        if (j < in.m) column_sums[j] += std::exp(s(i, j));
      }
    }
    for (int64_t i = 0; i < in.m; ++i) {
      if (in.rows) rows.push_back(s(i, i) - std::log(row_sums[i]));
      if (in.columns) columns.push_back(s(i, i) - std::log(column_sums[i]));
    }
    for (int64_t i = 0; i < in.m; ++i) {
      for (int64_t j = 0; j < in.n; ++j) {
        const double own = i == j ? 1 : 0;
        double g = in.rows ? of_rows[i] * (own - std::exp(s(i, j)) / row_sums[i]) : 0;
        if (in.columns && j < in.m) g += of_columns[j] * (own - std::exp(s(i, j)) / column_sums[j]);
        scale += g * x[i * in.n + j];
        for (int64_t d = 0; d < in.D; ++d) {
          left[i * in.D + d] += in.scale * g * in.right[j * in.D + d];
          right[j * in.D + d] += in.scale * g * in.left[i * in.D + d];
        }
      }
    }
  }
};

template <typename Found, typename Expected>
void expect_all_near(const Found& found, const Expected& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

std::vector<ProductType> types_here() {
  if (bfloat_kernels() == nullptr) return {ProductType::kFloat};
  return {ProductType::kFloat, ProductType::kBfloat};
}

std::vector<float> weights_of(int64_t m, const char* name) {
  RandomStream stream(7, name);
  std::vector<float> values(static_cast<size_t>(m));
  for (float& value : values) value = static_cast<float>(stream.normal() / static_cast<double>(m));
  return values;
}

TEST(Contrastive, TermsAndGradientsAreThoseOfTheFormulas) {
  struct Sizes {
    int64_t m, n, D;
  };
  for (const auto& [m, n, D] : std::vector<Sizes>{
           {1, 1, 1}, {1, 3, 5}, {5, 10, 3}, {17, 17, 40}, {127, 129, 8}, {130, 260, 33}}) {
    const auto u = unit_vectors(m, D, "u"), v = unit_vectors(n, D, "v");
    const auto of_rows = weights_of(m, "rows"), of_columns = weights_of(m, "columns");
    for (const ProductType type : types_here()) {
      for (const auto& [rows, columns] :
           std::vector<std::pair<bool, bool>>{{true, true}, {true, false}, {false, true}}) {
        const ContrastiveInput input{m, n, D, u.data(), v.data(), 20.0f, rows, columns, type};
        const Reference expected(input, of_rows, of_columns);
        const Answer found = compute(input, of_rows, of_columns);
        // The gradient of the scores is rounded to 8 bits too before it is multiplied.
        const bool exact = type == ProductType::kFloat;
        const double size = 20.0 / static_cast<double>(m), share = exact ? 1e-5 : 2e-2;
        expect_all_near(found.rows, expected.rows, 2e-5);
        expect_all_near(found.columns, expected.columns, 2e-5);
        expect_all_near(found.left, expected.left, share * size);
        expect_all_near(found.right, expected.right, share * size);
        EXPECT_NEAR(found.scale, expected.scale, exact ? 1e-5 : 2e-2);
      }
    }
  }
}

TEST(Contrastive, ThreadsChangeNoBitAndGradientsCanBeHadAgain) {
  const int64_t m = 300, n = 600, D = 48;
  const auto u = unit_vectors(m, D, "u"), v = unit_vectors(n, D, "v");
  const auto of_rows = weights_of(m, "rows"), of_columns = weights_of(m, "columns");
  const int threads = thread_count();
  for (const ProductType type : types_here()) {
    const ContrastiveInput input{m, n, D, u.data(), v.data(), 30.0f, true, true, type};
    set_thread_count(1);
    const Answer one = compute(input, of_rows, of_columns);
    set_thread_count(3);
    const Answer three = compute(input, of_rows, of_columns, 2);
    set_thread_count(threads);
    EXPECT_EQ(one.rows, three.rows);
    EXPECT_EQ(one.columns, three.columns);
    EXPECT_EQ(one.left, three.left);
    EXPECT_EQ(one.right, three.right);
    EXPECT_EQ(one.scale, three.scale);
  }
}

// The scores are so far apart that e to their power overflows a float.
TEST(Contrastive, LargeScalesStayFinite) {
  const int64_t m = 40, D = 6;
  const auto u = unit_vectors(m, D, "u");
  for (const ProductType type : types_here()) {
    for (const float scale : {1000.0f, 1e6f}) {
      const ContrastiveInput input{m, m, D, u.data(), u.data(), scale, true, true, type};
      const std::vector<float> ones(static_cast<size_t>(m), 1.0f);
      const Answer answer = compute(input, ones, ones);
      for (const auto* values : {&answer.rows, &answer.columns, &answer.left, &answer.right}) {
        for (const float value : *values) ASSERT_TRUE(std::isfinite(value)) << scale;
      }
    }
  }
}

}  // namespace
}  // namespace simile
