// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "simile/core/file.h"
#include "simile/core/random.h"
#include "simile/model/model_settings.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// Three sequences of 2, 0 and 1 tokens, H = 2.
const std::vector<float> kHidden = {1, -4, 3, -2, 7, 8};
const std::vector<int32_t> kOffsets = {0, 2, 2, 3};

std::vector<float> pooled(PoolingMode mode) {
  std::vector<float> out(6, 99.0f);
  pool_states({mode}, kHidden.data(), kOffsets, 2, out.data());
  return out;
}

TEST(Pooling, EachModeFollowsItsFormula) {
  EXPECT_THAT(pooled(PoolingMode::kCls), ElementsAre(1, -4, 0, 0, 7, 8));
  EXPECT_THAT(pooled(PoolingMode::kMean), ElementsAre(2, -3, 0, 0, 7, 8));
  EXPECT_THAT(pooled(PoolingMode::kMax), ElementsAre(3, -2, 0, 0, 7, 8));
}

TEST(PoolingGolden, EveryModeAndConcatenationMatchesTheIndependentImplementation) {
  const json golden = json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/modules.json"));
  const int64_t H = golden["H"];
  std::vector<float> hidden;
  std::vector<int32_t> offsets = {0};
  for (const json& row : golden["hidden"]) {
    for (const json& value : row) hidden.push_back(value);
  }
  for (const json& length : golden["lengths"]) {
    offsets.push_back(offsets.back() + length.get<int32_t>());
  }
  for (const json& item : golden["poolings"]) {
    Pooling pooling;
    pooling.modes.clear();
    for (const json& mode : item["modes"]) pooling.modes.push_back(parse_pooling_mode(mode));
    const int64_t size = H * static_cast<int64_t>(pooling.modes.size());
    std::vector<float> out(golden["lengths"].size() * static_cast<size_t>(size), 99.0f);
    pool_states(pooling.modes, hidden.data(), offsets, H, out.data(), item["left_out"]);
    size_t i = 0;
    for (const json& row : item["expected"]) {
      for (const json& value : row) {
        EXPECT_NEAR(out[i++], value.get<double>(), 1e-6) << item["modes"] << item["left_out"];
      }
    }
    EXPECT_EQ(i, out.size());
  }
}

TEST(Pooling, TokensLeftOutMayBeAll) {
  for (const PoolingModeRow& row : pooling_modes()) {
    std::vector<float> out(6, 99.0f);
    pool_states({row.mode}, kHidden.data(), kOffsets, 2, out.data(), 5);
    EXPECT_THAT(out, testing::Each(0.0f)) << row.name;
  }
}

TEST(Pooling, NormalisedRowsHaveLengthOneAndZerosStay) {
  std::vector<float> rows = {3, 4, 0, 0, 1e-20f, 0};
  normalise_rows(rows.data(), 3, 2);
  EXPECT_FLOAT_EQ(rows[0], 0.6f);
  EXPECT_FLOAT_EQ(rows[1], 0.8f);
  EXPECT_EQ(rows[2], 0.0f);
  EXPECT_FLOAT_EQ(rows[4], 1.0f);
}

TEST(Pooling, NormalisingAgainChangesNoBit) {
  RandomStream stream(1, "normalise");
  for (const int64_t D : {1, 2, 3, 384}) {
    std::vector<float> rows(static_cast<size_t>(500 * D));
    for (float& value : rows) value = static_cast<float>(stream.normal());
    normalise_rows(rows.data(), 500, D);
    const std::vector<float> once = rows;
    normalise_rows(rows.data(), 500, D);
    EXPECT_EQ(rows, once);
  }
}

}  // namespace
}  // namespace simile
