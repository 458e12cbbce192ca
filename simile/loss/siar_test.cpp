// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/siar.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/loss/detail/loss_setup_test.h"

namespace simile {
namespace {

using testing::gradient_of;
using torch::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SmoothOutput logits(const Tensor& values) { return {values, true}; }
SmoothOutput scores(const Tensor& values) { return {values, false}; }

// Two tensors of random numbers that collect gradients.
std::vector<Tensor> random_pair(const std::vector<int64_t>& shape) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{3});
  std::vector<Tensor> pair;
  for (int i = 0; i < 2; ++i) {
    pair.push_back(torch::randn(shape, generator, torch::kFloat64).requires_grad_(true));
  }
  return pair;
}

TEST(Smoothness, OfLogitsIsTheSymmetrisedDivergenceOfTheirSoftmaxes) {
  // (1/2, 1/2) and (3/4, 1/4): the sum of (p - q) log(p / q) is log(3) / 4.
  const Tensor a = torch::zeros({1, 2}, torch::kFloat64);
  const Tensor b = torch::tensor({std::log(3.0), 0.0}, torch::kFloat64).unsqueeze(0);
  EXPECT_NEAR(smoothness_distance(logits(a), logits(b)).item<double>(), std::log(3.0) / 4, 1e-15);

  const auto x = random_pair({4, 5});
  const Tensor p = x[0].log_softmax(1), q = x[1].log_softmax(1);
  const Tensor forward = (p.exp() * (p - q)).sum(1), backward = (q.exp() * (q - p)).sum(1);
  EXPECT_NEAR(smoothness_distance(logits(x[0]), logits(x[1])).item<double>(),
              (forward + backward).mean().item<double>(), 1e-14);
  EXPECT_LT(
      testing::largest_difference(row_divergences(logits(x[0]), logits(x[1])), forward.detach()),
      1e-14);
}

TEST(Smoothness, OfOneLogitIsThatOfBernoulliDistributions) {
  const auto z = random_pair({6, 1});
  const Tensor p = z[0].sigmoid(), q = z[1].sigmoid();
  const Tensor terms = (p - q) * (z[0] - z[1]);  // the logarithm of the odds is the logit
  EXPECT_NEAR(smoothness_distance(logits(z[0]), logits(z[1])).item<double>(),
              terms.mean().item<double>(), 1e-14);
}

TEST(Smoothness, OfScoresIsTheirMeanSquaredDifference) {
  const Tensor a = torch::tensor({1.0, 2.0}), b = torch::tensor({1.5, 0.0});
  EXPECT_DOUBLE_EQ(smoothness_distance(scores(a), scores(b)).item<double>(), (0.25 + 4.0) / 2);
}

TEST(Smoothness, IsZeroForEqualOutputsAndNeverNegative) {
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    auto generator = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{5});
    for (int i = 0; i < 200; ++i) {
      const Tensor a = 10 * torch::randn({3, 4}, generator, torch::kFloat64).to(type);
      const Tensor b = a + 1e-6 * torch::randn({3, 4}, generator, torch::kFloat64).to(type);
      EXPECT_EQ(smoothness_distance(logits(a), logits(a)).item<double>(), 0.0);
      EXPECT_EQ(smoothness_distance(scores(a), scores(a)).item<double>(), 0.0);
      EXPECT_GE(smoothness_distance(logits(a), logits(b)).item<double>(), 0.0);
    }
  }
}

TEST(Smoothness, GradientsMatchFiniteDifferences) {
  for (const int64_t columns : {1, 4}) {
    const auto x = random_pair({3, columns});
    testing::expect_gradients_match([&] { return smoothness_distance(logits(x[0]), logits(x[1])); },
                                    x);
    testing::expect_gradients_match(
        [&] { return row_divergences(logits(x[0]), logits(x[1])).sum(); }, x);
    testing::expect_gradients_match([&] { return smoothness_distance(scores(x[0]), scores(x[1])); },
                                    x);
  }
}

