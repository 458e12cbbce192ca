// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/bsc.h"

#include "simile/core/error.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/loss/detail/loss_setup_test.h"
#include "simile/loss/loss_input.h"

namespace simile {
namespace {

using testing::expect_finite;
using testing::expect_gradients_match;
using testing::largest_difference;
using testing::random_input;
using testing::require_gradients;

torch::Tensor ids(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

// A batch with equal texts on both sides (with equal embeddings) and one labelled negative.
LossInput repeated_input() {
  LossInput input = random_input(5, 3, 1);
  input.left[1] = input.left[0];
  input.right[3] = input.right[2];
  input.left_group = ids({0, 0, 1, 2, 3});
  input.right_group = ids({0, 1, 2, 2, 3});
  input.target = torch::tensor({1.0, 0.0, 1.0, 1.0, 1.0}, torch::kFloat64);
  return input;
}

double value_of(const LossInput& input, const BscOptions& options) {
  return bsc_loss(input, options).item<double>();
}

TEST(Bsc, TwoOrthogonalPairsHaveTheKnownValue) {
  LossInput input;
  input.left = torch::eye(2, torch::kFloat64) * 3.0;
  input.right = torch::eye(2, torch::kFloat64) * 5.0;
  BscOptions options;
  options.temperature.value = 0.5;
  EXPECT_NEAR(value_of(input, options), std::log(1.0 + std::exp(-2.0)), 1e-12);
}

TEST(Bsc, GradientsMatchFiniteDifferences) {
  for (const std::string& normalize : normalization_names()) {
    for (const std::string duplicates : {"positives", "mask", "negatives"}) {
      for (const std::string directions : {"both", "left", "right"}) {
        SCOPED_TRACE(normalize + " " + duplicates + " " + directions);
        LossInput input = repeated_input();
        const auto leaves = require_gradients(input);
        BscOptions options;
        options.temperature.value = 0.7;
        options.normalize = normalize;
        options.duplicates = duplicates;
        options.directions = directions;
        // Equal rows would tie at a column's maximum, where there is no derivative.
        if (is_coordinate_normalization(normalize)) input = random_input(5, 3, 1);
        if (is_coordinate_normalization(normalize)) {
          const LossInput groups = repeated_input();
          input.left_group = groups.left_group;
          input.right_group = groups.right_group;
        }
        expect_gradients_match([&] { return bsc_loss(input, options); }, require_gradients(input));
      }
    }
  }
}

// Pairs 0 and 2 are of one class, 3 and 4 of another.
LossInput classed_input() {
  LossInput input = random_input(5, 3, 1);
  input.classes = ids({7, 1, 7, 2, 2});
  input.target = torch::tensor({1.0, 0.0, 1.0, 1.0, 1.0}, torch::kFloat64);
  return input;
}

TEST(Bsc, PairsOfOneClassAreNoNegativesOfEachOther) {
  // Scores are those of the identity over 0.5: 2 for a pair's own texts, 0 for others.
  LossInput input;
  input.left = torch::eye(3, torch::kFloat64);
  input.right = torch::eye(3, torch::kFloat64);
  input.classes = ids({4, 5, 4});
  BscOptions options;
  options.temperature.value = 0.5;
  const double with_two = std::log(1 + 2 * std::exp(-2.0));
  EXPECT_NEAR(value_of(input, options), with_two, 1e-12) << "negatives is the default";
  options.same_class = "mask";
  const double with_one = std::log(1 + std::exp(-2.0));
  EXPECT_NEAR(value_of(input, options), (with_one + with_two + with_one) / 3, 1e-12);
  input.classes = ids({4, 4, 4});
  EXPECT_NEAR(value_of(input, options), 0, 1e-12) << "nothing is left to tell apart";
  input.classes = ids({1, 2, 3});
  EXPECT_NEAR(value_of(input, options), with_two, 1e-12);
}

TEST(Bsc, AMaskedPairIsAsIfItWereNotThere) {
  LossInput input = classed_input();
  input.negatives.clear();
  BscOptions options;
  options.same_class = "mask";
  options.directions = "left";
  const torch::Tensor scores = bsc_scores(input, options);
  // Pair 1 is a labelled negative: no row, but a column for the others.
  double sum = 0;
  const std::vector<std::pair<int64_t, torch::Tensor>> rows = {{0, ids({0, 1, 3, 4})},
                                                               {2, ids({2, 1, 3, 4})},
                                                               {3, ids({3, 0, 1, 2})},
                                                               {4, ids({4, 0, 1, 2})}};
  for (const auto& [row, columns] : rows) {
    sum -= scores[row].index_select(0, columns).log_softmax(0)[0].item<double>();
  }
  EXPECT_NEAR(value_of(input, options), sum / 5, 1e-12);
}

TEST(Bsc, GradientsMatchFiniteDifferencesWithClasses) {
  for (const std::string duplicates : {"positives", "mask", "negatives"}) {
    for (const std::string directions : {"both", "left", "right"}) {
      SCOPED_TRACE(duplicates + " " + directions);
      LossInput input = classed_input();
      input.left_group = ids({0, 1, 0, 2, 3});
      input.right_group = ids({0, 1, 2, 3, 4});
      BscOptions options;
      options.temperature.value = 0.7;
      options.duplicates = duplicates;
      options.directions = directions;
      options.same_class = "mask";
      expect_gradients_match([&] { return bsc_loss(input, options); }, require_gradients(input));
    }
  }
}

TEST(Bsc, EqualTextsOfOneClassArePositivesWhereDuplicatesAre) {
  LossInput input = classed_input();
  input.negatives.clear();
  input.left_group = ids({0, 1, 0, 2, 3});  // of pairs 0 and 2, which are of one class
  input.right_group = ids({0, 1, 2, 3, 4});
  BscOptions both, positives;
  both.duplicates = positives.duplicates = "positives";
  both.directions = positives.directions = "left";
  both.same_class = "mask";
  input.classes = ids({7, 1, 7, 2, 3});  // no others
  EXPECT_NEAR(value_of(input, both), value_of(input, positives), 1e-12);
}

TEST(Bsc, MaskingAClassNeedsClasses) {
  LossInput input = classed_input();
  input.classes = torch::Tensor();
  BscOptions options;
  options.same_class = "mask";
  EXPECT_THROW(bsc_loss(input, options), Error);
}

TEST(Bsc, GradientOfTheScaleMatchesFiniteDifferences) {
  const LossInput input = random_input(4, 3);
  torch::Tensor scale = torch::full({1}, 3.0, torch::kFloat64);
  scale.requires_grad_(true);
  expect_gradients_match([&] { return bsc_loss(input, BscOptions(), scale[0]); }, {scale});
}

TEST(Bsc, OrderOfTheRowsDoesNotMatter) {
  const LossInput input = repeated_input();
  const torch::Tensor order = ids({3, 0, 4, 2, 1});
  LossInput permuted;
  permuted.left = input.left.index_select(0, order);
  permuted.right = input.right.index_select(0, order);
  permuted.negatives = {input.negatives[0].index_select(0, order)};
  permuted.target = input.target.index_select(0, order);
  permuted.left_group = input.left_group.index_select(0, order);
  permuted.right_group = input.right_group.index_select(0, order);
  for (const std::string duplicates : {"positives", "mask", "negatives"}) {
    BscOptions options;
    options.duplicates = duplicates;
    EXPECT_NEAR(value_of(input, options), value_of(permuted, options), 1e-12) << duplicates;
  }
}

TEST(Bsc, SwappingTheSidesSwapsTheDirections) {
  LossInput input = repeated_input();
  input.negatives.clear();
  LossInput swapped = input;
  std::swap(swapped.left, swapped.right);
  std::swap(swapped.left_group, swapped.right_group);
  for (const std::string duplicates : {"positives", "mask", "negatives"}) {
    BscOptions left, right, both;
    left.duplicates = right.duplicates = both.duplicates = duplicates;
    left.directions = "left";
    right.directions = "right";
    EXPECT_NEAR(value_of(input, left), value_of(swapped, right), 1e-12) << duplicates;
    EXPECT_NEAR(value_of(input, both), value_of(swapped, both), 1e-12) << duplicates;
    const double mean = (value_of(input, left) + value_of(input, right)) / 2;
    EXPECT_NEAR(value_of(input, both), mean, 1e-12) << duplicates;
  }
}

TEST(Bsc, ScalingTheEmbeddingsIsDividingTheTemperature) {
  LossInput input = repeated_input();
  for (const std::string duplicates : {"positives", "mask", "negatives"}) {
    BscOptions options;
    options.normalize = "none";
    options.duplicates = duplicates;
    options.temperature.value = 0.9 / (3.0 * 3.0);
    const double expected = value_of(input, options);
    LossInput scaled = input;
    scaled.left = input.left * 3.0;
    scaled.right = input.right * 3.0;
    scaled.negatives = {input.negatives[0] * 3.0};
    options.temperature.value = 0.9;
    EXPECT_NEAR(value_of(scaled, options), expected, 1e-11) << duplicates;
  }
}

TEST(Bsc, IsMadeOfItsScoresAndTheLossOfScores) {
  const LossInput input = repeated_input();
  for (const std::string duplicates : {"positives", "mask", "negatives"}) {
    BscOptions options;
    options.duplicates = duplicates;
    options.hard_negative_weight = 2.0;
    const torch::Tensor scores = bsc_scores(input, options);
    EXPECT_EQ(scores.sizes(), (std::vector<int64_t>{5, 10}));
    EXPECT_NEAR(
        scores[1][7].item<double>(),
        10 * torch::cosine_similarity(input.left[1], input.negatives[0][2], 0).item<double>(),
        1e-12);
    LossInput others = input;  // embeddings are not looked at
    others.right = torch::Tensor();
    others.left = torch::zeros_like(input.left);
    EXPECT_EQ(bsc_loss_of_scores(scores, others, options).item<double>(), value_of(input, options));
  }
}

// Floats use other code than doubles if only the plain loss is needed.
TEST(Bsc, FloatsHaveTheValueAndGradientsOfTheGeneralWay) {
  for (const std::string& normalize : normalization_names()) {
    for (const std::string directions : {"both", "left", "right"}) {
      for (const std::string divisor : {"batch", "positives"}) {
        for (const int64_t negatives : {0, 1, 2}) {
          SCOPED_TRACE(normalize + " " + directions + " " + divisor);
          BscOptions options;
          options.normalize = normalize;
          options.directions = directions;
          options.divisor = divisor;
          const auto run = [&](bool general, std::vector<torch::Tensor>& gradients) {
            LossInput input = random_input(23, 7, negatives);
            input.target = torch::linspace(0, 1, 23);
            for (auto* part : {&input.left, &input.right}) *part = part->to(torch::kFloat).clone();
            for (auto& part : input.negatives) part = part.to(torch::kFloat).clone();
            const auto leaves = require_gradients(input);
            torch::Tensor scale = torch::full({1}, 4.0, torch::kFloat);
            scale.requires_grad_(true);
            const torch::Tensor loss =
                general ? bsc_loss_of_scores(bsc_scores(input, options, scale[0]), input, options)
                        : bsc_loss(input, options, scale[0]);
            loss.backward();
            for (const auto& leaf : leaves) gradients.push_back(leaf.grad());
            gradients.push_back(scale.grad());
            return loss.item<double>();
          };
          std::vector<torch::Tensor> found, expected;
          EXPECT_NEAR(run(false, found), run(true, expected), 1e-5);
          for (size_t i = 0; i < expected.size(); ++i) {
            EXPECT_LT(largest_difference(found[i], expected[i]),
                      1e-5 * (1.0 + expected[i].abs().max().item<double>()))
                << i;
          }
        }
      }
    }
  }
}

TEST(Bsc, ProductsInBfloatAreNearThoseInFloat) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: not on this processor";
  LossInput input = random_input(50, 20);
  input.left = input.left.to(torch::kFloat);
  input.right = (input.left + 0.5 * input.right).to(torch::kFloat);
  const double exact = value_of(input, BscOptions());
  input.products = ProductType::kBfloat;
  EXPECT_NEAR(value_of(input, BscOptions()), exact, 1e-2 * exact);
  EXPECT_NE(value_of(input, BscOptions()), exact);
}

TEST(Bsc, ScoresOfAnotherShapeAreErrors) {
  const LossInput input = random_input(3, 2);
  EXPECT_THROW(bsc_loss_of_scores(torch::Tensor(), input, BscOptions()), Error);
  for (const auto& shape : std::vector<std::vector<int64_t>>{{3}, {2, 2}, {3, 2}, {3, 4}}) {
    EXPECT_THROW(bsc_loss_of_scores(torch::zeros(shape, torch::kFloat64), input, BscOptions()),
                 Error);
  }
}

TEST(Bsc, PositivesOutsideTheLogarithmAreTheDirectSum) {
  LossInput input = random_input(3, 4);
  input.left_group = ids({0, 0, 1});
  input.right_group = ids({0, 1, 2});
  BscOptions options;
  options.duplicates = "positives";
  options.directions = "left";
  options.temperature.value = 1.0;
  const torch::Tensor scores =
      normalize_embeddings(input.left, "l2").matmul(normalize_embeddings(input.right, "l2").t());
  double sum = 0.0;
  const std::vector<std::vector<int64_t>> positives = {{0, 1}, {0, 1}, {2}};
  for (int64_t i = 0; i < 3; ++i) {
    double z = 0.0;
    for (int64_t j = 0; j < 3; ++j) z += std::exp(scores[i][j].item<double>());
    for (const int64_t p : positives[static_cast<size_t>(i)]) {
      const double share = static_cast<double>(positives[static_cast<size_t>(i)].size());
      sum -= (scores[i][p].item<double>() - std::log(z)) / share;
    }
  }
  EXPECT_NEAR(value_of(input, options), sum / 3, 1e-12);
}

TEST(Bsc, WithoutEqualTextsTheThreeTreatmentsAgree) {
  LossInput input = random_input(4, 3, 2);
  input.left_group = ids({0, 1, 2, 3});
  input.right_group = ids({0, 1, 2, 3});
  BscOptions options;
  const double plain = value_of(input, options);
  for (const std::string duplicates : {"positives", "mask"}) {
    options.duplicates = duplicates;
    EXPECT_NEAR(value_of(input, options), plain, 1e-12) << duplicates;
  }
}

TEST(Bsc, ALabelledNegativeOfTheSameTextStaysANegative) {
  LossInput input = random_input(2, 3);
  input.left[1] = input.left[0];
  input.left_group = ids({0, 0});
  input.right_group = ids({0, 1});
  input.target = torch::tensor({1.0, 0.0}, torch::kFloat64);
  BscOptions options;
  options.directions = "left";
  options.duplicates = "negatives";
  const double plain = value_of(input, options);
  for (const std::string duplicates : {"positives", "mask"}) {
    options.duplicates = duplicates;
    EXPECT_NEAR(value_of(input, options), plain, 1e-12) << duplicates;
  }
}

TEST(Bsc, MaskedDuplicatesLeaveTheDenominator) {
  LossInput input = random_input(2, 3);
  input.left_group = ids({0, 0});
  input.right_group = ids({0, 1});
  BscOptions options;
  EXPECT_NEAR(value_of(input, options), 0.0, 1e-12);  // nothing is left to tell apart
}

TEST(Bsc, QuestionsThatShareAnAnswerAreNoNegativesOfEachOther) {
  LossInput input = random_input(4, 3);
  input.right = input.right[0].unsqueeze(0).repeat({4, 1});
  input.right[3] = random_input(1, 3).right[0];
  input.left_group = ids({0, 1, 2, 3});
  input.right_group = ids({0, 0, 0, 1});
  BscOptions options;
  options.directions = "left";
  const double masked = value_of(input, options);
  options.duplicates = "negatives";
  // Each of three equal answers would push the other two away.
  EXPECT_GT(value_of(input, options), masked);
}

TEST(Bsc, TheDivisorIsTheBatchOrThePositives) {
  LossInput input = random_input(4, 3);
  input.target = torch::tensor({1.0, 0.0, 0.0, 0.6}, torch::kFloat64);
  BscOptions batch, positives;
  positives.divisor = "positives";
  EXPECT_NEAR(4 * value_of(input, batch), 2 * value_of(input, positives), 1e-12);
  batch.threshold = positives.threshold = 0.6;  // not above it: negative
  EXPECT_NEAR(4 * value_of(input, batch), value_of(input, positives), 1e-12);
}

TEST(Bsc, ExtremeBatchesStayFinite) {
  struct Case {
    const char* name;
    std::function<void(LossInput&)> change;
  };
  const std::vector<Case> cases = {
      {"as drawn", [](LossInput&) {}},
      {"one pair",
       [](LossInput& in) {
         in = random_input(1, 3);
         in.left_group = in.right_group = ids({0});
       }},
      {"all labels below the threshold", [](LossInput& in) { in.target = torch::zeros({5}); }},
      {"identical embeddings",
       [](LossInput& in) {
         in.left = in.right = torch::ones({5, 3}, torch::kFloat64);
       }},
      {"zero vectors",
       [](LossInput& in) {
         in.left = in.right = torch::zeros({5, 3}, torch::kFloat64);
       }},
      {"all the same text",
       [](LossInput& in) {
         in.left_group = in.right_group = ids({0, 0, 0, 0, 0});
       }},
      {"large", [](LossInput& in) { in.left = in.left * 1e6; }},
  };
  for (const Case& c : cases) {
    for (const std::string& normalize : normalization_names()) {
      for (const std::string duplicates : {"positives", "mask", "negatives"}) {
        for (const double tau : {kMinimumTemperature, kMaximumTemperature}) {
          SCOPED_TRACE(std::string(c.name) + " " + normalize + " " + duplicates);
          LossInput input = repeated_input();
          c.change(input);
          input.left = input.left.to(torch::kFloat32).clone();
          input.right = input.right.to(torch::kFloat32).clone();
          for (auto& negative : input.negatives) negative = negative.to(torch::kFloat32);
          const auto leaves = require_gradients(input);
          BscOptions options;
          options.temperature.value = tau;
          options.normalize = normalize;
          options.duplicates = duplicates;
          options.divisor = "positives";
          expect_finite([&] { return bsc_loss(input, options); }, leaves);
        }
      }
    }
  }
}

TEST(Bsc, WithoutPositivesTheLossIsZeroWithZeroGradients) {
  LossInput input = random_input(3, 2);
  input.target = torch::zeros({3});
  const auto leaves = require_gradients(input);
  const torch::Tensor loss = bsc_loss(input, BscOptions());
  EXPECT_EQ(loss.item<double>(), 0.0);
  loss.backward();
  for (const auto& leaf : leaves) EXPECT_EQ(leaf.grad().abs().max().item<double>(), 0.0);
}

TEST(Bsc, WithoutGroupsNoDuplicatesAreKnown) {
  const LossInput input = random_input(3, 2);
  BscOptions options;
  const double masked = value_of(input, options);
  options.duplicates = "negatives";
  EXPECT_EQ(masked, value_of(input, options));
  options.duplicates = "positives";
  EXPECT_THROW(bsc_loss(input, options), Error);
}

TEST(Bsc, WrongShapesAreErrors) {
  const LossInput good = random_input(3, 2, 1);
  std::vector<LossInput> bad(6, good);
  bad[0].left = torch::Tensor();
  bad[1].right = torch::zeros({2, 2}, torch::kFloat64);
  bad[2].negatives[0] = torch::zeros({3, 3}, torch::kFloat64);
  bad[3].target = torch::zeros({4});
  bad[4].left_group = ids({0});
  bad[5] = random_input(0, 2);
  for (const LossInput& input : bad) EXPECT_THROW(bsc_loss(input, BscOptions()), Error);
}

TEST(Mnrl, IsTheCrossEntropyOfItsScores) {
  const LossInput input = testing::random_input(4, 3, 1);
  const torch::Tensor right = torch::cat({input.right, input.negatives[0]}, 0);
  const torch::Tensor labels = torch::arange(4);
  MnrlOptions options;
  options.similarity = "dot";
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(input.left.matmul(right.t()), labels).item<double>(),
              1e-12);
  options.similarity = "cosine";
  const torch::Tensor cosines =
      torch::cosine_similarity(input.left.unsqueeze(1), right.unsqueeze(0), 2);
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(20 * cosines, labels).item<double>(), 1e-12);
}

