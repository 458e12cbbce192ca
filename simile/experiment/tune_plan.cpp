// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/tune_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/experiment/detail/map_reader.h"
#include "simile/experiment/detail/recipe_options.h"
#include "simile/experiment/proposal.h"
#include "simile/model/model_folder.h"
#include "simile/train/evaluations.h"
#include "simile/train/option_rules.h"
#include "simile/train/read_recipe.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

using NodeKind = ConfigNode::Kind;
using Setting = SearchSetting;

constexpr const char* kTune = "tune";
constexpr double kMaxPoints = 100000;
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

// What trials are compared by, where the recipe's last stage chooses its weights.
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

class PlanReader {
 public:
  PlanReader(const std::string& path, const std::vector<std::string>& overrides) : path_(path) {
    ConfigNode file = load_config(path);
    SIMILE_CHECK(file.kind == NodeKind::kMap, ErrorKind::kRecipe,
                 fmt::format("{}: expected a recipe with `tune`, a map of options", path));
    const bool names_recipe = file.find("recipe") != nullptr;
    ConfigNode recipe = names_recipe ? named_recipe(file) : file;
    for (const std::string& assignment : overrides) {
      const bool is_tune = starts_with(assignment, "tune.") || starts_with(assignment, "tune=");
      const bool is_of_file = names_recipe && is_tune;
      override_with(assignment, is_of_file ? file : recipe);
    }
    const ConfigNode* tune = (names_recipe ? file : recipe).find(kTune);
    SIMILE_CHECK(tune != nullptr && tune->kind == NodeKind::kMap, ErrorKind::kRecipe,
                 fmt::format("{}: there is no `tune`, which says what to search, such as `tune: "
                             "{{space: {{stages.*.learning_rate: {{low: 1e-5, high: 1e-3, scale: "
                             "log}}}}}}` (docs/tune.md)",
                             path));
    tune_ = *tune;
    recipe_ = std::move(recipe);
  }

  TunePlan read() {
    read_settings();
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
    read_space();
    SearchSpace space = make_space();
    TunePlan plan{options.name,        recipe_, settings_, std::move(space), tuned_,
                  direction_ == "min", {}};
    plan.own = own_point(plan, options);
    return plan;
  }

 private:
  ConfigNode named_recipe(const ConfigNode& file) {
    MapReader reader(file, "a file of `simile tune` that names a recipe");
    const ConfigNode& named = reader.at("recipe");
    ConfigNode recipe = named.kind == NodeKind::kScalar ? load_config(resolved_path(named)) : named;
    if (const ConfigNode* values = reader.map("values")) {
      for (const auto& [key, value] : values->members) apply_recipe_override(recipe, key, value);
    }
    reader.find(kTune);
    reader.finish();
    return recipe;
  }

  static void override_with(const std::string& assignment, ConfigNode& node) {
    const size_t equals = assignment.find('=');
    SIMILE_CHECK(equals != std::string::npos && equals > 0, ErrorKind::kUsage,
                 fmt::format("'{}' is not an override; write key=value", assignment));
    ConfigNode value = parse_config(assignment.substr(equals + 1), "command line");
    value.line = 0;
    apply_recipe_override(node, assignment.substr(0, equals), value);
  }

  void read_settings() {
    ConfigNode settings = tune_;
    auto& members = settings.members;
    members.erase(std::remove_if(members.begin(), members.end(),
                                 [](const auto& member) { return member.first == "space"; }),
                  members.end());
    read_options(settings, settings_);
    SIMILE_CHECK(
        settings_.trials == 0 || settings_.method != "gp" || settings_.initial <= settings_.trials,
        ErrorKind::kRecipe,
        fmt::format("{}: `tune.initial` is {}, more than all `tune.trials`, {}", tune_.where(),
                    settings_.initial, settings_.trials));
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
    SIMILE_CHECK(!settings_.metric.empty(), ErrorKind::kRecipe,
                 fmt::format("{}: by what are trials compared? Give `tune.metric`, such as "
                             "dev.spearman, or the last stage a `selection.metric`",
                             tune_.where()));
  }

