// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/experiment/proposal.h"
#include "simile/experiment/recipe_facts.h"
#include "simile/experiment/tuning.h"
#include "simile/model/model_folder.h"
#include "simile/train/evaluations.h"
#include "simile/train/option_rules.h"
#include "simile/train/read_recipe.h"
#include "simile/train/selection.h"
#include "simile/train/start_model.h"

namespace simile {
namespace {

using NodeKind = ConfigNode::Kind;
using Setting = SearchSetting;

constexpr const char* kTune = "tune";
constexpr int64_t kGpIterations = 8, kHalvingTrials = 27;

ConfigNode scalar_like(const ConfigNode& place, const std::string& text) {
  ConfigNode node;
  node.kind = NodeKind::kScalar;
  node.scalar = text;
  node.source = place.source;
  node.line = place.line;
  return node;
}

// A choice as people call it: its text, the name in it, or all of it.
std::string flow_text(const ConfigNode& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case NodeKind::kList:
      for (const ConfigNode& item : node.items) parts.push_back(flow_text(item));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case NodeKind::kMap:
      for (const auto& [key, value] : node.members) parts.push_back(key + ": " + flow_text(value));
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
    default:
      return node.scalar.empty() ? "\"\"" : node.scalar;
  }
}

std::vector<std::string> label_choices(const std::vector<ConfigNode>& choices) {
  std::vector<std::string> labels;
  for (const ConfigNode& choice : choices) {
    const ConfigNode* name = choice.find("name");
    labels.push_back(name != nullptr ? name->scalar : flow_text(choice));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::count(labels.begin(), labels.end(), labels[i]) > 1) labels[i] = flow_text(choices[i]);
  }
  return labels;
}

// Writes the metric that compares trials into the last stage, which chooses its weights by it.
void put_metric(ConfigNode& recipe, const std::vector<std::string>& metric,
                const std::string& direction) {
  const ConfigNode* stages = recipe.find("stages");
  if (stages == nullptr) return;
  const bool is_list = stages->kind == NodeKind::kList;
  const size_t last = is_list ? std::max<size_t>(stages->items.size(), 1) - 1 : 0;
  const std::string selection = fmt::format("stages.{}.selection", last);
  ConfigNode list = scalar_like(recipe, "");
  list.kind = NodeKind::kList;
  for (const std::string& one : metric) list.items.push_back(scalar_like(recipe, one));
  const ConfigNode* found = is_list && !stages->items.empty() ? &stages->items[last] : stages;
  for (const char* key : {"selection", "early_stop", "direction"}) {
    if (found != nullptr) found = found->find(key);
  }
  const bool has_direction = found != nullptr;
  apply_override(recipe, selection + ".metric", list);
  if (!has_direction) return;
  apply_override(recipe, selection + ".early_stop.direction", scalar_like(recipe, direction));
}

// A setting as the file gives it.
struct GivenSetting {
  ConfigNode choices, when;
  double low = 0, high = 0, points = 3;
  std::string scale = "linear", type = "auto";

  void visit(OptionVisitor& v) {
    v.field("choices", choices, {});
    if (choices.kind == NodeKind::kNull) {
      v.required("low", low);
      v.required("high", high);
      v.field("scale", scale, choice_info("", {"linear", "log"}));
      v.field("type", type, choice_info("", {"auto", "integer"}));
      v.field("points", points, {});
    }
    v.field("when", when, {});
  }
};

