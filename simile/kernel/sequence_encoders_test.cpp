// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/sequence_encoders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/detail/encoder_fixture_test.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/pooling.h"

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
  add_row_gradients(batch, TokenWeights(shape).of_batch(batch), floats(json["upstream"]).data(),
                    shape.hidden, trained_rows(table.data(), shape.vocabulary, shape.hidden),
                    gradient.data());
  expect_near(gradient, floats(json["gradient"]), 1e-6);
}

TEST(StaticEncoder, WeightedMeansAndGradientsAreThoseOfTheReference) {
  const Json json = golden(), weighted = json["weighted"];
  EncoderShape shape = static_shape(json["V"], json["H"]);
  shape.saturation = weighted["saturation"];
  shape.half_position = weighted["half_position"];
  const std::vector<float> table = floats(json["table"]);
  const PackedBatch batch = pack(json["sequences"].get<std::vector<std::vector<int32_t>>>());
  const std::vector<float> shares = TokenWeights(shape).of_batch(batch);
  expect_near(shares, floats(weighted["shares"]), 1e-7);
  StaticTable rows;
  rows.floats = table.data();
  expect_near(average(shape, rows, batch), floats(weighted["means"]), 1e-6);

  std::vector<float> gradient(table.size(), 0.0f);
  add_row_gradients(batch, shares, floats(json["upstream"]).data(), shape.hidden,
                    trained_rows(table.data(), shape.vocabulary, shape.hidden), gradient.data());
  expect_near(gradient, floats(weighted["gradient"]), 1e-6);
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
    add_row_gradients(batch, TokenWeights(shape).of_batch(batch), upstream.data(), 200,
                      std::vector<uint8_t>(50, 1), gradients.back().data());
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
  add_row_gradients(pack({{0, 1}}), {0.5f, 0.5f}, upstream, 3, trained, gradient.data());
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

using testing::ElementsAre;
using testing::FloatEq;

// A table and a transformer with two poolings, which sees six tokens of a sequence, the last of
// those in any case.
EncoderShape table_and_transformer() {
  EncoderShape transformer = small_shape(2, 32, 4, 48);
  return joined_shape({{static_shape(60, 24), {}, 1.0f, 1000, 1},
                       {transformer, {PoolingMode::kCls, PoolingMode::kMean}, 0.3f, 6, 1}});
}

std::vector<float> states_of(const Encoder& encoder, const PackedBatch& batch) {
  std::vector<float> states(static_cast<size_t>(encoder.states(batch) * encoder.hidden_size()),
                            -7.0f);
  encoder(batch, states.data());
  return states;
}

std::vector<float> encode(const EncoderShape& shape, const std::vector<float>& flat,
                          const PackedBatch& batch) {
  return states_of(*make_encoder(shape, flat.data()), batch);
}

TEST(JoinedEncoder, VectorsAreTheUnitVectorsOfThePartsTimesTheirWeights) {
  const EncoderShape shape = joined_shape(
      {{static_shape(2, 2), {}, 2.0f, 1000, 0}, {static_shape(3, 3), {}, 0.5f, 1000, 0}});
  EXPECT_EQ(shape.hidden, 5);
  EXPECT_EQ(shape.vocabulary, 2);
  EXPECT_EQ(shape.longest_sequence(), 1000);
  // Token 0: (3, 4) and (0, 0, 0); token 1: (0, -2) and (2, 4, 4).
  const std::vector<float> flat = {3, 4, 0, -2, 0, 0, 0, 2, 4, 4, 1, 1, 1};
  const auto encoder = make_encoder(shape, flat.data());
  const PackedBatch batch = pack({{0}, {1}, {}});
  EXPECT_EQ(encoder->states(batch), 3);
  EXPECT_THAT(states_of(*encoder, batch),
              ElementsAre(FloatEq(1.2f), FloatEq(1.6f), 0, 0, 0, 0, -2, FloatEq(1.0f / 6),
                          FloatEq(1.0f / 3), FloatEq(1.0f / 3), 0, 0, 0, 0, 0));
  // The mean of both: (1.5, 1) and (1, 2, 2).
  const std::vector<float> both = states_of(*encoder, pack({{0, 1}}));
  EXPECT_NEAR(both[0], 2 * 1.5 / std::sqrt(3.25), 1e-6);
  EXPECT_NEAR(both[1], 2 * 1.0 / std::sqrt(3.25), 1e-6);
  EXPECT_NEAR(both[4], 0.5 * 2 / 3, 1e-6);
}

TEST(JoinedEncoder, ColumnsHaveTheBitsOfThePartsEncodedApart) {
  const EncoderShape shape = table_and_transformer();
  const std::vector<float> flat = random_parameters(shape, 0.3);
  const PackedBatch batch = pack({{1, 2, 3, 4}, {5}, {9, 8, 7, 6, 5, 4}, {1, 1}});
  const std::vector<float> whole = encode(shape, flat, batch);
  ASSERT_EQ(shape.hidden, 24 + 64);
  const std::vector<int64_t> offsets = part_offsets(shape);
  ASSERT_EQ(offsets.back(), static_cast<int64_t>(flat.size()));
  int64_t column = 0;
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    const EncoderPart& part = shape.parts[i];
    const auto encoder = make_encoder(part.shape, flat.data() + offsets[i]);
    std::vector<float> apart = states_of(*encoder, batch);
    if (!part.pooling.empty()) {
      const std::vector<float> hidden = apart;
      apart.assign(static_cast<size_t>(batch.size() * part.size()), 0.0f);
      pool_states(part.pooling, hidden.data(), batch.offsets, part.shape.hidden, apart.data());
    }
    normalise_rows(apart.data(), batch.size(), part.size());
    for (int64_t b = 0; b < batch.size(); ++b) {
      for (int64_t j = 0; j < part.size(); ++j) {
        EXPECT_EQ(whole[b * shape.hidden + column + j], part.weight * apart[b * part.size() + j]);
      }
    }
    column += part.size();
  }
}

