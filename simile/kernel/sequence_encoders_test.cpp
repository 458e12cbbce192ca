// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/sequence_encoders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using Json = nlohmann::json;

EncoderShape static_shape(int64_t vocabulary, int64_t hidden) {
  EncoderShape shape;
  shape.averaged = true;
  shape.vocabulary = vocabulary;
  shape.hidden = hidden;
  shape.positions = 1000;
  return shape;
}

PackedBatch pack(const std::vector<std::vector<int32_t>>& sequences) {
  PackedBatch batch;
  batch.offsets = {0};
  for (const auto& sequence : sequences) {
    batch.ids.insert(batch.ids.end(), sequence.begin(), sequence.end());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
  return batch;
}

Json golden() {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/static.json");
  return Json::parse(file);
}

std::vector<float> floats(const Json& json) { return json.get<std::vector<float>>(); }

std::vector<float> average(const EncoderShape& shape, const StaticTable& table,
                           const PackedBatch& batch) {
  std::vector<float> states(static_cast<size_t>(batch.size() * shape.hidden), -7.0f);
  StaticEncoder(shape, table)(batch, states.data());
  return states;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

TEST(StaticEncoder, MeansAndGradientsAreThoseOfTheReference) {
  const Json json = golden();
  const EncoderShape shape = static_shape(json["V"], json["H"]);
  const std::vector<float> table = floats(json["table"]);
  const PackedBatch batch = pack(json["sequences"].get<std::vector<std::vector<int32_t>>>());
  StaticTable rows;
  rows.floats = table.data();
  EXPECT_EQ(StaticEncoder(shape, rows).states(batch), batch.size());
  expect_near(average(shape, rows, batch), floats(json["means"]), 1e-6);

  std::vector<float> gradient(table.size(), 0.0f);
  add_row_gradients(batch, floats(json["upstream"]).data(), shape.hidden,
                    trained_rows(table.data(), shape.vocabulary, shape.hidden), gradient.data());
  expect_near(gradient, floats(json["gradient"]), 1e-6);
}

TEST(StaticEncoder, TablesOfHalvesAndBytesGiveTheMeansOfTheirRows) {
  const EncoderShape shape = static_shape(7, 37);
  RandomStream stream(1, "static");
  std::vector<uint16_t> halves(7 * 37);
  std::vector<int8_t> bytes(7 * 37);
  std::vector<float> scales(7), of_halves, of_bytes;
  for (float& scale : scales) scale = static_cast<float>(0.01 + stream.uniform());
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = float_to_half(static_cast<float>(stream.normal()));
    bytes[i] = static_cast<int8_t>(static_cast<int>(stream.below(255)) - 127);
    of_halves.push_back(half_to_float(halves[i]));
    of_bytes.push_back(static_cast<float>(bytes[i]) * scales[i / 37]);
  }
  const PackedBatch batch = pack({{0, 6, 6, 2}, {}, {5}, {1, 2, 3, 4}});
  StaticTable table, floats_of;
  table.halves = halves.data();
  floats_of.floats = of_halves.data();
  EXPECT_EQ(average(shape, table, batch), average(shape, floats_of, batch));
  table = {};
  table.bytes = bytes.data();
  table.scales = scales.data();
  floats_of.floats = of_bytes.data();
  expect_near(average(shape, table, batch), average(shape, floats_of, batch), 1e-4);
}

TEST(StaticEncoder, BitsDoNotDependOnTheBatchOrTheThreads) {
  const EncoderShape shape = static_shape(50, 200);
  RandomStream stream(2, "threads");
  std::vector<float> table(50 * 200), upstream(300 * 200);
  for (float& value : table) value = static_cast<float>(stream.normal());
  for (float& value : upstream) value = static_cast<float>(stream.normal());
  std::vector<std::vector<int32_t>> sequences(300);
  for (auto& sequence : sequences) {
    sequence.resize(stream.below(20));
    for (int32_t& id : sequence) id = static_cast<int32_t>(stream.below(50));
  }
  const PackedBatch batch = pack(sequences);
  StaticTable rows;
  rows.floats = table.data();
  const int kept = thread_count();
  std::vector<std::vector<float>> states, gradients;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    states.push_back(average(shape, rows, batch));
    gradients.emplace_back(table.size(), 0.0f);
    add_row_gradients(batch, upstream.data(), 200, std::vector<uint8_t>(50, 1),
                      gradients.back().data());
  }
  set_thread_count(kept);
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
  for (size_t i = 0; i < sequences.size(); i += 37) {
    const std::vector<float> alone = average(shape, rows, pack({sequences[i]}));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), states[0].begin() + 200 * i));
  }
}

TEST(StaticEncoder, RowsOfZerosAreNotTrained) {
  std::vector<float> table(4 * 3, 1.0f), gradient(4 * 3, 0.0f);
  std::fill_n(table.begin() + 3, 3, 0.0f);
  table[6] = 0.0f;
  const std::vector<uint8_t> trained = trained_rows(table.data(), 4, 3);
  EXPECT_EQ(trained, (std::vector<uint8_t>{1, 0, 1, 1}));
  const float upstream[] = {2.0f, 4.0f, 6.0f};
  add_row_gradients(pack({{0, 1}}), upstream, 3, trained, gradient.data());
  EXPECT_EQ(gradient, (std::vector<float>{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(StaticEncoder, BatchesThatDoNotFitAreErrors) {
  const EncoderShape shape = static_shape(4, 3);
  const std::vector<float> table(12, 1.0f);
  StaticTable rows;
  rows.floats = table.data();
  std::vector<float> out(30);
  PackedBatch torn = pack({{1}, {2}});
  torn.offsets.back() = 5;
  for (const PackedBatch& batch : {pack({{0, 4}}), pack({{-1}}), torn}) {
    EXPECT_THROW(StaticEncoder(shape, rows)(batch, out.data()), Error);
  }
  StaticEncoder(shape, rows)(PackedBatch(), out.data());
}

}  // namespace
}  // namespace simile