TEST(Smoothness, DetachedSidesGetNoGradient) {
  const auto x = random_pair({3, 4});
  smoothness_distance(logits(x[0]), detached(logits(x[1]))).backward();
  EXPECT_GT(gradient_of(x[0]).abs().max().item<double>(), 0.0);
  EXPECT_FALSE(x[1].grad().defined());
}

TEST(Smoothness, ColumnsOfMinusInfinityAreLeftOut) {
  const auto x = random_pair({3, 4});
  const auto without = [](const Tensor& t) {
    return logits(t.masked_fill(torch::arange(4) == 2, -kInfinity));
  };
  const auto narrowed = [](const Tensor& t) {
    return logits(torch::cat({t.narrow(1, 0, 2), t.narrow(1, 3, 1)}, 1));
  };
  EXPECT_NEAR(smoothness_distance(without(x[0]), without(x[1])).item<double>(),
              smoothness_distance(narrowed(x[0]), narrowed(x[1])).item<double>(), 1e-15);
  testing::expect_gradients_match([&] { return smoothness_distance(without(x[0]), without(x[1])); },
                                  x);
  testing::expect_gradients_match(
      [&] { return row_divergences(without(x[0]), without(x[1])).sum(); }, x);
}

TEST(Smoothness, RowsOfNothingButMinusInfinityCountZero) {
  for (const int64_t columns : {1, 3}) {
    const auto x = random_pair({2, columns});
    const Tensor row = torch::tensor({true, false}).unsqueeze(1);
    const auto without = [&](const Tensor& t) { return logits(t.masked_fill(row, -kInfinity)); };
    const auto kept = [](const Tensor& t) { return logits(t.narrow(0, 1, 1)); };
    EXPECT_NEAR(2 * smoothness_distance(without(x[0]), without(x[1])).item<double>(),
                smoothness_distance(kept(x[0]), kept(x[1])).item<double>(), 1e-15);
    testing::expect_finite([&] { return smoothness_distance(without(x[0]), without(x[1])); }, x);
  }
}

TEST(Smoothness, OfColumnsLeftOutOnOneSideIsInfinite) {
  const auto x = random_pair({3, 4});
  const Tensor without = x[0].masked_fill(torch::arange(4) == 2, -kInfinity);
  EXPECT_EQ(smoothness_distance(logits(without), logits(x[1])).item<double>(), kInfinity);
}

TEST(Smoothness, OfFloatsKeepsSmallDifferences) {
  const auto x = random_pair({8, 30});
  const Tensor a = (20 * x[0].detach()).to(torch::kFloat32);
  const Tensor b = a + 1e-3 * x[1].detach().to(torch::kFloat32);
  const Tensor value = smoothness_distance(logits(a), logits(b));
  const double exact =
      smoothness_distance(logits(a.to(torch::kFloat64)), logits(b.to(torch::kFloat64)))
          .item<double>();
  EXPECT_EQ(value.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(value.item<double>(), exact, 1e-6 * exact);
}

TEST(Smoothness, RefusesOutputsThatDoNotFit) {
  const Tensor a = torch::zeros({3, 4}), b = torch::zeros({4, 3}), c = torch::zeros({3});
  EXPECT_THROW(smoothness_distance(logits(a), logits(b)), Error);
  EXPECT_THROW(smoothness_distance(logits(a), scores(a)), Error);
  EXPECT_THROW(smoothness_distance(logits(c), logits(c)), Error);
  EXPECT_THROW(smoothness_distance(scores(torch::zeros({0})), scores(torch::zeros({0}))), Error);
  EXPECT_THROW(row_divergences(scores(c), scores(c)), Error);
}

TEST(Smoothness, ThreadsDoNotChangeTheBits) {
  const int kept = thread_count();
  std::vector<Tensor> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    const auto x = random_pair({300, 400});
    const Tensor value = smoothness_distance(logits(x[0]), logits(x[1]));
    value.backward();
    results.push_back(torch::cat({value.detach().reshape({1}), gradient_of(x[0]).reshape({-1})}));
  }
  set_thread_count(kept);
  EXPECT_TRUE(torch::equal(results[0], results[1]));
}