TEST(JoinedEncoder, APartSeesTheBeginningOfALongTextAndWhatClosesIt) {
  const EncoderShape shape = table_and_transformer();
  const PackedBatch batch = pack({{2, 10, 11, 12, 13, 14, 15, 3}, {2, 3}, {}});
  EXPECT_EQ(part_batch(shape.parts[0], batch).ids, batch.ids);
  const PackedBatch seen = part_batch(shape.parts[1], batch);
  EXPECT_THAT(seen.ids, ElementsAre(2, 10, 11, 12, 13, 3, 2, 3));
  EXPECT_THAT(seen.offsets, ElementsAre(0, 6, 8, 8));
  EXPECT_THAT(part_tokens(shape.parts[1], batch), ElementsAre(0, 1, 2, 3, 4, 7, 8, 9));
  EXPECT_EQ(part_tokens(shape.parts[0], batch).size(), 10u);

  const std::vector<float> flat = random_parameters(shape, 0.3);
  const std::vector<float> cut = encode(shape, flat, pack({{2, 10, 11, 12, 13, 14, 15, 3}}));
  const std::vector<float> fits = encode(shape, flat, pack({{2, 10, 11, 12, 13, 3}}));
  EXPECT_TRUE(std::equal(cut.begin() + 24, cut.end(), fits.begin() + 24));
  EXPECT_FALSE(std::equal(cut.begin(), cut.begin() + 24, fits.begin()));
}

TEST(JoinedEncoder, BitsDoNotDependOnTheBatchOrTheThreads) {
  const EncoderShape shape = table_and_transformer();
  const std::vector<float> flat = random_parameters(shape, 0.3);
  RandomStream stream(4, "texts");
  std::vector<std::vector<int32_t>> sequences(200);
  for (auto& sequence : sequences) {
    sequence.resize(1 + stream.below(12));
    for (int32_t& id : sequence) id = static_cast<int32_t>(stream.below(50));
  }
  const int kept = thread_count();
  std::vector<std::vector<float>> states;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    states.push_back(encode(shape, flat, pack(sequences)));
  }
  set_thread_count(kept);
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
  for (size_t i = 0; i < sequences.size(); i += 23) {
    const std::vector<float> alone = encode(shape, flat, pack({sequences[i]}));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                           states[0].begin() + static_cast<int64_t>(i) * shape.hidden));
  }
}