TEST(Mnrl, GradientsMatchFiniteDifferences) {
  for (const std::string similarity : {"cosine", "dot"}) {
    LossInput input = testing::random_input(4, 3, 2);
    MnrlOptions options;
    options.similarity = similarity;
    options.scale = 2.0;
    testing::expect_gradients_match([&] { return mnrl_loss(input, options); },
                                    testing::require_gradients(input));
  }
}

TEST(Mnrl, RowsWithLowTargetsOnlyServeAsNegatives) {
  LossInput input = testing::random_input(2, 3);
  input.target = torch::tensor({1.0, 0.0}, torch::kFloat64);
  LossInput as_column = input;
  for (torch::Tensor* side : {&as_column.left, &as_column.right, &as_column.target}) {
    *side = side->narrow(0, 0, 1);
  }
  as_column.negatives = {input.right.narrow(0, 1, 1)};
  EXPECT_NEAR(2 * mnrl_loss(input, MnrlOptions()).item<double>(),
              mnrl_loss(as_column, MnrlOptions()).item<double>(), 1e-12);
}

TEST(Mnrl, OfAHeadIsTheCrossEntropyOfItsNumbers) {
  LossInput input = testing::random_input(4, 3);
  input.cross_logits = testing::random_input(4, 8).left;
  MnrlOptions options;
  options.similarity = "head";
  const torch::Tensor labels = torch::arange(4);
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(input.cross_logits, labels).item<double>(), 1e-12);
  options.scale = 3.0;
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(),
              torch::cross_entropy_loss(3 * input.cross_logits, labels).item<double>(), 1e-12);
  testing::expect_gradients_match([&] { return mnrl_loss(input, options); },
                                  testing::require_gradients(input));
  input.right = torch::Tensor();  // the head has read the texts
  EXPECT_GT(mnrl_loss(input, options).item<double>(), 0.0);
  input.cross_logits = torch::zeros({4, 6}, torch::kFloat64);
  EXPECT_THROW(mnrl_loss(input, options), Error);
  input.cross_logits = torch::Tensor();
  EXPECT_THROW(mnrl_loss(input, options), Error);
}