SiarResult siar_penalty(const SiarOptions& options, const SmoothOutput& clean,
                        const PerturbedOutput& f, const std::vector<int64_t>& shape, uint64_t seed,
                        uint64_t step) {
  return siar_penalty(options, clean, f, siar_noise(shape, options.noise, seed, step));
}

using Json = nlohmann::json;
using testing::gradient_of;
using testing::largest_difference;
using torch::Tensor;

const std::vector<std::string> kNorms = {"inf", "2", "1"};

Tensor random_rows(int64_t rows, int64_t size, uint64_t seed, double spread = 1.0) {
  auto generator = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  return spread * torch::randn({rows, size}, generator, torch::kFloat64);
}

Tensor lengths(const Tensor& rows, const std::string& norm) {
  const double order = norm == "inf" ? std::numeric_limits<double>::infinity()
                       : norm == "2" ? 2.0
                                     : 1.0;
  return rows.norm(order, {-1});
}

// The model of tools/golden/siar.py: means of tanh(x W) over the tokens of a text, times `head`.
struct Toy {
  std::vector<int64_t> offsets = {0, 2, 5, 7};
  Tensor x = random_rows(7, 4, 1);
  Tensor weight = random_rows(4, 4, 2, 0.6).requires_grad_(true);
  Tensor head = random_rows(4, 3, 3, 1.5).requires_grad_(true);

  SmoothOutput output(const std::string& kind, const Tensor& delta) const {
    const Tensor hidden = (x + delta).matmul(weight).tanh();
    std::vector<Tensor> texts;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      texts.push_back(hidden.narrow(0, offsets[i], offsets[i + 1] - offsets[i]).mean(0));
    }
    const Tensor logits = torch::stack(texts).matmul(head);
    if (kind == "logits") return {logits, true};
    const Tensor first = logits.select(1, 0);
    return kind == "scores" ? SmoothOutput{first, false} : SmoothOutput{first.unsqueeze(1), true};
  }
  SmoothOutput clean(const std::string& kind) const { return output(kind, torch::zeros_like(x)); }
  PerturbedOutput perturbed(const std::string& kind) const {
    return [this, kind](const Tensor& delta, bool) { return output(kind, delta); };
  }
};

SiarOptions large_steps(const std::string& norm = "inf", int64_t steps = 1) {
  SiarOptions options;
  options.weight = 3.0;
  options.steps = steps;
  options.noise = 0.1;
  options.step_size = 0.3;
  options.radius = 0.2;
  options.norm = norm;
  return options;
}

TEST(Ball, ProjectionsAreInsideAndStay) {
  for (const std::string& norm : kNorms) {
    for (const double radius : {0.0, 1e-5, 0.5, 100.0}) {
      const Tensor x = random_rows(50, 7, 4), inside = project_to_ball(x, radius, norm);
      EXPECT_LE(lengths(inside, norm).max().item<double>(), radius + 1e-12) << norm;
      EXPECT_LT(largest_difference(project_to_ball(inside, radius, norm), inside), 1e-15) << norm;
    }
    const Tensor x = random_rows(5, 7, 4);
    EXPECT_TRUE(torch::equal(project_to_ball(x, 100.0, norm), x)) << norm;
    EXPECT_TRUE(project_to_ball(torch::zeros({2, 3}), 0.0, norm).isfinite().all().item<bool>());
  }
}

TEST(Ball, ProjectionsAreTheNearestPoints) {
  // y is nearest to x in a convex set when (x - y)·(z - y) <= 0 for every z of the set.
  for (const std::string& norm : kNorms) {
    const double radius = 0.7;
    const Tensor x = random_rows(40, 6, 5), y = project_to_ball(x, radius, norm);
    for (uint64_t seed = 6; seed < 16; ++seed) {
      const Tensor z = random_rows(40, 6, seed);
      const Tensor inside = radius * z / lengths(z, norm).unsqueeze(1);
      EXPECT_LE(((x - y) * (inside - y)).sum(1).max().item<double>(), 1e-12) << norm;
    }
  }
}

