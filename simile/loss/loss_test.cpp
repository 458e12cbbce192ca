// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/parallel.h"
#include "simile/loss/bsc.h"
#include "simile/loss/combined.h"
#include "simile/loss/detail/loss_setup_test.h"

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

torch::Tensor matrix(const Json& rows) {
  std::vector<double> values;
  for (const auto& row : rows) {
    for (const auto& value : row) values.push_back(value);
  }
  const int64_t count = static_cast<int64_t>(rows.size());
  return torch::tensor(values, torch::kFloat64).reshape({count, -1});
}

std::vector<torch::Tensor> matrices(const Json& c, const char* name) {
  std::vector<torch::Tensor> list;
  for (const auto& rows : c.value(name, Json::array())) list.push_back(matrix(rows));
  return list;
}

LossInput golden_input(const Json& c) {
  LossInput input;
  input.left = matrix(c["left"]);
  if (c.contains("right")) input.right = matrix(c["right"]);
  input.negatives = matrices(c, "negatives");
  input.target = torch::tensor(c["target"].get<std::vector<double>>(), torch::kFloat64);
  input.left_group = torch::tensor(c["left_group"].get<std::vector<int64_t>>());
  input.right_group = torch::tensor(c["right_group"].get<std::vector<int64_t>>());
  if (c.contains("classes")) {
    input.classes = torch::tensor(c["classes"].get<std::vector<int64_t>>());
  }
  if (c.contains("logits")) input.logits = matrix(c["logits"]);
  if (c.contains("cross_logits")) input.cross_logits = matrix(c["cross_logits"]);
  input.left_teachers = matrices(c, "left_teachers");
  input.right_teachers = matrices(c, "right_teachers");
  return input;
}

// The loss of the case's recipe, with the projection of the case if there is one.
Loss golden_loss(const Json& c) {
  LossSizes sizes;
  if (c.contains("projection")) {
    sizes.teacher = matrix(c["projection"]).size(0);
    sizes.embedding = matrix(c["projection"]).size(1);
  }
  Loss loss(options_from(c["recipe"].dump()), sizes);
  torch::NoGradGuard guard;
  for (const LossParameter& parameter : loss.parameters()) {
    torch::Tensor tensor = parameter.tensor;
    if (parameter.name == "projection") tensor.copy_(matrix(c["projection"]));
  }
  return loss;
}

// The reference's gradients of require_gradients(), in its order.
std::vector<torch::Tensor> golden_gradients(const Json& c) {
  std::vector<torch::Tensor> gradients = {matrix(c["left_gradient"])};
  if (c.contains("right")) gradients.push_back(matrix(c["right_gradient"]));
  for (const auto& rows : c["negative_gradients"]) gradients.push_back(matrix(rows));
  for (const char* name : {"logits_gradient", "cross_logits_gradient"}) {
    if (c.contains(name)) gradients.push_back(matrix(c[name]));
  }
  return gradients;
}

TEST(LossGolden, ValuesAndGradientsMatchTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/losses.json");
  const Json cases = Json::parse(file);
  ASSERT_GT(cases.size(), 80u);
  for (const Json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Loss loss = golden_loss(c);
    LossInput input = golden_input(c);
    const auto leaves = testing::require_gradients(input);
    const torch::Tensor value = loss(input);
    // A trained temperature or projection is of floats.
    const double tolerance = loss.parameters().empty() ? 1e-11 : 1e-6;
    EXPECT_NEAR(value.item<double>(), c["loss"].get<double>(), tolerance);
    value.backward();
    const auto gradients = golden_gradients(c);
    ASSERT_EQ(leaves.size(), gradients.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_LT(largest_difference(gradient_of(leaves[i]), gradients[i]), tolerance) << i;
    }
    for (const LossParameter& parameter : loss.parameters()) {
      const Json& expected = c[parameter.name + "_gradient"];
      const torch::Tensor gradient =
          expected.is_array() ? matrix(expected)
                              : torch::full({1}, expected.get<double>(), torch::kFloat64);
      EXPECT_LT(largest_difference(parameter.tensor.grad(), gradient), tolerance);
    }
  }
}

TEST(LossGolden, HasEveryLoss) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/losses.json");
  std::set<std::string> names;
  for (const Json& c : Json::parse(file)) names.insert(c["recipe"]["name"]);
  for (const LossRow& row : loss_table()) EXPECT_EQ(names.count(row.name), 1u) << row.name;
}

