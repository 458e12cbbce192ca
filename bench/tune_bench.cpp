// SPDX-License-Identifier: Apache-2.0
// How many evaluations a search needs on functions with known minima: medians over seeds, of the
// Gaussian process beside random search and one of evenly spread points.
//   simile_tune_bench [SEEDS [EVALUATIONS]] > tune.md
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "simile/core/parallel.h"
#include "simile/experiment/detail/synthetic_functions_test.h"

namespace simile {
namespace {

using Curves = std::vector<std::vector<double>>;  // [seeds][evaluations]

constexpr int64_t kInitial = 10, kMostRandom = 2000;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Curves search_seeds(const SyntheticFunction& function, const std::string& method, int64_t seeds,
                    int64_t count) {
  Curves curves(static_cast<size_t>(seeds));
  run_parallel(seeds, 1, [&](int64_t i) {
    const ProposalOptions options{method, kInitial, static_cast<uint64_t>(i + 1)};
    curves[static_cast<size_t>(i)] = search_function(function, options, count);
  });
  return curves;
}

double median_regret(const Curves& curves, size_t evaluation, double minimum) {
  std::vector<double> regrets;
  for (const auto& curve : curves) regrets.push_back(curve[evaluation] - minimum);
  return median(regrets);
}

// The first evaluation at which the median over seeds is no higher than `regret`; 0: none.
size_t evaluations_to(const Curves& curves, double regret, double minimum) {
  for (size_t i = 0; i < curves[0].size(); ++i) {
    if (median_regret(curves, i, minimum) <= regret) return i + 1;
  }
  return 0;
}

std::string show_count(size_t count) {
  return count > 0 ? fmt::format("{}", count) : fmt::format("> {}", kMostRandom);
}

void compare(const SyntheticFunction& function, int64_t seeds, int64_t count) {
  const auto begun = std::chrono::steady_clock::now();
  const Curves gp = search_seeds(function, "gp", seeds, count);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  const Curves random = search_seeds(function, "random", seeds, kMostRandom);
  fmt::print(
      "\n## {}\n\n| evaluations | gp, median regret | random, median regret | random needs |\n",
      function.name);
  fmt::print("| --- | --- | --- | --- |\n");
  for (const int64_t at : {10, 15, 20, 23, 30, 40, 50, 75, 100}) {
    if (at > count) break;
    const auto place = static_cast<size_t>(at - 1);
    const double regret = median_regret(gp, place, function.minimum);
    fmt::print("| {} | {:.4g} | {:.4g} | {} |\n", at, regret,
               median_regret(random, place, function.minimum),
               show_count(evaluations_to(random, regret, function.minimum)));
  }
  fmt::print(stderr, "{}: {:.2f} s a search\n", function.name,
             seconds.count() / static_cast<double>(seeds));
}

}  // namespace
}  // namespace simile

int main(int argc, char** argv) {
  const int64_t seeds = argc > 1 ? std::atoll(argv[1]) : 20;
  const int64_t count = argc > 2 ? std::atoll(argv[2]) : 100;
  for (const auto& function :
       {simile::branin_function(), simile::hartmann6_function(), simile::noisy_choice_function()}) {
    simile::compare(function, seeds, count);
  }
}