class PlanReader {
 public:
  PlanReader(const std::string& path, const std::vector<std::string>& overrides) : path_(path) {
    ConfigNode file = load_config(path);
    SIMILE_CHECK(file.kind == NodeKind::kMap, ErrorKind::kRecipe,
                 "{}: expected a recipe with `tune`, a map of options", path);
    const bool names_recipe = file.find("recipe") != nullptr;
    recipe_ = names_recipe ? named_recipe(file) : file;
    for (const std::string& assignment : overrides) {
      const bool is_tune = starts_with(assignment, "tune.") || starts_with(assignment, "tune=");
      const size_t equals = assignment.find('=');
      SIMILE_CHECK(equals != std::string::npos && equals > 0, ErrorKind::kUsage,
                   "'{}' is not an override; write key=value", assignment);
      ConfigNode value = parse_config(assignment.substr(equals + 1), "command line");
      value.line = 0;
      apply_recipe_override(names_recipe && is_tune ? file : recipe_, assignment.substr(0, equals),
                            value);
    }
    const ConfigNode* tune = (names_recipe ? file : recipe_).find(kTune);
    SIMILE_CHECK(
        tune != nullptr && tune->kind == NodeKind::kMap, ErrorKind::kRecipe,
        "{}: there is no `tune`, which says what to search, such as `tune: {{space: "
        "{{stages.*.learning_rate: {{low: 1e-5, high: 1e-3, scale: log}}}}}}` (docs/tune.md)",
        path);
    tune_ = *tune;
  }

  TunePlan read() {
    ConfigNode space;
    read_option_members(tune_, [&](OptionVisitor& v) {
      settings_.visit(v);
      v.field("space", space, {});
    });
    if (settings_.trials > 0 && settings_.method == "gp" && settings_.initial > settings_.trials) {
      fail_at(tune_, "`tune.initial` is {}, more than all `tune.trials`, {}", settings_.initial,
              settings_.trials);
    }
    TrainOptions options = read_recipe(recipe_);
    SIMILE_CHECK(!options.stages.empty(), ErrorKind::kRecipe, path_ + ": there are no `stages`");
    choose_metric(options);
    put_metric(recipe_, settings_.metric, direction_);
    options = read_recipe(recipe_);
    TrainOptions cut = options;
    apply_folds(cut);
    check_train_options(options);
    folds_ = options.folds;
    check_stopping(options);
    if (!options.model.empty()) resolve_model(options.model);
    check_metric(options);
    read_space(space);
    TunePlan plan{options.name,        recipe_, settings_, SearchSpace(list_), tuned_,
                  direction_ == "min", {}};
    TrainOptions rated = options;
    if (!options.model.empty()) {
      const ModelFolder start = open_model_folder(options.model, silent_events());
      choose_learning_rates(start.settings.encoder, rated, silent_events());
    }
    plan.own = own_point(plan, options, rated);
    return plan;
  }

 private:
  static ConfigNode named_recipe(const ConfigNode& file) {
    ConfigNode named, values, tune;
    read_option_members(file, [&](OptionVisitor& v) {
      v.field("recipe", named, {});
      v.field("values", values, {});
      v.field(kTune, tune, {});
    });
    check_map(values, "values");
    ConfigNode recipe = named.kind == NodeKind::kScalar ? load_config(resolved_path(named)) : named;
    for (const auto& [key, value] : values.members) apply_recipe_override(recipe, key, value);
    return recipe;
  }

  TrainOptions read_recipe(const ConfigNode& recipe) const {
    TrainOptions options;
    read_options(finish_recipe(recipe, path_), options);
    return options;
  }

  // The trials choose their weights by the metric that they are compared by.
  void choose_metric(const TrainOptions& options) {
    SelectionOptions selection = options.stages.back().selection;
    if (!settings_.metric.empty()) {
      selection.metric = settings_.metric;
      selection.early_stop.direction = "auto";  // said of another metric
    }
    settings_.metric = selection.metric;
    direction_ = selection_rules(selection).direction;
    if (!settings_.metric.empty()) return;
    fail_at(tune_, "nothing compares the trials; give `tune.metric`, such as dev.spearman");
  }

  void check_metric(const TrainOptions& options) const {
    const bool is_loss = is_loss_metric(settings_.metric[0]);
    check_at(!is_loss || options.folds == 0, tune_,
             "with `folds` trials are compared by the mean of an evaluation, "
             "and '{}' is a loss; give `tune.metric` one of the evaluations",
             settings_.metric[0]);
    if (is_loss || options.folds > 0) return;
    Evaluations(options.evaluations, silent_events()).check_metrics(settings_.metric);
  }

