// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/model/detail/head_golden_test.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Matrix<float> read_matrix(const json& rows) {
  Matrix<float> matrix;
  if (rows.empty()) return matrix;
  matrix = Matrix<float>(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  matrix.values.clear();
  for (const json& row : rows) {
    for (const json& value : row) matrix.values.push_back(value.get<float>());
  }
  return matrix;
}

template <typename Number>
void expect_near(const Matrix<Number>& actual, const json& rows, const std::string& what) {
  const Matrix<float> expected = read_matrix(rows);
  ASSERT_EQ(actual.rows, expected.rows) << what;
  ASSERT_EQ(actual.cols, expected.cols) << what;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_NEAR(actual.values[i], expected.values[i],
                1e-6 * std::max(1.0f, std::abs(expected.values[i])))
        << what << " " << i;
  }
}

Matrix<float> random_matrix(int64_t rows, int64_t cols, const char* name) {
  Matrix<float> matrix(rows, cols);
  RandomStream stream(1, name);
  for (float& value : matrix.values) value = static_cast<float>(stream.normal());
  return matrix;
}

Matrix<float> rows_of(const Matrix<float>& matrix, int64_t begin, int64_t count) {
  Matrix<float> part(count, matrix.cols);
  std::copy(matrix.row(begin), matrix.row(begin) + count * matrix.cols, part.values.data());
  return part;
}

TEST(HeadGolden, LogitsAndProbabilitiesMatchTheIndependentImplementation) {
  const json golden = golden_heads();
  for (const json& item : golden["heads"]) {
    const HeadSettings settings = read_golden_settings(item);
    const Head head(settings, golden["size"], item["weights"].get<std::vector<float>>());
    const std::string what = settings.kind + " " + settings.input + " " + settings.output;
    const Matrix<float> logits = head.logits(read_matrix(item["u"]), read_matrix(item["v"]));
    expect_near(logits, item["logits"], what);
    expect_near(head_probabilities(settings, logits), item["probabilities"], what);
  }
}

TEST(Head, BatchAndThreadsChangeNoBit) {
  constexpr int64_t kRows = 1100, H = 48;  // more than one chunk
  for (const char* kind : {"l1", "cosine", "concat", "mlp"}) {
    HeadSettings settings;
    settings.name = settings.kind = kind;
    settings.input = "pair";
    settings.layers = 3;
    std::vector<float> weights(static_cast<size_t>(head_parameter_count(settings, H)));
    initialise_head_weights(settings, H, 7, weights.data());
    const Head head(settings, H, weights.data());
    const Matrix<float> u = random_matrix(kRows, H, "u"), v = random_matrix(kRows, H, "v");
    const Matrix<float> expected = head.logits(u, v);
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      EXPECT_EQ(head.logits(u, v).values, expected.values) << kind;
    }
    for (const int64_t row : {0, 63, 64, 1023, 1024, 1099}) {
      EXPECT_EQ(head.logits(rows_of(u, row, 1), rows_of(v, row, 1)).values[0], expected.at(row, 0))
          << kind << " " << row;
    }
  }
  set_thread_count(2);
}

TEST(Head, AViewFollowsItsWeightsAndACopyKeepsThem) {
  HeadSettings settings;
  settings.name = "view";
  std::vector<float> weights = {1, 2, 0};
  const Head view(settings, 2, weights.data()), copy(settings, 2, weights);
  const Matrix<float> u(1, 2, 1.0f);
  weights = {1, 2, 5};
  EXPECT_EQ(view.logits(u).values[0], 8.0f);
  EXPECT_EQ(copy.logits(u).values[0], 3.0f);
  EXPECT_THROW(Head(settings, 2, std::vector<float>(4)), Error);
}

TEST(Head, EmbeddingsOfAnotherShapeAreRefused) {
  HeadSettings settings;
  settings.name = "pair";
  settings.kind = "cosine";
  settings.input = "pair";
  const Head pair(settings, 2, std::vector<float>{1, 0});
  const Matrix<float> one(1, 2, 1.0f), two(2, 2, 1.0f), wide(1, 3, 1.0f);
  EXPECT_NO_THROW(pair.logits(one, one));
  EXPECT_EQ(pair.logits(Matrix<float>(0, 2), Matrix<float>(0, 2)).rows, 0);
  EXPECT_THROW(pair.logits(one), Error);
  EXPECT_THROW(pair.logits(one, two), Error);
  EXPECT_THROW(pair.logits(wide, wide), Error);
  settings.kind = "linear";
  settings.input = "single";
  EXPECT_THROW(Head(settings, 2, std::vector<float>(3)).logits(one, one), Error);
  EXPECT_THROW(head_probabilities(settings, one), Error);
}

TEST(Head, ProbabilitiesStayFiniteForLargeLogits) {
  HeadSettings settings;
  settings.name = "large";
  settings.output = "classes";
  settings.class_names = {"a", "b"};
  Matrix<float> logits(1, 2);
  logits.values = {1000, -1000};
  EXPECT_THAT(head_probabilities(settings, logits).values, testing::ElementsAre(1.0f, 0.0f));
  settings.class_names.clear();
  settings.output = "probability";
  logits = Matrix<float>(1, 1, -1000.0f);
  EXPECT_EQ(head_probabilities(settings, logits).values[0], 0.0f);
}

