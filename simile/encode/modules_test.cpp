// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/modules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simile/core/file.h"
#include "simile/core/threads.h"

namespace simile {
namespace {

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

Matrix<float> read_matrix(const json& rows) {
  Matrix<float> matrix(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i].get<std::vector<float>>();
    std::copy(row.begin(), row.end(), matrix.row(static_cast<int64_t>(i)));
  }
  return matrix;
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