  void check_stopping(const TrainOptions& options) const {
    check_at(options.folds == folds_, tune_,
             "a choice has `folds: {}` and the recipe {}; trials are compared with the same",
             options.folds, folds_);
    if (settings_.method != "halving") return;
    if (options.stages.size() == 1 && options.folds == 0) return;
    fail_at(tune_,
            "`method: halving` compares trials on their way through one stage; "
            "this recipe, or one of the choices, has {}",
            options.folds > 0 ? "folds" : "several stages");
  }

  void read_space(const ConfigNode& space) {
    check_at(space.kind == NodeKind::kMap && !space.members.empty(),
             space.kind == NodeKind::kNull ? tune_ : space,
             "`tune.space` should be a map of options and their ranges");
    for (const auto& [path, node] : space.members) {
      check_has_effect(path, node);
      if (node.kind == NodeKind::kMap) continue;
      fail_at(node, "the setting '{}' should be a map of keys and values", path);
    }
    std::vector<GivenSetting> given(space.members.size());
    read_option_members(space, [&](OptionVisitor& v) {
      for (size_t i = 0; i < given.size(); ++i) {
        v.group(space.members[i].first.c_str(), given[i], "");
      }
    });
    for (size_t i = 0; i < given.size(); ++i) {
      add_setting(space.members[i].first, space.members[i].second, given[i]);
    }
  }

  // Trials have the recipe's seed, one run each, no tests and what a search saves.
  static void check_has_effect(const std::string& path, const ConfigNode& node) {
    check_may_vary(path, node, {"name", "seed", "runs", "folds", "tests", "baselines"}, "searched",
                   "trials");
    const std::string first = path.substr(0, path.find('.'));
    if (first != "keep_states" && !starts_with(first, "save_")) return;
    fail_at(node, "'{}' cannot be searched: a search decides what is saved", path);
  }

  void add_setting(const std::string& path, const ConfigNode& node, const GivenSetting& given) {
    Setting setting;
    setting.name = path;
    TunedSetting tuned{path, given.choices.items, label_choices(given.choices.items)};
    if (given.choices.kind != NodeKind::kNull) {
      if (tuned.choices.empty()) {
        const bool is_list = given.choices.kind == NodeKind::kList;
        fail_at(node, "'{}': `choices` {}", path,
                is_list ? "is empty, and so would be the grid" : "should be a list");
      }
      setting.kind = Setting::Kind::kChoice;
      setting.choices = tuned.choices.size();
    } else {
      setting.kind = given.type == "integer" ? Setting::Kind::kInteger : Setting::Kind::kReal;
      setting.low = given.low;
      setting.high = given.high;
      setting.is_log = given.scale == "log";
      check_at(given.points == std::floor(given.points), node,
               "'{}': `points` of a grid should be a whole number, found {}", path, given.points);
      setting.grid_points = static_cast<int64_t>(std::clamp(given.points, -1e15, 1e15));
    }
    add_conditions(node, given.when, setting);
    list_.push_back(std::move(setting));
    tuned_.push_back(std::move(tuned));
    check_values(node);
  }

  void add_conditions(const ConfigNode& node, const ConfigNode& when, Setting& setting) const {
    check_map(when, setting.name + ".when");
    for (const auto& [parent, wanted] : when.members) {
      const std::string asks = fmt::format("'{}': `when` asks for ", setting.name);
      const auto found = std::find_if(tuned_.begin(), tuned_.end(),
                                      [&, &p = parent](const auto& one) { return one.path == p; });
      if (found == tuned_.end()) {
        std::vector<std::string> known;
        for (const TunedSetting& one : tuned_) known.push_back(one.path);
        fail_at(node, "{}'{}', which is no setting of the space{}{}", asks, parent,
                known.empty() ? "" : "; before this one stand ", fmt::join(known, ", "));
      }
      check_at(!found->choices.empty(), node,
               "{}'{}', which is a range; a condition is on a setting with `choices`", asks,
               parent);
      SearchCondition condition{static_cast<size_t>(found - tuned_.begin()), {}};
      const bool is_list = wanted.kind == NodeKind::kList;
      for (const ConfigNode& one : is_list ? wanted.items : std::vector<ConfigNode>{wanted}) {
        const auto label = std::find(found->labels.begin(), found->labels.end(), flow_text(one));
        check_at(label != found->labels.end(), node, "{}'{}' of '{}', which has the choices {}",
                 asks, flow_text(one), parent, fmt::join(found->labels, ", "));
        condition.choices.push_back(static_cast<size_t>(label - found->labels.begin()));
      }
      setting.conditions.push_back(std::move(condition));
    }
  }