// The threshold that shortens the sizes of `row` to `radius` in sum, by bisection.
double bisected_threshold(const Tensor& row, double radius) {
  double low = 0.0, high = row.abs().max().item<double>();
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    const double left = (row.abs() - middle).clamp_min(0).sum().item<double>();
    (left > radius ? low : high) = middle;
  }
  return high;
}

TEST(Ball, OfTheL1NormMovesEveryNumberByOneThreshold) {
  const double radius = 1.3;
  const Tensor x = random_rows(10, 8, 7), y = project_to_ball(x, radius, "1");
  for (int64_t i = 0; i < x.size(0); ++i) {
    const double threshold = bisected_threshold(x[i], radius);
    EXPECT_LT(largest_difference(y[i], x[i].sign() * (x[i].abs() - threshold).clamp_min(0)), 1e-12);
  }
  const Tensor ties = torch::tensor({{1.0, -1.0, 1.0, 0.0}}, torch::kFloat64);
  EXPECT_LT(largest_difference(project_to_ball(ties, 0.6, "1"), 0.2 * ties), 1e-15);
}

TEST(SiarNoise, IsTheNamedStreamForAnyNumberOfThreads) {
  const int kept = thread_count();
  set_thread_count(1);
  const Tensor one = siar_noise({100, 90}, 0.5, 7, 3);
  set_thread_count(2);
  const Tensor two = siar_noise({100, 90}, 0.5, 7, 3);
  set_thread_count(kept);
  EXPECT_TRUE(torch::equal(one, two));
  RandomStream stream(7, "siar", 3);
  const double* const numbers = one.data_ptr<double>();
  for (int64_t i = 0; i < one.numel(); ++i) ASSERT_EQ(numbers[i], 0.5 * stream.normal()) << i;
  EXPECT_NEAR(one.std().item<double>(), 0.5, 0.02);
  EXPECT_TRUE(torch::equal(one.slice(0, 30, 80), siar_noise({50, 90}, 0.5, 7, 3, 30 * 90)));
  EXPECT_FALSE(torch::equal(one, siar_noise({100, 90}, 0.5, 7, 4)));
  EXPECT_FALSE(torch::equal(one, siar_noise({100, 90}, 0.5, 8, 3)));
}

TEST(Siar, PerturbationsStayInTheBallOfEachToken) {
  const Toy toy;
  for (const std::string& norm : kNorms) {
    for (const int64_t steps : {1, 2, 3}) {
      const SiarOptions options = large_steps(norm, steps);
      const SiarResult result = siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"),
                                             {7, 4}, /*seed=*/1, /*step=*/2);
      ASSERT_FALSE(result.skipped);
      EXPECT_FALSE(result.perturbation.requires_grad());
      const Tensor length = lengths(result.perturbation, norm);
      EXPECT_LE(length.max().item<double>(), options.radius + 1e-12) << norm << steps;
      EXPECT_GT(length.min().item<double>(), 0.0);
      EXPECT_GT(result.penalty.item<double>(), 0.0);
    }
  }
}

TEST(Siar, StepsMakeTheOutputsDifferMore) {
  const Toy toy;
  const Tensor start = random_rows(7, 4, 8, 0.05);
  for (const std::string& norm : kNorms) {
    const SiarOptions options = large_steps(norm, 3);
    const double before =
        smoothness_distance(toy.output("logits", project_to_ball(start, options.radius, norm)),
                            toy.clean("logits"))
            .item<double>();
    const SiarResult result =
        siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), start);
    EXPECT_GT(result.penalty.item<double>(), options.weight * before) << norm;
  }
}

TEST(Siar, PenaltyIsZeroWithoutAPerturbation) {
  const Toy toy;
  SiarOptions no_radius = large_steps();
  no_radius.radius = 0.0;
  SiarOptions no_noise = large_steps();  // no noise, no gradient: no token moves
  no_noise.noise = 0.0;
  for (const std::string& norm : kNorms) {
    for (SiarOptions options : {no_radius, no_noise}) {
      options.norm = norm;
      const SiarResult result =
          siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), {7, 4}, 1, 2);
      ASSERT_FALSE(result.skipped);
      EXPECT_EQ(result.penalty.item<double>(), 0.0);
      EXPECT_EQ(result.perturbation.abs().max().item<double>(), 0.0);
    }
  }
}