TEST(JoinedEncoder, TheLayoutIsThatOfThePartsOneBehindTheOther) {
  const EncoderShape shape = table_and_transformer();
  const std::vector<ParameterSlot> slots = encoder_layout(shape);
  const std::vector<ParameterSlot> inner = encoder_layout(shape.parts[1].shape);
  ASSERT_EQ(slots.size(), 1 + inner.size());
  EXPECT_EQ(slots[0].name, "parts.0.embeddings.word_embeddings.weight");
  EXPECT_EQ(slots[0].part, 0);
  int64_t next = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(slots[i].offset, next);
    next += slots[i].size;
    if (i == 0) continue;
    EXPECT_EQ(slots[i].name, "parts.1." + inner[i - 1].name);
    EXPECT_EQ(slots[i].shape, inner[i - 1].shape);
    EXPECT_EQ(slots[i].decays, inner[i - 1].decays);
    EXPECT_EQ(slots[i].part, 1);
  }
  EXPECT_EQ(encoder_parameter_count(shape), next);
}

TEST(JoinedEncoder, BatchesThatDoNotFitAreErrors) {
  const EncoderShape shape = table_and_transformer();
  const std::vector<float> flat = random_parameters(shape, 0.3);
  std::vector<float> out(200);
  PackedBatch torn = pack({{1}, {2}});
  torn.offsets.back() = 5;
  const std::vector<int32_t> endless(1001, 1);
  const auto encoder = make_encoder(shape, flat.data());
  // 55 is in the table, but not among the transformer's words.
  for (const PackedBatch& batch : {pack({{0, 55}}), pack({{-1}}), torn, pack({endless})}) {
    EXPECT_THROW((*encoder)(batch, out.data()), Error);
  }
  (*encoder)(PackedBatch(), out.data());
}

TEST(JoinedEncoder, PerturbationsAreOfThePartsWithAttention) {
  EXPECT_EQ(perturbed_size(static_shape(3, 5)), 5);
  const EncoderShape shape = table_and_transformer();
  EXPECT_THAT(perturbed_parts(shape), ElementsAre(1u));
  EXPECT_EQ(perturbed_size(shape), 32);
  const EncoderShape tables =
      joined_shape({{static_shape(2, 2), {}, 1.0f, 9, 0}, {static_shape(2, 3), {}, 1.0f, 9, 0}});
  EXPECT_EQ(perturbed_size(tables), 5);
}

TEST(JoinedEncoder, DropoutOfAPartIsItsOwnAndBeginsWhereItsTokensDo) {
  const EncoderShape shape = table_and_transformer();
  EncoderDropout dropout;
  dropout.hidden = 0.1f;
  dropout.head = 0.2f;
  dropout.key = 5;
  dropout.step = 9;
  dropout.parts.resize(2);
  dropout.parts[0].hidden = 0.5f;
  dropout.parts[1].attention = 0.25f;
  const PackedBatch first = pack({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 2}});
  dropout.origin = origin_after(dropout.origin, shape, first);
  EXPECT_EQ(dropout.origin.token, 12);
  const EncoderDropout table = dropout_of_part(dropout, 0), inner = dropout_of_part(dropout, 1);
  EXPECT_EQ(table.hidden, 0.5f);
  EXPECT_EQ(inner.hidden, 0.0f);
  EXPECT_EQ(inner.attention, 0.25f);
  EXPECT_EQ(inner.head, 0.2f);
  EXPECT_EQ(inner.step, 9u);
  EXPECT_NE(table.key, inner.key);
  EXPECT_EQ(table.origin.token, 12);
  EXPECT_EQ(inner.origin.token, 8);  // six of ten, and two
  EXPECT_EQ(inner.origin.sequence, 2);
  const DropoutOrigin apart =
      origin_after({}, shape.parts[1].shape, part_batch(shape.parts[1], first));
  EXPECT_EQ(inner.origin.attention_byte, apart.attention_byte);
  EXPECT_EQ(dropout_of_part(EncoderDropout(), 1).hidden, 0.0f);
}

}  // namespace
}  // namespace simile
