// SPDX-License-Identifier: Apache-2.0
// Whole runs in several processes, which are threads here: equal to one with the whole batch.
#include "simile/train/shared_training.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simile/core/parallel.h"
#include "simile/report/run_folder.h"
#include "simile/train/detail/process_test.h"
#include "simile/train/detail/run_test.h"
#include "simile/train/train_options.h"
#include "simile/train/train_state.h"
#include "simile/train/trainer.h"

namespace simile {
namespace {

using testing::as_processes;
using ::testing::HasSubstr;
using testing::Interrupter;

// 60 pairs in batches of 16: the last has 12.
constexpr const char* kSharedRecipe = R"(
name: shared
architecture: {layers: 2, hidden: 16, heads: 2, intermediate: 32, positions: 16}
tokenizer: vocab.txt
max_length: 16
hidden_dropout: 0.1
attention_dropout: 0.1
drop_head: 0.1
stages:
  objectives:
    data: {path: train.tsv, score_scale: 5}
    loss: {name: bsc, temperature: {value: 0.1, trainable: true}}
    batch_size: 16
  epochs: 1
  learning_rate: 1e-2
  optimizer: {name: sgd}
evaluations: {name: dev, task: sts, data: dev.tsv}
baselines: []
)";

class SharedTrainingTest : public testing::RunTest {
 protected:
  SharedTrainingTest() {
    std::string triples = "sentence1\tsentence2\tnegative\tscore\n", classes = "sentence\tlabel\n";
    for (int i = 0; i < 60; ++i) {
      triples += fmt::format("w{} w{} w{}\tw{} w{}\tw{}\t5\n", i % 40, i * 7 % 40, i * 3 % 40,
                             i % 40, i * 5 % 40, i * 11 % 40);
      classes += fmt::format("w{} w{}\t{}\n", i % 40, i * 7 % 40, i % 3 == 0 ? "low" : "high");
    }
    write("triples.tsv", triples);
    write("classes.tsv", classes);
  }

  void SetUp() override {
    if (!ProcessGroup::is_available()) GTEST_SKIP() << "skipped: built without Gloo";
  }

  ConfigNode recipe(const std::vector<std::string>& overrides = {}) const {
    write("recipe.yaml", kSharedRecipe);
    ConfigNode node = load_config(path("recipe.yaml"));
    for (const std::string& assignment : overrides) apply_override(node, assignment);
    return node;
  }

  // Trains in `ranks` processes; `events` is what each gets, null: a silent one.
  void train_in(int64_t ranks, const ConfigNode& node, const std::string& run, bool resume = false,
                const std::function<EventSink*(int64_t rank)>& events = nullptr) const {
    as_processes(ranks, [&](ProcessGroup& group) {
      set_thread_count(1);
      EventSink* const sink = events ? events(group.rank()) : nullptr;
      train(node, path(run), resume, false, sink == nullptr ? silent_events() : *sink, &group);
    });
  }

  void expect_shared(const std::vector<std::string>& overrides,
                     const std::vector<int64_t>& processes = {2, 3}) const {
    const ConfigNode node = recipe(overrides);
    const std::string name = fmt::format("run{}", counter_++);
    train(node, path(name), false, false, silent_events());
    for (const int64_t ranks : processes) {
      SCOPED_TRACE(fmt::format("{} processes", ranks));
      const std::string several = fmt::format("{}-{}", name, ranks);
      train_in(ranks, node, several);
      expect_equal(name, several);
    }
  }