  // The first choices that a setting's conditions ask for.
  void put_conditions(size_t setting, ConfigNode& recipe) const {
    for (const SearchCondition& condition : list_[setting].conditions) {
      put_conditions(condition.parent, recipe);
      const TunedSetting& parent = tuned_[condition.parent];
      apply_recipe_override(recipe, parent.path, parent.choices[condition.choices[0]]);
    }
  }

  // That each end of the last setting's range, and each choice, is a value of the option.
  void check_values(const ConfigNode& node) {
    const TunedSetting& tuned = tuned_.back();
    ConfigNode conditioned = recipe_;
    put_conditions(tuned_.size() - 1, conditioned);
    std::vector<ConfigNode> values = tuned.choices;
    if (tuned.choices.empty()) {
      check_range(node);  // first, whatever the option is
      check_kind(node, conditioned);
      for (const double end : {list_.back().low, list_.back().high}) {
        values.push_back(scalar_like(node, fmt::format("{}", end)));
      }
    }
    for (const ConfigNode& value : values) {
      ConfigNode recipe = conditioned;
      apply_recipe_override(recipe, tuned.path, value);
      put_metric(recipe, settings_.metric, direction_);
      check_stopping(read_recipe(recipe));
    }
  }

  void check_range(const ConfigNode& node) const {
    Setting alone = list_.back();
    alone.conditions.clear();
    try {
      SearchSpace({std::move(alone)});
    } catch (const Error& error) {
      fail_at(node, "{}", error.what());
    }
  }

  // A range is of numbers; whole ones where the option is.
  void check_kind(const ConfigNode& node, const ConfigNode& recipe) {
    Setting& setting = list_.back();
    const std::vector<FoundOption> found = find_options(read_recipe(recipe), setting.name);
    if (found.empty()) {  // the reader of recipes says what there is
      ConfigNode with_value = recipe;
      apply_recipe_override(with_value, setting.name,
                            scalar_like(node, fmt::format("{}", setting.low)));
      read_recipe(with_value);
      fail_at(node, "there is no option '{}' in this recipe", setting.name);
    }
    for (const FoundOption& option : found) {
      check_at(option.is_number, node,
               "a range of numbers does not fit '{}', which is {}; give `choices`", setting.name,
               option.kind);
      if (option.is_whole) setting.kind = Setting::Kind::kInteger;
    }
    check_range(node);
  }

  // `rated`: with the learning rates that the recipe leaves to the kind of model.
  std::optional<SearchPoint> own_point(const TunePlan& plan, const TrainOptions& options,
                                       const TrainOptions& rated) const {
    const std::string own = options_to_json(options);
    SearchPoint point(plan.space.size());
    for (size_t i = 0; i < point.size(); ++i) {
      if (!plan.space.has_setting(i, point)) continue;
      point[i] = tuned_[i].choices.empty() ? own_number(tuned_[i].path, rated)
                                           : own_choice(i, own, options);
      if (!point[i]) return std::nullopt;
    }
    return plan.space.contains(point) ? std::optional(point) : std::nullopt;
  }