  void check_metric(const TrainOptions& options) const {
    SIMILE_CHECK(options.folds == 0 || !is_loss_metric(settings_.metric[0]), ErrorKind::kRecipe,
                 fmt::format("{}: with `folds` trials are compared by the mean of an evaluation, "
                             "and '{}' is a loss; give `tune.metric` one of the evaluations",
                             tune_.where(), settings_.metric[0]));
    if (is_loss_metric(settings_.metric[0]) || options.folds > 0) return;
    Evaluations(options.evaluations, silent_events()).check_metrics(settings_.metric);
  }

  void check_stopping(const TrainOptions& options) const {
    SIMILE_CHECK(options.folds == folds_, ErrorKind::kRecipe,
                 fmt::format("{}: a choice has `folds: {}` and the recipe {}; trials are compared "
                             "with the same",
                             tune_.where(), options.folds, folds_));
    SIMILE_CHECK(
        settings_.method != "halving" || (options.stages.size() == 1 && options.folds == 0),
        ErrorKind::kRecipe,
        fmt::format("{}: `method: halving` compares trials on their way through one "
                    "stage; this recipe, or one of the choices, has {}",
                    tune_.where(), options.folds > 0 ? "folds" : "several stages"));
  }

  void read_space() {
    const ConfigNode* space = tune_.find("space");
    SIMILE_CHECK(space != nullptr && space->kind == NodeKind::kMap && !space->members.empty(),
                 ErrorKind::kRecipe,
                 fmt::format("{}: `tune.space` should be a map of options and their ranges",
                             space == nullptr ? tune_.where() : space->where()));
    for (const auto& [path, node] : space->members) read_setting(path, node);
  }

  void read_setting(const std::string& path, const ConfigNode& node) {
    check_has_effect(path, node);
    MapReader reader(node, fmt::format("the setting '{}'", path));
    Setting setting;
    setting.name = path;
    TunedSetting tuned{path, {}, {}};
    const bool is_choice = reader.find("choices") != nullptr;
    if (is_choice) {
      const ConfigNode& choices = reader.at("choices");
      if (choices.kind != NodeKind::kList)
        reader.fail(fmt::format("'{}': `choices` should be a list", path));
      if (choices.items.empty()) {
        reader.fail(fmt::format("'{}': `choices` is empty, and so would be the grid", path));
      }
      tuned.choices = choices.items;
      tuned.labels = label_choices(tuned.choices);
      setting.kind = Setting::Kind::kChoice;
      setting.choices = tuned.choices.size();
    } else {
      read_range(reader, setting);
    }
    read_conditions(reader, setting);
    reader.finish();
    settings_list_.push_back(std::move(setting));
    tuned_.push_back(std::move(tuned));
    check_values(node);
  }

  // Trials have the recipe's seed, one run each, no tests and what a search saves.
  static void check_has_effect(const std::string& path, const ConfigNode& node) {
    const std::string first = path.substr(0, path.find('.'));
    for (const char* idle : {"name", "seed", "runs", "folds", "tests", "baselines"}) {
      SIMILE_CHECK(first != idle, ErrorKind::kRecipe,
                   fmt::format("{}: '{}' cannot be searched: it is the same in all trials",
                               node.where(), path));
    }
    SIMILE_CHECK(first != "keep_states" && !starts_with(first, "save_"), ErrorKind::kRecipe,
                 fmt::format("{}: '{}' cannot be searched: a search decides what is saved",
                             node.where(), path));
  }

  static void read_range(MapReader& reader, Setting& setting) {
    setting.low = number_of(reader.at("low"), "low");
    setting.high = number_of(reader.at("high"), "high");
    const std::string scale = reader.text_or("scale", "linear");
    if (scale != "log" && scale != "linear") {
      reader.fail(
          fmt::format("'{}': `scale` should be log or linear, found '{}'", setting.name, scale));
    }
    setting.is_log = scale == "log";
    const std::string type = reader.text_or("type", "auto");
    if (type != "auto" && type != "integer") {
      reader.fail(fmt::format("'{}': `type` should be integer or left out, found '{}'",
                              setting.name, type));
    }
    if (type == "integer") setting.kind = Setting::Kind::kInteger;
    const double points = reader.number_or("points", 3);
    if (points < 1 || points != std::floor(points)) {
      reader.fail(
          fmt::format("'{}': `points`, how many of the range a grid has, should be a whole "
                      "number above 0, found {}; the grid would be empty",
                      setting.name, points));
    }
    if (points > kMaxPoints) {
      reader.fail(fmt::format("'{}': `points` should be {:.0f} at most, found {}", setting.name,
                              kMaxPoints, points));
    }
    setting.grid_points = static_cast<int64_t>(points);
  }