TEST(Mnrl, ZeroEmbeddingsStayFinite) {
  LossInput input;
  input.left = torch::zeros({2, 3});
  input.right = torch::zeros({2, 3});
  testing::expect_finite([&] { return mnrl_loss(input, MnrlOptions()); },
                         testing::require_gradients(input));
}

TEST(Mnrl, PairsOfOneClassCanBeLeftOut) {
  LossInput input;
  input.left = torch::eye(3, torch::kFloat64);
  input.right = torch::eye(3, torch::kFloat64);
  input.classes = torch::tensor({4, 5, 4}, torch::kInt64);
  MnrlOptions options;
  options.scale = 2;
  options.same_class = "mask";
  const double with_one = std::log(1 + std::exp(-2.0)), with_two = std::log(1 + 2 * std::exp(-2.0));
  EXPECT_NEAR(mnrl_loss(input, options).item<double>(), (2 * with_one + with_two) / 3, 1e-12);
}

constexpr double kTemperature = 0.05;

torch::Tensor text_ids(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

double simcse_value(const LossInput& input, const SimcseOptions& options = {}) {
  return bsc_loss(input, options.bsc).item<double>();
}

// cos(left i, right or negative j) / τ, [m, m + n·m].
torch::Tensor scores_of(const LossInput& input) {
  std::vector<torch::Tensor> right = {input.right};
  right.insert(right.end(), input.negatives.begin(), input.negatives.end());
  const torch::Tensor columns = torch::cat(right, 0);
  return torch::cosine_similarity(input.left.unsqueeze(1), columns.unsqueeze(0), 2) / kTemperature;
}

double cross_entropy(const torch::Tensor& scores) {
  return torch::cross_entropy_loss(scores, torch::arange(scores.size(0))).item<double>();
}

TEST(Simcse, IsTheCrossEntropyOfCosinesAtTheTemperatureOfThePaper) {
  const LossInput pairs = testing::random_input(5, 4), triples = testing::random_input(5, 4, 1);
  EXPECT_NEAR(simcse_value(pairs), cross_entropy(scores_of(pairs)), 1e-12);
  EXPECT_NEAR(simcse_value(triples), cross_entropy(scores_of(triples)), 1e-12);
  EXPECT_NEAR(simcse_value(triples), mnrl_loss(triples, MnrlOptions()).item<double>(), 1e-12);
}

TEST(Simcse, TheHardNegativeWeightCountsAPairsOwnNegativesSoManyTimes) {
  const LossInput input = testing::random_input(3, 4, 2);
  SimcseOptions options;
  options.bsc.hard_negative_weight = 2.0;
  torch::Tensor scores = scores_of(input).exp();
  torch::Tensor own = torch::zeros({3});
  for (int64_t i = 0; i < 3; ++i) own[i] = scores[i][3 + i] + scores[i][6 + i];
  const torch::Tensor expected =
      -(scores.narrow(1, 0, 3).diagonal() / (scores.sum(1) + own)).log().mean();
  EXPECT_NEAR(simcse_value(input, options), expected.item<double>(), 1e-6);
  options.bsc.hard_negative_weight = 1.0;
  EXPECT_NEAR(simcse_value(input, options), cross_entropy(scores_of(input)), 1e-12);
}

TEST(Simcse, GradientsMatchFiniteDifferences) {
  for (const std::string duplicates : {"negatives", "mask", "positives"}) {
    LossInput input = testing::random_input(4, 3, 1);
    input.left_group = input.right_group = text_ids({0, 1, 0, 2});
    SimcseOptions options;
    options.bsc.temperature.value = 0.5;
    options.bsc.duplicates = duplicates;
    options.bsc.hard_negative_weight = 1.7;
    testing::expect_gradients_match([&] { return bsc_loss(input, options.bsc); },
                                    testing::require_gradients(input));
  }
}

TEST(Simcse, SidesOfTheSameTextsAreNotMaskedAsDuplicatesOfThemselves) {
  LossInput input = testing::random_input(4, 3);
  input.left_group = input.right_group = text_ids({7, 8, 9, 10});
  const double plain = simcse_value(input);
  for (const std::string duplicates : {"mask", "positives"}) {
    SimcseOptions options;
    options.bsc.duplicates = duplicates;
    EXPECT_NEAR(simcse_value(input, options), plain, 1e-12) << duplicates;
  }
}

TEST(Simcse, AMaskedDuplicateIsNoNegativeAndTheDiagonalStaysThePositive) {
  LossInput input = testing::random_input(3, 4);
  input.left_group = input.right_group = text_ids({0, 1, 0});
  SimcseOptions options;
  options.bsc.duplicates = "mask";
  torch::Tensor scores = scores_of(input);
  scores[0][2] = scores[2][0] = -1e9;
  EXPECT_NEAR(simcse_value(input, options), cross_entropy(scores), 1e-12);
}

TEST(Simcse, ZeroEmbeddingsStayFinite) {
  LossInput input;
  input.left = torch::zeros({2, 3});
  input.right = torch::zeros({2, 3});
  input.negatives = {torch::zeros({2, 3})};
  SimcseOptions options;
  options.bsc.hard_negative_weight = 3.0;
  testing::expect_finite([&] { return bsc_loss(input, options.bsc); },
                         testing::require_gradients(input));
}

}  // namespace

}  // namespace simile