TEST(Siar, TokensInTheBallWithoutAGradientDoNotMove) {
  const Toy toy;
  const Tensor start = random_rows(7, 4, 8, 0.01);
  const Tensor used = torch::tensor({1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0}, torch::kFloat64);
  const PerturbedOutput f = [&](const Tensor& delta, bool) {
    return toy.output("logits", delta * used.unsqueeze(1));
  };
  for (const std::string& norm : kNorms) {
    const SiarResult result = siar_penalty(large_steps(norm), toy.clean("logits"), f, start);
    for (const int64_t token : {1, 4}) {
      EXPECT_TRUE(torch::equal(result.perturbation[token], start[token])) << norm;
    }
    EXPECT_FALSE(torch::equal(result.perturbation[0], start[0])) << norm;
  }
}

TEST(Siar, GradientsFlowThroughBothOutputsWithTheConstantPerturbation) {
  for (const std::string kind : {"logits", "bernoulli", "scores"}) {
    const Toy toy;
    const SiarOptions options = large_steps("2", 2);
    const SiarResult result =
        siar_penalty(options, toy.clean(kind), toy.perturbed(kind), {7, 4}, 1, 2);
    result.penalty.backward();
    const Tensor weight = gradient_of(toy.weight).clone(), head = gradient_of(toy.head).clone();
    testing::expect_gradients_match(
        [&] {
          return options.weight *
                 smoothness_distance(toy.output(kind, result.perturbation), toy.clean(kind));
        },
        {toy.weight, toy.head});
    EXPECT_LT(largest_difference(weight, gradient_of(toy.weight)), 1e-14);
    EXPECT_LT(largest_difference(head, gradient_of(toy.head)), 1e-14);
  }
}

TEST(Siar, SearchLeavesNoGradientAndSaysWhatItIsFor) {
  const Toy toy;
  std::vector<bool> purposes;
  std::vector<bool> asks_for_gradient;
  const PerturbedOutput f = [&](const Tensor& delta, bool for_perturbation) {
    purposes.push_back(for_perturbation);
    asks_for_gradient.push_back(delta.requires_grad());
    return toy.output("scores", delta);
  };
  siar_penalty(large_steps("inf", 2), toy.clean("scores"), f, {7, 4}, 1, 2);
  EXPECT_EQ(purposes, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(asks_for_gradient, purposes);
  EXPECT_FALSE(toy.weight.grad().defined());
  EXPECT_FALSE(toy.head.grad().defined());
}

TEST(Siar, IsSkippedWhenAGradientOrThePenaltyIsNotFinite) {
  const Toy toy;
  const Tensor start = random_rows(7, 4, 8, 0.1);
  for (const std::string mode : {"ball", "peer"}) {
    SiarOptions options = large_steps();
    options.mode = mode;
    // Zero times the infinite slope of the root at zero.
    const PerturbedOutput broken_search = [&](const Tensor& delta, bool) {
      const Tensor broken = (delta * 0).sqrt();
      return toy.output("logits", delta + broken);
    };
    const SiarResult search = siar_penalty(options, toy.clean("logits"), broken_search, start);
    EXPECT_TRUE(search.skipped);
    EXPECT_FALSE(search.penalty.defined());
    EXPECT_TRUE(torch::equal(search.perturbation, start));

    const PerturbedOutput broken_end = [&](const Tensor& delta, bool for_perturbation) {
      SmoothOutput output = toy.output("logits", delta);
      if (!for_perturbation) output.values = output.values / 0;
      return output;
    };
    const SiarResult end = siar_penalty(options, toy.clean("logits"), broken_end, start);
    EXPECT_TRUE(end.skipped);
    EXPECT_FALSE(end.penalty.defined());
    EXPECT_TRUE(end.perturbation.isfinite().all().item<bool>());
  }
}

TEST(Siar, IsSkippedWhereAnotherHasAGradientThatIsNotFinite) {
  const Toy toy;
  const Tensor start = random_rows(7, 4, 8, 0.1);
  std::vector<bool> asked;
  const auto penalty = [&](bool others) {
    return siar_penalty(large_steps("inf", 2), toy.clean("logits"), toy.perturbed("logits"), start,
                        [&](bool here) {
                          asked.push_back(here);
                          return here && others;
                        });
  };
  const SiarResult skipped = penalty(false);
  EXPECT_TRUE(skipped.skipped);
  EXPECT_TRUE(torch::equal(skipped.perturbation, start));
  EXPECT_EQ(asked, std::vector<bool>{true});
  EXPECT_FALSE(penalty(true).skipped);
  EXPECT_EQ(asked, std::vector<bool>(3, true));
}

TEST(Siar, PeersRescaleEveryTokenToLengthOne) {
  const Toy toy;
  for (const std::string& norm : kNorms) {
    for (const int64_t steps : {1, 3}) {
      SiarOptions options = large_steps(norm, steps);
      options.mode = "peer";
      const SiarResult result =
          siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), {7, 4}, 1, 2);
      const Tensor length = lengths(result.perturbation, norm);
      EXPECT_LT((length - 1).abs().max().item<double>(), 1e-4) << norm << steps;
    }
  }
}