  void read_conditions(MapReader& reader, Setting& setting) {
    const ConfigNode* when = reader.map("when");
    if (when == nullptr) return;
    for (const auto& [parent, wanted] : when->members) {
      const auto found = std::find_if(tuned_.begin(), tuned_.end(),
                                      [&, &p = parent](const auto& one) { return one.path == p; });
      if (found == tuned_.end()) fail_condition(reader, setting.name, parent);
      if (found->choices.empty()) {
        reader.fail(
            fmt::format("'{}': `when` asks for '{}', which is a range; a condition is on a "
                        "setting with `choices`",
                        setting.name, parent));
      }
      SearchCondition condition{static_cast<size_t>(found - tuned_.begin()), {}};
      const bool is_list = wanted.kind == NodeKind::kList;
      for (const ConfigNode& one : is_list ? wanted.items : std::vector<ConfigNode>{wanted}) {
        const auto label = std::find(found->labels.begin(), found->labels.end(), flow_text(one));
        if (label == found->labels.end()) {
          reader.fail(fmt::format("'{}': `when` asks for '{}' of '{}', which has the choices {}",
                                  setting.name, flow_text(one), parent,
                                  fmt::join(found->labels, ", ")));
        }
        condition.choices.push_back(static_cast<size_t>(label - found->labels.begin()));
      }
      setting.conditions.push_back(std::move(condition));
    }
  }

  [[noreturn]] void fail_condition(const MapReader& reader, const std::string& name,
                                   const std::string& parent) const {
    std::vector<std::string> known;
    for (const TunedSetting& one : tuned_) known.push_back(one.path);
    reader.fail(fmt::format(
        "'{}': `when` asks for '{}', which is no setting of the space{}", name, parent,
        known.empty() ? "" : fmt::format("; before this one stand {}", fmt::join(known, ", "))));
  }

  // The recipe with the first choices that the last setting's conditions ask for.
  ConfigNode conditioned(size_t setting) const {
    ConfigNode recipe = recipe_;
    put_conditions(setting, recipe);
    return recipe;
  }

  void put_conditions(size_t setting, ConfigNode& recipe) const {
    for (const SearchCondition& condition : settings_list_[setting].conditions) {
      put_conditions(condition.parent, recipe);
      const TunedSetting& parent = tuned_[condition.parent];
      apply_recipe_override(recipe, parent.path, parent.choices[condition.choices[0]]);
    }
  }

  // That each end of the range, and each choice, is a value of the option.
  void check_values(const ConfigNode& node) {
    const size_t last = tuned_.size() - 1;
    Setting& setting = settings_list_[last];
    const TunedSetting& tuned = tuned_[last];
    std::vector<ConfigNode> values = tuned.choices;
    if (setting.kind != Setting::Kind::kChoice) {
      check_range(node);  // first, whatever the option is
      check_kind(node);
      for (const double end : {setting.low, setting.high}) {
        values.push_back(scalar_like(node, fmt::format("{}", end)));
      }
    }
    for (const ConfigNode& value : values) {
      ConfigNode recipe = conditioned(last);
      apply_recipe_override(recipe, tuned.path, value);
      put_metric(recipe, settings_.metric, direction_);
      check_stopping(read_recipe(recipe));
    }
  }

  void check_range(const ConfigNode& node) const {
    Setting alone = settings_list_.back();
    alone.conditions.clear();
    try {
      SearchSpace({std::move(alone)});
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", node.where(), error.what()));
    }
  }

