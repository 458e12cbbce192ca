// SPDX-License-Identifier: Apache-2.0
#include "simile/train/collapse.h"

#include <gmock/gmock.h>

namespace simile {
namespace {

Matrix<float> rows_of(std::vector<float> values) {
  Matrix<float> rows(static_cast<int64_t>(values.size()) / 2, 2);
  rows.values = std::move(values);
  return rows;
}

TEST(Collapse, TheMeanCosineIsThatOfAllPairs) {
  EXPECT_NEAR(mean_cosine(rows_of({1, 0, 0, 3, -2, 0})), -1.0 / 3, 1e-12);
  EXPECT_NEAR(mean_cosine(rows_of({1, 1, 2, 2})), 1, 1e-12);
  EXPECT_EQ(mean_cosine(rows_of({1, 0})), 0);
}

TEST(Collapse, VectorsAllAlikeAreToldOthersNot) {
  EXPECT_THAT(describe_collapse(rows_of({1, 0, 1, 0.01F, 2, 0.01F})),
              ::testing::HasSubstr("THE MODEL HAS COLLAPSED: 3 different texts"));
  EXPECT_EQ(describe_collapse(rows_of({1, 0, 0, 1})), "");
  EXPECT_EQ(describe_collapse(Matrix<float>()), "");
}

}  // namespace
}  // namespace simile
