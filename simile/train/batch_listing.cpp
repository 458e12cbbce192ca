// SPDX-License-Identifier: Apache-2.0
#include "simile/train/batch_listing.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/matrix_product.h"
#include "simile/train/objective.h"
#include "simile/train/read_recipe.h"
#include "simile/train/run_data.h"

namespace simile {
namespace {

// The number of the one called `name`, the first where nothing is named.
size_t find_name(const std::vector<std::string>& names, const std::string& name,
                 const std::string& what) {
  if (name.empty()) return 0;
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kUsage, "there is no {} '{}'; the recipe has: {}",
               what, name, fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
}

size_t find_listed_stage(const TrainOptions& options, const std::string& name) {
  std::vector<std::string> names, numbers;
  for (const StageOptions& stage : options.stages) {
    names.push_back(stage.name);
    numbers.push_back(std::to_string(numbers.size()));
  }
  if (std::count(numbers.begin(), numbers.end(), name) > 0 &&
      std::count(names.begin(), names.end(), name) == 0) {
    names = numbers;
  }
  return find_name(names, name, "stage");
}

}  // namespace

BatchListing list_batches(const ConfigNode& recipe, const BatchListingOptions& options,
                          EventSink& events) {
  const TrainOptions run = read_recipe(recipe, events);
  SIMILE_CHECK(options.epoch >= 1, ErrorKind::kUsage, "epochs are numbered from 1, found {}",
               options.epoch);
  const size_t number = find_listed_stage(run, options.stage);
  const StageOptions& stage = run.stages[number];
  std::vector<std::string> names;
  for (size_t i = 0; i < stage.objectives.size(); ++i) names.push_back(stage.objective_name(i));
  const size_t chosen =
      find_name(names, options.objective, fmt::format("objective in the stage '{}'", stage.name));
  const ObjectiveOptions& objective = stage.objectives[chosen];
  const OrderRow& order = find_order(objective.order.name);
  SIMILE_CHECK(
      !objective.mine.is_on() || !(objective.mine.as_pairs() || order.has(OrderRow::kNegatives)),
      ErrorKind::kUsage,
      "the objective's examples are mined when its stage begins: only a run knows them; "
      "with mine.method=none the batches of its data are shown");

  const StartModel start = load_start_model(run, events);
  TrainOptions read = run;  // no other objective's data is read
  for (StageOptions& each : read.stages) each.objectives.clear();
  read.stages[number].objectives = {objective};
  read.stages[number].objectives[0].dev = {};
  const ExampleSet set{read_run_data(read, start, events)[number][0].train.examples, {}};
  const EpochPlanner planner(objective, set,
                             order_seed(static_cast<uint64_t>(run.seed), stage, chosen));
  const ProductType products = choose_precision(objective.order.chosen_precision(true));
  const auto embed = [&](const std::vector<std::vector<int32_t>>& texts) {
    const EncoderShape shape = start.settings.encoder.shape();
    return embed_for_order(SentenceEncoder(make_encoder(shape, start.weights.data(), products),
                                           start.settings, start.tokenizer),
                           texts, events);
  };
  BatchListing listing;
  listing.stage = stage.name;
  listing.objective = stage.objective_name(chosen);
  listing.order = objective.order.name;
  listing.file = objective.data.file();
  listing.epoch = options.epoch;
  listing.seed = run.seed;
  listing.examples = set.size();
  listing.batches = planner.plan(options.epoch - 1, embed, events);
  if (options.with_pairs) listing.pairs = read_pairs(objective.data);
  return listing;
}

}  // namespace simile