TEST(Siar, PeersSumRowsAndDifferentiateTheSecondArgumentOnly) {
  const Toy toy;
  SiarOptions options = large_steps();
  options.mode = "peer";
  const SiarResult result =
      siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), {7, 4}, 1, 2);
  const SmoothOutput perturbed = toy.output("logits", result.perturbation);
  EXPECT_NEAR(
      result.penalty.item<double>(),
      options.weight * 3 * smoothness_distance(perturbed, toy.clean("logits")).item<double>(),
      1e-12);
  // The gradient of KL(sg p || q) by the logits of q is q - p, and the other way round.
  const Tensor clean = toy.clean("logits").values;
  const Tensor difference = (perturbed.values.softmax(1) - clean.softmax(1)).detach();
  (options.weight * difference * (perturbed.values - clean)).sum().backward();
  const Tensor expected = gradient_of(toy.weight).clone();
  toy.weight.mutable_grad() = Tensor();
  result.penalty.backward();
  EXPECT_LT(largest_difference(gradient_of(toy.weight), expected), 1e-12);
}

TEST(Siar, FloatsGiveFloatsCloseToDoubles) {
  const Toy toy;
  const Tensor start = random_rows(7, 4, 8, 0.1);
  const auto as_floats = [](const SmoothOutput& output) {
    return SmoothOutput{output.values.to(torch::kFloat32), output.is_logits};
  };
  const PerturbedOutput f = [&](const Tensor& delta, bool) {
    return as_floats(toy.output("logits", delta));
  };
  const SiarOptions options = large_steps();
  const SiarResult exact =
      siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), start);
  const SiarResult result = siar_penalty(options, as_floats(toy.clean("logits")), f, start);
  EXPECT_EQ(result.perturbation.scalar_type(), torch::kFloat32);
  EXPECT_EQ(result.penalty.scalar_type(), torch::kFloat32);
  EXPECT_NEAR(result.penalty.item<double>(), exact.penalty.item<double>(), 1e-5);
}

TEST(Siar, RefusesUnknownNames) {
  const Toy toy;
  SiarOptions options = large_steps("3");
  const auto run = [&] {
    siar_penalty(options, toy.clean("logits"), toy.perturbed("logits"), {7, 4}, 1, 2);
  };
  EXPECT_THROW(run(), Error);
  EXPECT_THROW(project_to_ball(toy.x, 1.0, "l2"), Error);
  options = large_steps();
  options.mode = "smart";
  EXPECT_THROW(run(), Error);
}

