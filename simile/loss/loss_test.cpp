// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/threads.h"
#include "simile/loss/detail/loss_testing.h"

namespace simile {
namespace {

using Json = nlohmann::json;
using testing::gradient_of;
using testing::largest_difference;

LossOptions options_from(const std::string& text) {
  LossOptions options;
  read_options(parse_config(text, "test.yaml"), options);
  return options;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

torch::Tensor matrix(const Json& rows) {
  std::vector<double> values;
  for (const auto& row : rows) {
    for (const auto& value : row) values.push_back(value);
  }
  const int64_t count = static_cast<int64_t>(rows.size());
  return torch::tensor(values, torch::kFloat64).reshape({count, -1});
}

LossInput golden_input(const Json& c) {
  LossInput input;
  input.left = matrix(c["left"]);
  input.right = matrix(c["right"]);
  for (const auto& negative : c["negatives"]) input.negatives.push_back(matrix(negative));
  input.target = torch::tensor(c["target"].get<std::vector<double>>(), torch::kFloat64);
  input.left_group = torch::tensor(c["left_group"].get<std::vector<int64_t>>());
  input.right_group = torch::tensor(c["right_group"].get<std::vector<int64_t>>());
  return input;
}

TEST(LossGolden, ValuesAndGradientsMatchTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/losses.json");
  const Json cases = Json::parse(file);
  ASSERT_GT(cases.size(), 20u);
  for (const Json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Loss loss(options_from(c["recipe"].dump()));
    LossInput input = golden_input(c);
    const auto leaves = testing::require_gradients(input);
    const torch::Tensor value = loss(input);
    // A trained temperature is a float.
    const double tolerance = loss.parameters().empty() ? 1e-11 : 1e-6;
    EXPECT_NEAR(value.item<double>(), c["loss"].get<double>(), tolerance);
    value.backward();
    EXPECT_LT(largest_difference(gradient_of(leaves[0]), matrix(c["left_gradient"])), tolerance);
    EXPECT_LT(largest_difference(gradient_of(leaves[1]), matrix(c["right_gradient"])), tolerance);
    for (size_t i = 2; i < leaves.size(); ++i) {
      EXPECT_LT(largest_difference(gradient_of(leaves[i]), matrix(c["negative_gradients"][i - 2])),
                tolerance);
    }
    for (const LossParameter& parameter : loss.parameters()) {
      EXPECT_NEAR(parameter.tensor.grad().item<double>(), c["temperature_gradient"].get<double>(),
                  tolerance);
    }
  }
}

TEST(LossTable, IsSortedAndEveryRowIsComplete) {
  std::string previous;
  for (const LossRow& row : loss_table()) {
    EXPECT_LT(previous, row.name);
    previous = row.name;
    for (const char* text : {row.formula, row.paper, row.advice}) {
      EXPECT_GT(std::string(text).size(), 5u) << row.name;
    }
    LossOptions options;
    options.name = row.name;
    EXPECT_EQ(&Loss(options).row(), &row);
    LossInput input = testing::random_input(3, 4, 1);
    const torch::Tensor value = Loss(options)(input);
    EXPECT_EQ(value.dim(), 0) << row.name;
    EXPECT_GE(value.item<double>(), 0.0) << row.name;
  }
}

TEST(LossTable, DocumentationNamesEveryLossAndOption) {
  const std::string text = losses_to_markdown();
  for (const char* part : {"`bsc`", "`combo`", "`mnrl`", "`mse`", "`simcse`", "`triplet`",
                           "`temperature.value`", "`mu`", "`margin`", "`scale`", "FaceNet"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(LossOptionsTest, AreReadByTheNameOfTheLoss) {
  EXPECT_EQ(options_from("mse").name, "mse");
  const LossOptions bsc = options_from("{temperature: 0.05, name: bsc, normalize: none}");
  EXPECT_EQ(bsc.bsc.temperature.value, 0.05);
  EXPECT_EQ(bsc.bsc.normalize, "none");
  const LossOptions combo =
      options_from("{name: combo, mu: 0.9, temperature: {value: 0.07, trainable: true}}");
  EXPECT_EQ(combo.combo.mu, 0.9);
  EXPECT_TRUE(combo.combo.bsc.temperature.trainable);
  LossOptions written = combo;
  LossOptions read = options_from(options_to_json(written));
  EXPECT_EQ(options_to_json(read), options_to_json(written));
}

TEST(LossOptionsTest, OptionsOfAnotherLossAndUnknownNamesAreErrors) {
  EXPECT_NE(error_of([] { options_from("{name: mse, temperature: 0.1}"); }).find("temperature"),
            std::string::npos);
  EXPECT_NE(error_of([] { options_from("{name: mnr}"); }).find("did you mean 'mnrl'"),
            std::string::npos);
  EXPECT_THROW(options_from("{name: bsc, temperature: 0}"), Error);
  LossOptions options;
  options.name = "bcs";
  EXPECT_NE(error_of([&] { Loss loss(options); }).find("did you mean 'bsc'"), std::string::npos);
}

TEST(LossCheck, SaysWhatTheLossNeedsAndWhichLossesFit) {
  const LossData pairs;
  const LossData stars{0, true, 0.0, 5.0};
  const std::string triplet = error_of([&] { check_loss_data(options_from("triplet"), pairs); });
  EXPECT_EQ(triplet,
            "loss 'triplet' needs a negative column; the data has pairs (left, right); map what is "
            "missing or choose a loss that fits: bsc, mnrl, "
            "simcse");
  EXPECT_NE(error_of([&] { check_loss_data(options_from("mse"), pairs); }).find("a score column"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { check_loss_data(options_from("combo"), stars); })
          .find("targets between 0 and 1; the data has pairs (left, right) with targets from 0 "
                "to 5"),
      std::string::npos);
  EXPECT_NE(error_of([&] {
              check_loss_data(options_from("bsc"), LossData{0, true, 0.0, 0.4});
            }).find("above its threshold 0.5"),
            std::string::npos);
}

TEST(LossCheck, WarnsOfDataTheLossDoesNotUse) {
  const LossData graded{2, true, 0.0, 1.0};
  EXPECT_TRUE(check_loss_data(options_from("bsc"), graded).empty());
  EXPECT_EQ(check_loss_data(options_from("mse"), graded).size(), 1u);
  EXPECT_EQ(check_loss_data(options_from("triplet"), graded).size(), 1u);
}

TEST(LossCheck, WarnsOfTemperaturesThatDoNotSuitTheNormalisation) {
  const std::vector<std::pair<std::string, bool>> cases = {
      {"{name: bsc, temperature: 0.1}", false},
      {"{name: bsc, temperature: 1.2}", true},
      {"{name: bsc, temperature: 1.2, normalize: coordinate_range}", false},
      {"{name: combo, temperature: 0.1, normalize: coordinate_l2}", true},
      {"{name: bsc, temperature: 5, normalize: none}", false},
      {"mse", false},
      {"mnrl", false},
  };
  for (const auto& [text, warns] : cases) {
    EXPECT_EQ(!loss_option_warnings(options_from(text)).empty(), warns) << text;
  }
}

TEST(LossState, TrainedTemperatureIsKept) {
  Loss loss(options_from("{name: bsc, temperature: {value: 0.2, trainable: true}}"));
  ASSERT_EQ(loss.parameters().size(), 1u);
  EXPECT_EQ(loss.parameters()[0].learning_rate, 1e-3);
  {
    torch::NoGradGuard guard;
    loss.parameters()[0].tensor.add_(0.5);
  }
  loss.clamp_parameters();
  Loss other(options_from("{name: bsc, temperature: {value: 1, trainable: true}}"));
  other.load_state(loss.state());
  EXPECT_EQ(other.values(), loss.values());
  EXPECT_NEAR(loss.values()[0].second, 0.2 * std::exp(-0.5), 1e-6);
}

TEST(LossState, FixedLossesHaveNoneAndRefuseAnothers) {
  Loss fixed(options_from("{name: bsc, temperature: 0.2}"));
  EXPECT_TRUE(fixed.parameters().empty());
  EXPECT_TRUE(fixed.state().empty());
  fixed.load_state({});
  EXPECT_THROW(fixed.load_state({{"temperature", 1.0}}), Error);
  Loss trained(options_from("{name: bsc, temperature: {value: 1, trainable: true}}"));
  EXPECT_THROW(trained.load_state({}), Error);
  EXPECT_THROW(trained.load_state({{"margin", 1.0}}), Error);
}

TEST(LossState, GroupsAreNeededOnlyToTreatDuplicates) {
  EXPECT_FALSE(Loss(options_from("bsc")).needs_groups());
  EXPECT_FALSE(Loss(options_from("mse")).needs_groups());
  EXPECT_TRUE(Loss(options_from("{name: combo, duplicates: mask}")).needs_groups());
  EXPECT_TRUE(Loss(options_from("{name: mnrl, duplicates: positives}")).needs_groups());
}

// Value and gradients of a batch large enough for ATen to share its work among threads.
std::vector<torch::Tensor> results_with_threads(const std::string& recipe, int threads) {
  const int kept = thread_count();
  set_thread_count(threads);
  LossInput input = testing::random_input(256, 384, 1);
  input.left = input.left.to(torch::kFloat32);
  input.right = input.right.to(torch::kFloat32);
  input.negatives[0] = input.negatives[0].to(torch::kFloat32);
  const auto leaves = testing::require_gradients(input);
  const torch::Tensor value = Loss(options_from(recipe))(input);
  value.backward();
  std::vector<torch::Tensor> results = {value.detach()};
  for (const auto& leaf : leaves) results.push_back(gradient_of(leaf));
  set_thread_count(kept);
  return results;
}

TEST(LossThreads, DoNotChangeTheBits) {
  for (const std::string recipe :
       {"bsc", "{name: bsc, normalize: coordinate_l2, temperature: 1}",
        "{name: bsc, normalize: coordinate_minmax, temperature: 1}", "combo", "mnrl",
        "{name: simcse, hard_negative_weight: 2}", "triplet"}) {
    const auto one = results_with_threads(recipe, 1), two = results_with_threads(recipe, 2);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], two[i])) << recipe;
  }
}

}  // namespace
}  // namespace simile