  std::string error_in(int64_t ranks, const std::function<ConfigNode(int64_t rank)>& node_of,
                       ErrorKind kind) const {
    try {
      as_processes(ranks, [&](ProcessGroup& group) {
        train(node_of(group.rank()), path("bad"), false, false, silent_events(), &group);
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "no error";
  }

  mutable int counter_ = 0;
};

using SharedTrainingSlow = SharedTrainingTest;

TEST_F(SharedTrainingTest, TrainsAsInOneProcess) { expect_shared({}); }

TEST_F(SharedTrainingSlow, EveryPairLossTrainsAsInOneProcess) {
  for (const char* loss :
       {"angle", "{name: bsc, temperature: 0.1, normalize: coordinate_l2}",
        "{name: combo, mu: 0.3, temperature: 0.1}", "contrastive", "cosent",
        "{name: sum, of: [global_orthogonal, mse]}",
        "{name: matryoshka, dimensions: [16, 8], of: bsc}", "{name: mnrl, scale: 20}", "mse",
        "online_contrastive", "pearson", "{name: rcl_entropy, phi: 0.01}", "simcse",
        "{name: sum, of: [{name: bsc, weight: 0.5}, mse]}"}) {
    SCOPED_TRACE(loss);
    expect_shared({fmt::format("stages.0.objectives.0.loss={}", loss)});
  }
}

TEST_F(SharedTrainingTest, ExplicitNegativesAreSeenByAll) {
  const std::string data = "stages.0.objectives.0.data={path: " + path("triples.tsv") +
                           ", negatives: [negative], score_scale: 5}";
  for (const char* loss : {"{name: mnrl, scale: 20}", "{name: triplet, margin: 0.5}",
                           "{name: bsc, temperature: 0.1}"}) {
    SCOPED_TRACE(loss);
    expect_shared({data, fmt::format("stages.0.objectives.0.loss={}", loss)});
  }
}

TEST_F(SharedTrainingTest, HeadsTrainAsInOneProcess) {
  expect_shared(
      {"heads=[{name: kind, kind: mlp, input: single, output: classes, class_names: "
       "[low, high], dropout: 0.1}, {name: alike, kind: concat, input: pair, output: "
       "probability}, {name: joint, kind: mlp, input: joint, output: score}]",
       "stages.0.objectives=[{name: kind, data: {path: " + path("classes.tsv") +
           ", format: classes}, loss: softmax_classification, head: kind, "
           "batch_size: 16}, {name: alike, data: {path: " +
           path("train.tsv") +
           ", score_scale: 5}, loss: bce, head: alike, batch_size: 16}, {name: joint, "
           "data: {path: " +
           path("train.tsv") + ", score_scale: 5}, loss: mse, head: joint, batch_size: 16}]",
       "stages.0.head_learning_rate=1e-2"});
}

TEST_F(SharedTrainingTest, AFrozenEncoderTrainsItsHeadAsInOneProcess) {
  expect_shared({"heads={name: alike, kind: concat, input: pair, output: probability}",
                 "stages.0.frozen=true", "stages.0.objectives.0.loss=bce",
                 "stages.0.objectives.0.head=alike"});
}

TEST_F(SharedTrainingTest, TeachersTeachAsInOneProcess) {
  const std::string data = "data: {path: " + path("train.tsv") + ", score_scale: 5}";
  expect_shared({"stages=[{name: first, objectives: {" + data +
                 ", loss: {name: rcl_entropy, phi: 0.05}, batch_size: 16}, epochs: 1, "
                 "learning_rate: 1e-3, optimizer: {name: sgd}}, {name: second, from: start, "
                 "objectives: [{" +
                 data + ", loss: rcl, teachers: [first], batch_size: 16}, {" + data +
                 ", loss: distill, teachers: [first], batch_size: 16}], epochs: 1, "
                 "learning_rate: 1e-3, optimizer: {name: sgd}}]"},
                {2});
}

TEST_F(SharedTrainingTest, ChunksAccumulationAndOtherEnginesTrainAsInOneProcess) {
  expect_shared({"stages.0.objectives.0.chunk_tokens=20", "stages.0.accumulation=2"});
  expect_shared({"engine=torch"});
  expect_shared({"stages.0.optimizer={name: adamw, epsilon: 1e-4}", "stages.0.epochs=2",
                 "stages.0.learning_rate=1e-3"});
  // A last batch of one pair: two texts for three processes.
  expect_shared({"stages.0.objectives.0.batch_size=59"});
}

TEST_F(SharedTrainingTest, UsedRowsOfAStaticTableAreThoseOfAllShares) {
  for (const char* rows : {"all", "used"}) {
    expect_shared(
        {"architecture={family: static, hidden: 24}", "attention_dropout=0", "drop_head=0",
         "stages.0.epochs=2",
         fmt::format("stages.0.optimizer={{name: adamw, rows: {}, epsilon: 1e-4}}", rows)});
  }
}

// A penalty that is no rounding error, and a step that leaves tokens with hardly a gradient, whose
// direction is one, where they are.
TEST_F(SharedTrainingTest, SmoothnessIsThatOfTheWholeBatch) {
  const std::string siar =
      "stages.0.siar={weight: 3, steps: 2, noise: 0.02, step_size: 0.002, radius: 0.02";
  expect_shared({siar + "}"});
  EXPECT_GT(logged("run0", "siar")[0], 1e-3);
  expect_shared({siar + ", norm: '2', bregman: 1}", "stages.0.objectives.0.loss=mse"});
  expect_shared({siar + "}", "heads={name: alike, kind: concat, input: pair, output: probability}",
                 "stages.0.objectives.0.loss=bce", "stages.0.objectives.0.head=alike"},
                {2});
  expect_shared({"stages.0.siar={weight: 0.02, mode: peer, noise: 0.02}"}, {2});
  // A last batch of one pair: two texts for three processes.
  expect_shared({siar + ", bregman: 1}", "stages.0.objectives.0.batch_size=59"}, {3});
}

TEST_F(SharedTrainingTest, OrdersAndMiningOfVectorsAreThoseOfOneProcess) {
  expect_shared({"stages.0.objectives.0.order={name: neighbours, group_size: 4, neighbours: 20}",
                 "stages.0.epochs=2"});
  expect_shared({"stages.0.objectives.0.mine={method: top, count: 2}", "stages.0.epochs=2"});
}

TEST_F(SharedTrainingTest, GoesOnInAnotherNumberOfProcesses) {
  const ConfigNode node =
      recipe({"stages.0.epochs=2", "stages.0.optimizer={name: adamw, epsilon: 1e-4}",
              "stages.0.learning_rate=1e-3",
              "stages.0.objectives.0.order={name: neighbours, group_size: 4, neighbours: 20}"});
  train(node, path("whole"), false, false, silent_events());
  const auto cut = [&](int64_t ranks, const std::string& run) {
    std::vector<Interrupter> interrupters(static_cast<size_t>(ranks), Interrupter(-1));
    interrupters.back() = Interrupter(3);  // of the last rank alone
    const auto interrupter = [&](int64_t rank) { return &interrupters[rank]; };
    try {
      train_in(ranks, node, run, false, interrupter);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInterrupted) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("saved at stage 1 step 4"));
    }
  };
  cut(2, "two");
  train_in(3, node, "two", true);
  expect_equal("whole", "two");
  cut(3, "three");
  train(node, path("three"), true, false, silent_events());
  expect_equal("whole", "three");
}

TEST_F(SharedTrainingTest, GoesOnWithStagesAndMinedNegativesThatWereKept) {
  const std::string data = "data: {path: " + path("train.tsv") + ", score_scale: 5}";
  const std::string rest =
      ", batch_size: 16}, epochs: 1, learning_rate: 1e-3, optimizer: {name: sgd}}";
  const ConfigNode node = recipe(
      {"stages=[{name: first, objectives: {" + data + ", loss: mse" + rest +
       ", {name: second, objectives: {" + data + ", loss: mse, mine: {method: top, count: 2}" +
       rest + ", {name: third, from: first, objectives: {" + data + ", loss: mse" + rest + "]"});
  train(node, path("whole"), false, false, silent_events());
  std::vector<Interrupter> interrupters(2, Interrupter(6));
  EXPECT_THROW(train_in(2, node, "cut", false, [&](int64_t rank) { return &interrupters[rank]; }),
               Error);
  train_in(3, node, "cut", true);
  expect_equal("whole", "cut");
}

TEST_F(SharedTrainingTest, RefusesBeforeTheFirstStepWhatDoesNotFit) {
  const auto same = [&](const std::vector<std::string>& overrides) {
    return [node = recipe(overrides)](int64_t) { return node; };
  };
  EXPECT_THAT(error_in(3, same({"stages.0.objectives.0.batch_size=2"}), ErrorKind::kRecipe),
              HasSubstr("3 processes share each batch, and `batch_size: 2`"));
  const ConfigNode one = recipe(), other = recipe({"seed=2", "max_length=8"});
  EXPECT_THAT(error_in(
                  2, [&](int64_t rank) { return rank == 0 ? one : other; }, ErrorKind::kInput),
              HasSubstr("rank 1 has another recipe than rank 0: seed is 2 there and 1"));
  EXPECT_FALSE(folder_exists(path("bad")));
}

// Reports given gradients as done, and computes nothing.
class ToldEncoder final : public TrainableEncoder {
 public:
  explicit ToldEncoder(const EncoderShape& shape)
      : TrainableEncoder(shape, allocate_encoder_memory(shape, torch::kCPU)) {}
  torch::Tensor forward(const PackedBatch&, const EncoderDropout&, const torch::Tensor&,
                        WeightGradients) override {
    return {};
  }
  torch::Tensor forward_with(const torch::Tensor&, const PackedBatch&,
                             const EncoderDropout&) override {
    return {};
  }
  void watch_gradients(const GradientsDone& done) override { done_ = done; }
  bool tell(int64_t begin, int64_t end) const {
    if (done_) done_(begin, end);
    return static_cast<bool>(done_);
  }