TEST(SiarOptionsTest, AreReadAndWritten) {
  SiarOptions options;
  EXPECT_EQ(options.weight, 0.0);
  read_options(parse_config("{norm: 2, weight: 3, mode: peer, bregman: 0.1}", "test.yaml"),
               options);
  EXPECT_EQ(options.norm, "2");
  SiarOptions read;
  read_options(parse_config(options_to_json(options), "run.json"), read);
  EXPECT_EQ(options_to_json(read), options_to_json(options));
  EXPECT_THROW(read_options(parse_config("{norm: 3}", "test.yaml"), options), Error);
  EXPECT_THROW(read_options(parse_config("{steps: 0}", "test.yaml"), options), Error);
}

TEST(SiarGolden, MatchesTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/siar.json");
  const Json golden = Json::parse(file);
  const auto matrix = [](const Json& rows) {
    std::vector<double> values;
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    return torch::tensor(values, torch::kFloat64).reshape({static_cast<int64_t>(rows.size()), -1});
  };
  ASSERT_GT(golden["cases"].size(), 25u);
  for (const Json& c : golden["cases"]) {
    SCOPED_TRACE(c["output"].get<std::string>() + " " + c["options"].dump());
    SiarOptions options;
    read_options(parse_config(c["options"].dump(), "siar.json"), options);
    Toy toy;
    toy.offsets = golden["toy"]["offsets"].get<std::vector<int64_t>>();
    toy.x = matrix(golden["toy"]["x"]);
    toy.weight = matrix(golden["toy"]["weight"]).requires_grad_(true);
    toy.head = matrix(golden["toy"]["head"]).requires_grad_(true);
    const SiarResult result =
        siar_penalty(options, toy.clean(c["output"]), toy.perturbed(c["output"]),
                     options.noise * matrix(golden["toy"]["noise"]));
    ASSERT_FALSE(result.skipped);
    result.penalty.backward();
    const auto expect_equal = [](const Tensor& found, const Tensor& expected) {
      // Relative: the penalty of the papers' perturbations is of the order of 1e-9.
      EXPECT_LT(largest_difference(found, expected), 1e-9 * expected.abs().max().item<double>());
    };
    expect_equal(result.perturbation, matrix(c["perturbation"]));
    expect_equal(result.penalty.detach(),
                 torch::tensor(c["penalty"].get<double>(), torch::kFloat64));
    expect_equal(gradient_of(toy.weight), matrix(c["weight_gradient"]));
    expect_equal(gradient_of(toy.head), matrix(c["head_gradient"]));
  }
}

TEST(Bregman, IsTheDistanceToTheAverageAndMovesTheModelOnly) {
  const Toy toy, average;
  {
    torch::NoGradGuard guard;
    average.weight.add_(0.1);
  }
  SiarOptions options;
  options.bregman = 2.0;
  const Tensor penalty = bregman_penalty(options, toy.clean("logits"), average.clean("logits"));
  EXPECT_NEAR(penalty.item<double>(),
              2 * smoothness_distance(toy.clean("logits"), average.clean("logits")).item<double>(),
              1e-15);
  EXPECT_GT(penalty.item<double>(), 0.0);
  penalty.backward();
  EXPECT_FALSE(average.weight.grad().defined());
  EXPECT_GT(gradient_of(toy.weight).abs().max().item<double>(), 0.0);
  EXPECT_EQ(bregman_penalty(options, toy.clean("logits"), toy.clean("logits")).item<double>(), 0.0);
}

Tensor view(std::vector<float>& numbers) {
  return torch::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size())});
}

TEST(Bregman, AverageFollowsTheWeightsForAnyNumberOfThreads) {
  std::vector<float> weights(100001), start(weights.size());
  RandomStream stream(1, "weights");
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(stream.normal());
    start[i] = static_cast<float>(stream.normal());
  }
  const int kept = thread_count();
  std::vector<std::vector<float>> averages(2, start);
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    update_average(view(averages[threads - 1]), view(weights), 0.9);
  }
  set_thread_count(kept);
  EXPECT_EQ(averages[0], averages[1]);
  for (size_t i = 0; i < weights.size(); ++i) {
    ASSERT_NEAR(averages[0][i], 0.9 * start[i] + 0.1 * weights[i], 1e-6);
  }
  update_average(view(averages[0]), view(weights), 0.0);
  EXPECT_EQ(averages[0], weights);
}

}  // namespace
}  // namespace simile