TEST(ClassScope, IsTheMeanDirectionOfEachClassAndKeepsMostOfDev) {
  // Lengths do not count: class 0 has the mean (1, 0), class 1 (0, 1) and class 2 (-0.8, -0.6).
  const Matrix<float> train =
      read_matrix(json::parse("[[2, 0], [0, 3], [3, 4], [3, -4], [-8, -6]]"));
  // Twenty texts, whose similarities are 1 eighteen times, 0.6 and 0.28.
  Matrix<float> dev(20, 2, 0);
  for (int64_t i = 0; i < 20; ++i) dev.at(i, 1) = static_cast<float>(i + 1);
  dev.row(7)[0] = -0.8f, dev.row(7)[1] = 0.6f;
  dev.row(3)[0] = 0.28f, dev.row(3)[1] = -0.96f;
  const ClassScope scope = choose_class_scope(train, {0, 1, 0, 0, 2}, dev);
  ASSERT_EQ(scope.means.size(), 3u);
  const std::vector<std::vector<float>> means = {{1, 0}, {0, 1}, {-0.8f, -0.6f}};
  for (size_t c = 0; c < 3; ++c) {
    for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(scope.means[c][j], means[c][j], 1e-6) << c << j;
  }
  // The least similar text of twenty, (0.28, -0.96), may be out of scope; the next one is not.
  EXPECT_NEAR(scope.minimum_similarity, 0.6, 1e-6);
  const std::vector<double> similarities =
      scope.similarities(read_matrix(json::parse("[[0, 5], [-8, 6], [0.28, -0.96], [0, 0]]")));
  const std::vector<double> expected = {1, 0.6, 0.352, 0};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(similarities[i], expected[i], 1e-6) << i;
  EXPECT_NEAR(choose_class_scope(train, {0, 1, 0, 0, 2}, rows_of(dev, 3, 5)).minimum_similarity,
              0.352, 1e-6)
      << "of fewer than twenty texts all are kept";
}

TEST(LoadHead, WhatAModelLacksIsToldWithWhatItHas) {
  ModelFolder model;
  model.path = "models/mini";
  const auto expect_error = [&](const std::string& name, const std::string& message) {
    try {
      load_head(model, name);
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  };
  expect_error("mood", "no head 'mood'; it has: none");
  expect_error("", "has no heads");
  model.heads.resize(2);
  model.heads[0].settings.name = "same";
  model.heads[1].settings.name = "tone";
  expect_error("mood", "it has: same, tone");
  expect_error("", "name one: same, tone");
}

using nlohmann::json;

json golden_chains() {
  return json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/modules.json"))["chains"];
}

ModuleSettings read_module(const json& in) {
  ModuleSettings module;
  for (const ModuleKind kind : {ModuleKind::kDense, ModuleKind::kLayerNorm}) {
    if (in["kind"] == module_kind_name(kind)) module.kind = kind;
  }
  module.inputs = in["inputs"];
  module.outputs = in["outputs"];
  module.weights =
      std::make_shared<const std::vector<float>>(in["weights"].get<std::vector<float>>());
  if (module.kind == ModuleKind::kDense) {
    module.activation = in["activation"];
    module.bias = in["bias"];
    module.residual = in["residual"];
    EXPECT_EQ(find_dense_activation(module.activation).torch_name, in["torch_name"]);
  }
  return module;
}

std::vector<ModuleSettings> read_modules(const json& chain) {
  std::vector<ModuleSettings> modules;
  for (const json& module : chain["modules"]) modules.push_back(read_module(module));
  return modules;
}

TEST(ModulesGolden, EveryChainGivesTheVectorsOfTheIndependentImplementation) {
  for (const json& chain : golden_chains()) {
    const Matrix<float> actual = ModuleChain(read_modules(chain))(read_matrix(chain["x"]));
    const Matrix<float> expected = read_matrix(chain["expected"]);
    ASSERT_EQ(actual.cols, expected.cols);
    for (size_t i = 0; i < expected.values.size(); ++i) {
      EXPECT_NEAR(actual.values[i], expected.values[i], 1e-6 * (1 + std::abs(expected.values[i])))
          << chain["modules"].dump().substr(0, 200);
    }
  }
}

TEST(ModulesGolden, EveryActivationHasACase) {
  std::string all = golden_chains().dump();
  for (const DenseActivation& activation : dense_activations()) {
    EXPECT_NE(all.find(activation.torch_name), std::string::npos) << activation.name;
  }
}

TEST(Modules, ARowHasTheSameBitsAloneAndAmongOthersWithAnyThreads) {
  for (const json& chain : golden_chains()) {
    const ModuleChain modules(read_modules(chain));
    const Matrix<float> few = read_matrix(chain["x"]);
    Matrix<float> many(500, few.cols);
    for (int64_t i = 0; i < many.rows; ++i) {
      std::copy_n(few.row(i % few.rows), few.cols, many.row(i));
    }
    set_thread_count(1);
    const Matrix<float> one_thread = modules(many);
    set_thread_count(3);
    EXPECT_EQ(modules(many).values, one_thread.values);
    for (int64_t i = 0; i < few.rows; ++i) {
      Matrix<float> alone(1, few.cols);
      std::copy_n(few.row(i), few.cols, alone.row(0));
      const Matrix<float> out = modules(alone);
      EXPECT_TRUE(std::equal(out.values.begin(), out.values.end(), one_thread.row(i + 490)));
    }
  }
  set_thread_count(2);
}

TEST(Modules, NoModulesChangeNothing) {
  const Matrix<float> rows(2, 3, 1.5f);
  EXPECT_EQ(ModuleChain({})(rows).values, rows.values);
}

}  // namespace
}  // namespace simile
