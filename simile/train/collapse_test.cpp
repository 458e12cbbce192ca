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

TEST(Collapse, VectorsAllAlikeAreToldOthersNot) {
  EXPECT_THAT(describe_collapse(rows_of({1, 0, 1, 0.01F, 2, 0.01F})),
              ::testing::HasSubstr("THE MODEL HAS COLLAPSED: 3 different texts"));
  EXPECT_EQ(describe_collapse(rows_of({1, 0, 0, 1})), "");
  EXPECT_EQ(describe_collapse(Matrix<float>()), "");
}

TEST(Collapse, ALossAtItsMarginIsToldWhereDistancesAreNearZero) {
  const Matrix<float> alike = rows_of({1, 0, 1, 0.01F, 1, 0.02F}), apart = rows_of({1, 0, 0, 1});
  TripletOptions options;
  options.mining = "batch_hard";
  EXPECT_THAT(describe_margin("train", options, 0.499, alike),
              ::testing::AllOf(::testing::HasSubstr("stage 'train': THE TRIPLETS HAVE COLLAPSED"),
                               ::testing::HasSubstr("(0.4990 of 0.5)"),
                               ::testing::HasSubstr("take batch_semi_hard or batch_all, a lower")));
  EXPECT_EQ(describe_margin("train", options, 0.499, apart), "");
  EXPECT_EQ(describe_margin("train", options, 0.3, alike), "");
  options.distance = "cosine";
  options.mining = "batch_all";
  EXPECT_THAT(describe_margin("train", options, 0.5, rows_of({1, 0, 5, 0.01F})),
              ::testing::HasSubstr("Take a lower learning_rate"));
  EXPECT_EQ(describe_margin("train", options, 0.5, apart), "");
  // Short vectors are near each other, whatever their directions.
  options.distance = "euclidean";
  EXPECT_NE(describe_margin("train", options, 0.5, rows_of({0.001F, 0, 0, 0.001F})), "");
  EXPECT_EQ(describe_margin("train", options, 0.5, Matrix<float>()), "");
}

}  // namespace
}  // namespace simile