  // The choice that changes nothing, once the settings that depend on it are the recipe's own.
  std::optional<double> own_choice(size_t setting, const std::string& own,
                                   const TrainOptions& options) const {
    for (size_t choice = 0; choice < tuned_[setting].choices.size(); ++choice) {
      ConfigNode recipe = recipe_;
      apply_recipe_override(recipe, tuned_[setting].path, tuned_[setting].choices[choice]);
      for (size_t i = setting + 1; i < tuned_.size(); ++i) {
        const auto& conditions = list_[i].conditions;
        const bool depends =
            std::any_of(conditions.begin(), conditions.end(), [&](const auto& one) {
              return one.parent == setting &&
                     std::count(one.choices.begin(), one.choices.end(), choice) > 0;
            });
        const auto number = depends ? own_number(tuned_[i].path, options) : std::nullopt;
        if (number && tuned_[i].choices.empty()) {
          apply_recipe_override(recipe, tuned_[i].path,
                                scalar_like(recipe_, fmt::format("{}", *number)));
        }
      }
      put_metric(recipe, settings_.metric, direction_);
      if (options_to_json(read_recipe(recipe)) == own) return static_cast<double>(choice);
    }
    return std::nullopt;
  }

  static std::optional<double> own_number(const std::string& path, const TrainOptions& options) {
    const std::vector<FoundOption> found = find_options(options, path);
    const bool are_equal = std::all_of(found.begin(), found.end(), [&](const FoundOption& one) {
      return one.number == found[0].number;
    });
    return are_equal && !found.empty() ? std::optional(found[0].number) : std::nullopt;
  }

  std::string path_;
  ConfigNode tune_, recipe_;
  TuneSettings settings_;
  std::vector<Setting> list_;
  std::vector<TunedSetting> tuned_;
  std::string direction_;
  int64_t folds_ = 0;
};

}  // namespace

void TuneSettings::visit(OptionVisitor& v) {
  v.field("metric", metric,
          {"evaluation and metric that compare trials, such as dev.map, and choose the weights of "
           "the last stage; empty: those of its selection"});
  v.field(
      "method", method,
      choice_info("gp: a Gaussian process and its expected improvement, after a Latin hypercube; "
                  "random; grid; halving: all trials of a Latin hypercube; the best continue",
                  search_methods()));
  v.field("initial", initial, {"gp: trials of the Latin hypercube", "trials", 1, 1e4});
  v.field("trials", trials,
          {"all of them; 0: 23 with gp and random (with another `initial` 8 more than that), 27 "
           "with halving, with grid all of its points",
           "trials", 0, 1e5});
  v.field("stopping", stopping,
          choice_info("gp, random, grid: end a trial whose best value so far is below the median "
                      "of those that at least five others had by the same evaluation; or none",
                      {"median", "none"}));
  v.field("reduction", reduction,
          {"halving: one trial in this many continues, to this many times the steps", "", 2, 100});
  v.field("parallel", parallel,
          {"trials proposed at a time, which as many processes may train; the search depends on it",
           "trials", 1, 1000});
  v.field("runs", runs,
          {"at the end: train and test the best setting and the recipe's own with this number of "
           "seeds that no trial had; 0: do not",
           "seeds", 0, 1000});
  v.field("seed", seed, {"of the search; trials have the recipe's", "", 0});
}

ConfigNode TunePlan::recipe_at(const SearchPoint& point) const {
  ConfigNode changed = recipe;
  for (size_t i = 0; i < tuned.size(); ++i) {
    if (!point[i]) continue;
    if (tuned[i].choices.empty()) {
      apply_recipe_override(changed, tuned[i].path,
                            scalar_like(recipe, fmt::format("{}", *point[i])));
    } else {
      apply_recipe_override(changed, tuned[i].path, tuned[i].choices[*point[i]]);
    }
  }
  put_metric(changed, settings.metric, lower_is_better ? "min" : "max");
  return finish_recipe(std::move(changed), recipe.source);
}

std::string TunePlan::show_value(size_t setting, const std::optional<double>& value) const {
  if (!value) return "-";
  const std::vector<std::string>& labels = tuned[setting].labels;
  return labels.empty() ? fmt::format("{}", *value) : labels[*value];
}

int64_t TunePlan::default_trials() const {
  if (settings.trials > 0) return settings.trials;
  if (settings.method == "grid") return static_cast<int64_t>(space.grid().size());
  return settings.method == "halving" ? kHalvingTrials : settings.initial + kGpIterations;
}

TunePlan read_tune_plan(const std::string& path, const std::vector<std::string>& overrides) {
  return PlanReader(path, overrides).read();
}

}  // namespace simile