  // A range is of numbers; whole ones where the option is.
  void check_kind(const ConfigNode& node) {
    Setting& setting = settings_list_.back();
    const ConfigNode recipe = conditioned(tuned_.size() - 1);
    const std::vector<FoundOption> found = find_options(read_recipe(recipe), setting.name);
    if (found.empty()) {  // the reader of recipes says what there is
      ConfigNode with_value = recipe;
      apply_recipe_override(with_value, setting.name,
                            scalar_like(node, fmt::format("{}", setting.low)));
      read_recipe(with_value);
      throw Error(ErrorKind::kRecipe, fmt::format("{}: there is no option '{}' in this recipe",
                                                  node.where(), setting.name));
    }
    for (const FoundOption& option : found) {
      SIMILE_CHECK(option.is_number, ErrorKind::kRecipe,
                   fmt::format("{}: a range of numbers does not fit '{}', which is {}; give "
                               "`choices`",
                               node.where(), setting.name, option.kind));
      if (option.is_whole) setting.kind = Setting::Kind::kInteger;
    }
    check_range(node);
  }

  SearchSpace make_space() const { return SearchSpace(settings_list_); }

  std::optional<SearchPoint> own_point(const TunePlan& plan, TrainOptions& options) const {
    const std::string own = options_to_json(options);
    SearchPoint point(plan.space.size());
    for (size_t i = 0; i < point.size(); ++i) {
      const Setting& setting = plan.space.settings()[i];
      const bool applies =
          std::all_of(setting.conditions.begin(), setting.conditions.end(), [&](const auto& one) {
            return point[one.parent] && std::count(one.choices.begin(), one.choices.end(),
                                                   static_cast<size_t>(*point[one.parent])) > 0;
          });
      if (!applies) continue;
      point[i] = setting.kind == Setting::Kind::kChoice ? own_choice(i, own, options)
                                                        : own_number(setting.name, options);
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
        const auto& conditions = settings_list_[i].conditions;
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
      TrainOptions changed = read_recipe(recipe);
      if (options_to_json(changed) == own) return static_cast<double>(choice);
    }
    return std::nullopt;
  }

  static std::optional<double> own_number(const std::string& path, const TrainOptions& options) {
    const std::vector<FoundOption> found = find_options(options, path);
    if (found.empty()) return std::nullopt;
    const bool are_equal = std::all_of(found.begin(), found.end(), [&](const FoundOption& one) {
      return one.number == found[0].number;
    });
    return are_equal ? std::optional(found[0].number) : std::nullopt;
  }

  std::string path_;
  ConfigNode tune_, recipe_;
  TuneSettings settings_;
  std::vector<Setting> settings_list_;
  std::vector<TunedSetting> tuned_;
  std::string direction_;
  int64_t folds_ = 0;
};

}  // namespace

void TuneSettings::visit(OptionVisitor& v) {
  v.field("metric", metric,
          {"evaluation and metric that trials are compared by, such as dev.map, and by which the "
           "last stage keeps its weights; empty: what its selection says"});
  v.field("method", method,
          choice_info("gp: a Gaussian process and its expected improvement, after a Latin "
                      "hypercube; random; grid; halving: all trials of a Latin hypercube, of which "
                      "the best go on",
                      search_methods()));
  v.field("initial", initial, {"gp: trials of the Latin hypercube", "trials", 1, 1e4});
  v.field("trials", trials,
          {"all of them; 0: 23 with gp and random (with another `initial` 8 more than that), 27 "
           "with halving, with grid all of its points",
           "trials", 0, 1e5});
  v.field(
      "stopping", stopping,
      choice_info("gp, random, grid: end a trial whose best value so far is below the median of "
                  "those that five others at least had by the same evaluation; or none",
                  {"median", "none"}));
  v.field("reduction", reduction,
          {"halving: one trial of so many goes on to so many times the steps", "", 2, 100});
  v.field("parallel", parallel,
          {"trials proposed at a time, which as many processes may train; the search depends on it",
           "trials", 1, 1000});
  v.field("runs", runs,
          {"at the end: the best setting and the recipe's own trained with so many seeds that no "
           "trial had, and tested; 0: not",
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
      apply_recipe_override(changed, tuned[i].path,
                            tuned[i].choices[static_cast<size_t>(*point[i])]);
    }
  }
  put_metric(changed, settings.metric, lower_is_better ? "min" : "max");
  return finish_recipe(std::move(changed), recipe.source);
}

std::string TunePlan::show_value(size_t setting, const std::optional<double>& value) const {
  if (!value) return "-";
  const std::vector<std::string>& labels = tuned[setting].labels;
  return labels.empty() ? fmt::format("{}", *value) : labels[static_cast<size_t>(*value)];
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
