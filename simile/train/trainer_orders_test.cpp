// SPDX-License-Identifier: Apache-2.0
// Whole runs under the batch orders: they resume exactly, and train what list_batches() lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "simile/model/safetensors.h"
#include "simile/train/batch_listing.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Interrupter;

const std::vector<std::string> kRunOrders = {"no_duplicates",
                                             "length_bucketed",
                                             "neighbours",
                                             "words",
                                             "{name: clusters, clusters: 5, group_size: 4}",
                                             "{name: neighbour_words, precision: int8}",
                                             "{name: random, labelled_negatives: 2}"};

class TrainerOrdersTest : public testing::RunTest {
 protected:
  // An objective of each order, two steps of each in turn and in a second epoch.
  ConfigNode recipe() const {
    std::string objectives;
    for (const std::string& order : kRunOrders) {
      objectives += fmt::format(
          "      - {{data: {{path: train.tsv, score_scale: 5}}, loss: bsc, batch_size: 30,\n"
          "         order: {}}}\n",
          order);
    }
    write("recipe.yaml", fmt::format(R"(
name: small
architecture: {{layers: 1, hidden: 16, heads: 2, intermediate: 32, positions: 16}}
tokenizer: vocab.txt
max_length: 16
stages:
  - name: first
    epochs: 2
    learning_rate: 1e-3
    objectives:
{})",
                                     objectives));
    return load_config(path("recipe.yaml"));
  }

  std::vector<int32_t> read_numbers(const std::string& name, const std::string& array) const {
    std::set<std::string> states;
    for (const auto& entry : std::filesystem::directory_iterator(path(name + "/states"))) {
      states.insert(entry.path());
    }
    const SafetensorsFile file(*states.rbegin());
    const TensorInfo* tensor = file.find(array);
    if (tensor == nullptr) return {};
    const auto* numbers = reinterpret_cast<const int32_t*>(file.bytes(*tensor).data());
    return {numbers, numbers + tensor->size};
  }
};

TEST_F(TrainerOrdersTest, AnInterruptedRunResumesToTheSameBits) {
  train(recipe(), path("whole"), false, false, silent_events());
  for (const int stop_at : {3, 7, 9, 20}) {
    Interrupter interrupter(stop_at);
    const std::string name = fmt::format("cut{}", stop_at);
    EXPECT_THROW(train(recipe(), path(name), false, false, interrupter), Error);
    train(recipe(), path(name), true, false, silent_events());
    EXPECT_EQ(bytes("whole/model/model.safetensors"), bytes(name + "/model/model.safetensors"));
    EXPECT_EQ(bytes("whole/metrics.jsonl"), bytes(name + "/metrics.jsonl"));
  }
}

TEST_F(TrainerOrdersTest, ListBatchesTellsWhatIsTrained) {
  // All have begun their first epoch; before the first step no weight has moved.
  Interrupter interrupter(static_cast<int>(kRunOrders.size()));
  EXPECT_THROW(train(recipe(), path("run"), false, false, interrupter), Error);
  for (size_t i = 0; i < kRunOrders.size(); ++i) {
    const bool needs_weights = i == 2 || i == 4 || i == 5;  // they have moved by its turn
    if (needs_weights) continue;
    BatchListingOptions options;
    options.objective = std::to_string(i);
    const BatchListing listing = list_batches(recipe(), options, silent_events());
    EXPECT_EQ(listing.examples, 60);
    EXPECT_EQ(join_batches(listing.batches), read_numbers("run", fmt::format("order.{}", i)));
    EXPECT_EQ(batch_sizes(listing.batches), read_numbers("run", fmt::format("batch_sizes.{}", i)));
    EXPECT_FALSE(listing.batches.empty());
  }
}

TEST_F(TrainerOrdersTest, TheFirstEpochOfNeighboursIsListedAsItIsTrained) {
  for (const std::string precision : {"fp32", "int8"}) {
    ConfigNode node = recipe();
    apply_override(node, "stages.0.objectives.0.order={name: neighbours, precision: " + precision +
                             ", group_size: 4}");
    Interrupter interrupter(1);
    EXPECT_THROW(train(node, path(precision), false, false, interrupter), Error);
    const BatchListing listing = list_batches(node, {}, silent_events());
    EXPECT_EQ(join_batches(listing.batches), read_numbers(precision, "order.0"));
  }
}

TEST_F(TrainerOrdersTest, AnOptionOfAnotherOrderIsToldBeforeTheFirstStep) {
  ConfigNode node = recipe();
  apply_override(node, "stages.0.objectives.0.order.shingle=2");
  try {
    train(node, path("bad"), false, false, silent_events());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("train.tsv"),
                                    HasSubstr("the order no_duplicates does not take: shingle")));
  }
}

}  // namespace
}  // namespace simile