// A batch with all that a loss may need, and no right side if it is for single texts.
LossInput input_for(const LossNeeds& needs) {
  LossInput input = testing::random_input(4, 8, 1);
  if (needs.texts == TextNeed::kSingles) input.right = torch::Tensor();
  input.target = torch::tensor({1.0, 0.0, 0.25, 1.0}, torch::kFloat64);
  if (needs.classes != Requirement::kIgnored)
    input.classes = torch::tensor({0, 1, 1, 0}, torch::kInt64);
  const int64_t outputs = needs.head == HeadNeed::kClasses ? 2 : 1;
  if (needs.head != HeadNeed::kNone) input.logits = input.left.narrow(1, 0, outputs);
  input.left_teachers = {input.left.flip({0})};
  input.right_teachers = {input.left.flip({1})};
  return input;
}

TEST(LossTable, IsSortedAndEveryRowIsComplete) {
  std::string previous;
  for (const LossRow& row : loss_table()) {
    EXPECT_LT(previous, row.name);
    previous = row.name;
    for (const char* text : {row.formula, row.paper, row.advice}) {
      EXPECT_GT(std::string(text).size(), 5u) << row.name;
    }
    const LossOptions options = options_from(row.example);
    EXPECT_EQ(options.name, row.name);
    EXPECT_EQ(&Loss(options).row(), &row);
    const torch::Tensor value = Loss(options)(input_for(row.needs(options)));
    EXPECT_EQ(value.dim(), 0) << row.name;
    EXPECT_TRUE(value.isfinite().item<bool>()) << row.name;
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
  EXPECT_EQ(bsc.get<BscOptions>().temperature.value, 0.05);
  EXPECT_EQ(bsc.get<BscOptions>().normalize, "none");
  const LossOptions combo =
      options_from("{name: combo, mu: 0.9, temperature: {value: 0.07, trainable: true}}");
  EXPECT_EQ(combo.get<ComboOptions>().mu, 0.9);
  EXPECT_TRUE(combo.get<ComboOptions>().bsc.temperature.trainable);
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
  options.name = "bscc";
  EXPECT_NE(error_of([&] { Loss loss(options); }).find("did you mean 'bsc'"), std::string::npos);
}

TEST(LossCheck, SaysWhatTheLossNeedsAndWhichLossesFit) {
  const LossData pairs;
  const LossData stars{0, true, 0.0, 5.0, true};
  const std::string triplet = error_of([&] { check_loss_data(options_from("triplet"), pairs); });
  EXPECT_EQ(triplet,
            "loss 'triplet' needs a negative column; the data has pairs (left, right); map what is "
            "missing or choose a loss that fits: bsc, global_orthogonal, mnrl, rcl_entropy, "
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
  EXPECT_THROW(fixed.load_state({{"temperature", {1.0f}}}), Error);
  Loss trained(options_from("{name: bsc, temperature: {value: 1, trainable: true}}"));
  EXPECT_THROW(trained.load_state({}), Error);
  EXPECT_THROW(trained.load_state({{"margin", {1.0f}}}), Error);
  EXPECT_THROW(trained.load_state({{"temperature", {1.0f, 2.0f}}}), Error);
}

TEST(LossState, ATrainedTemperatureGoesOnInALossOfTheSameName) {
  Loss first(options_from(
      "{name: sum, of: [{name: bsc, temperature: {value: 0.2, trainable: true}}, mse]}"));
  ASSERT_EQ(first.parameters()[0].name, "bsc.temperature");
  {
    torch::NoGradGuard guard;
    first.parameters()[0].tensor.add_(0.5);
  }
  Temperatures trained;
  first.add_temperatures(trained);
  Loss next(options_from("{name: bsc, temperature: {value: 1, trainable: true}}"));
  EXPECT_EQ(next.start_from(trained), 1);
  EXPECT_NEAR(next.values()[0].second, 0.2 * std::exp(-0.5), 1e-6);
  Loss fixed(options_from("{name: bsc, temperature: 0.3}"));
  EXPECT_EQ(fixed.start_from(trained), 0);
  EXPECT_NEAR(fixed.values()[0].second, 0.3, 1e-12);
}

TEST(LossSum, IsTheWeightedSumOfItsLosses) {
  LossInput input = testing::random_input(5, 6);
  input.target = torch::tensor({1.0, 0.0, 0.5, 0.9, 0.7}, torch::kFloat64);
  const auto value = [&](const char* recipe) {
    return Loss(options_from(recipe))(input).item<double>();
  };
  EXPECT_NEAR(value("{name: sum, of: [{name: bsc, weight: 0.25}, {name: mse, weight: 0.75}]}"),
              value("{name: combo, mu: 0.25}"), 1e-12);
  EXPECT_NEAR(value("{name: sum, of: [{name: mse, weight: 3}]}"), 3 * value("mse"), 1e-12);
}

TEST(LossSum, NamesTheParametersOfItsLosses) {
  const Loss loss(
      options_from("{name: sum, of: [{name: bsc, temperature: {value: 0.2, trainable: true}}, mse, "
                   "{name: bsc, temperature: 0.5}]}"));
  EXPECT_EQ(loss.values()[0].first, "bsc 0.temperature");
  EXPECT_EQ(loss.values()[1].first, "bsc 1.temperature");
  EXPECT_EQ(loss.parameters().size(), 1u);
  EXPECT_NE(error_of([] { Loss empty(options_from("{name: sum}")); }).find("has no `of`"),
            std::string::npos);
}

TEST(LossNames, ThoseOfSentenceTransformersAreHintedAt) {
  const std::pair<const char*, const char*> names[] = {
      {"MultipleNegativesRankingLoss", "MultipleNegativesRankingLoss is `loss: mnrl` here"},
      {"cachedmultiplenegativesrankingloss", "CachedMultipleNegativesRankingLoss is `loss: mnrl, "},
      {"OnlineContrastiveLoss", "is `loss: online_contrastive` here"},
      {"CosineSimilarityLoss", "is `loss: mse` here"}};
  for (const auto& [name, hint] : names) {
    EXPECT_THAT(error_of([&, &name = name] { options_from(name); }), ::testing::HasSubstr(hint));
    EXPECT_THAT(error_of([&, &name = name] { find_loss(name); }), ::testing::HasSubstr(hint));
  }
  EXPECT_THAT(error_of([] { find_loss("mnlr"); }), ::testing::HasSubstr("did you mean 'mnrl'?"));
}

TEST(LossState, GroupsAreNeededOnlyToTreatDuplicates) {
  EXPECT_FALSE(Loss(options_from("{name: bsc, duplicates: negatives}")).needs_groups());
  EXPECT_FALSE(Loss(options_from("mse")).needs_groups());
  for (const char* name : {"bsc", "combo", "mnrl", "simcse"}) {
    EXPECT_TRUE(Loss(options_from(name)).needs_groups()) << name;  // by default
  }
  EXPECT_TRUE(Loss(options_from("{name: combo, duplicates: mask}")).needs_groups());
  EXPECT_TRUE(Loss(options_from("{name: mnrl, duplicates: positives}")).needs_groups());
  EXPECT_TRUE(Loss(options_from("{name: sum, of: {name: bsc, duplicates: mask}}")).needs_groups());
}

// Value and gradients of a batch large enough for ATen to share its work among threads.
std::vector<torch::Tensor> results_with_threads(const std::string& recipe, int threads) {
  const int kept = thread_count();
  set_thread_count(threads);
  LossInput input = testing::random_input(256, 384, 1);
  input.left = input.left.to(torch::kFloat32);
  input.right = input.right.to(torch::kFloat32);
  input.negatives[0] = input.negatives[0].to(torch::kFloat32);
  input.target = torch::arange(256).remainder(5).to(torch::kFloat32) / 4;
  input.classes = torch::arange(256).remainder(7);
  input.left_teachers = {input.left.flip({0})};
  input.right_teachers = {input.right.flip({0})};
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
        "{name: simcse, hard_negative_weight: 2}", "triplet", "angle", "contrastive", "cosent",
        "distill", "{name: distill, distance: cosine}", "global_orthogonal", "online_contrastive",
        "pearson", "rcl", "rcl_entropy", "{name: triplet, mining: batch_all}",
        "{name: triplet, mining: batch_semi_hard, distance: cosine}"}) {
    const auto one = results_with_threads(recipe, 1), two = results_with_threads(recipe, 2);
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], two[i])) << recipe;
  }
}

}  // namespace
}  // namespace simile