 private:
  GradientsDone done_;
};

// The last of three processes has no text, and so no backward pass.
TEST_F(SharedTrainingTest, SumsOfFinishedLayersBeginAtOnce) {
  as_processes(3, [](ProcessGroup& group) {
    EncoderShape shape;
    shape.layers = 2;
    shape.hidden = 8;
    shape.heads = 2;
    shape.intermediate = 16;
    shape.vocabulary = 10;
    shape.positions = 4;
    ToldEncoder encoder(shape);
    SharedEvents events(silent_events());
    SharedGradients shared({group, events}, &encoder, {});
    int64_t begin = encoder.parameter_count(), end = 0;  // of the last layer
    for (const ParameterSlot& slot : encoder_layout(shape)) {
      if (slot.layer != 1) continue;
      begin = std::min(begin, slot.offset);
      end = slot.offset + slot.size;
    }
    const torch::Tensor& gradients = encoder.gradients();
    for (int step = 0; step < 2; ++step) {
      gradients.fill_(1);
      EXPECT_FALSE(encoder.tell(begin, end));
      if (group.rank() < 2) {
        shared.overlap();
        EXPECT_TRUE(encoder.tell(begin, end));
        group.finish_sums();
        EXPECT_EQ(gradients[begin].item<float>(), 3);
        EXPECT_EQ(gradients[end - 1].item<float>(), 3);
        EXPECT_EQ(gradients[begin - 1].item<float>(), 1);
      }
      shared.note_rows({2, 7});
      shared.add_up();
      torch::Tensor expected = torch::full_like(gradients, 3);
      torch::Tensor table = expected.narrow(0, 0, 10 * 8).view({10, 8});
      table.fill_(1);
      table[2] = table[7] = 3;
      EXPECT_TRUE(torch::equal(gradients, expected));
    }
  });
}

TEST_F(SharedTrainingTest, NamesTheRankThatHasOtherData) {
  as_processes(3, [](ProcessGroup& group) {
    try {
      check_equal(group, "training data", group.rank() == 2 ? "b" : "a");
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr("rank 2 has training data other than rank 0"));
    }
  });
}

}  // namespace
}  // namespace simile
