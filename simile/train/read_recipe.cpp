// SPDX-License-Identifier: Apache-2.0
#include "simile/train/read_recipe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/data/line_reader.h"
#include "simile/eval/report.h"
#include "simile/model/model_folder.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShownChanges = 10;

std::string run_file(const std::string& folder) { return join_path(folder, "run.json"); }

// Beside `folder`, runs whose names begin with its own.
std::vector<std::string> runs_of_variants(const std::string& folder) {
  const fs::path path(folder);
  const std::string prefix = path.filename().string() + "-";
  std::vector<std::string> runs;
  std::error_code ignored;
  const auto parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) != 0 || !file_exists(run_file(entry.path().string()))) continue;
    runs.push_back((path.parent_path() / name).string());
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

// Where a recipe says what part of folds it reads.
struct FoldPlace {
  std::string name;  // "stages.0.objectives.0.data"
  FoldOptions* folds;
  bool is_trained;
  std::string source, files;
};

std::string join_all(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "\t"));
}

// Texts that are equal where the same groups are dealt to the folds: the files, and what decides
// the rows that are read and how they belong together.
std::string source_of(const PairDataOptions& data) {
  if (data.format == "ranking") {
    const RankingDataOptions& set = data.ranking;
    return fmt::format("ranking\n{}\n{}\n{}\n{}\n{} {}", set.queries, set.qrels, set.folder,
                       set.folder.empty() ? "" : set.split, set.skip_queries, set.limit_queries);
  }
  const bool is_single = data.format == "classes" && !data.text.empty();
  std::string columns = is_single ? data.text : data.left + "\t" + data.right;
  if (!is_single) columns += "\t" + join_all(data.negatives);
  return fmt::format("{}\n{}\n{}\n{}\n{} {} {}", data.format, join_all(pair_files(data)),
                     data.group.empty() ? columns : "group " + data.group, join_all(data.filter),
                     data.skip, data.limit, data.first_rows);
}

// The files whose judgements decide what is trained on or tested.
std::string files_of(const PairDataOptions& data) {
  return data.format == "ranking" ? data.ranking.qrels + data.ranking.folder
                                  : join_all(pair_files(data));
}

std::vector<FoldPlace> fold_places(TrainOptions& options) {
  std::vector<FoldPlace> places;
  const auto add = [&](const std::string& name, FoldOptions& folds, bool is_trained,
                       const PairDataOptions& data) {
    if (!folds.is_set()) return;
    places.push_back({name, &folds, is_trained, source_of(data), files_of(data)});
  };
  for (size_t s = 0; s < options.stages.size(); ++s) {
    for (size_t o = 0; o < options.stages[s].objectives.size(); ++o) {
      PairDataOptions& data = options.stages[s].objectives[o].data;
      const std::string name = fmt::format("stages.{}.objectives.{}.data", s, o);
      add(name, data.folds, true, data);
      add(name + ".ranking", data.ranking.folds, true, data);
    }
  }
  for (auto* list : {&options.evaluations, &options.tests}) {
    const char* key = list == &options.tests ? "tests" : "evaluations";
    for (size_t i = 0; i < list->size(); ++i) {
      EvaluationOptions& one = (*list)[i];
      add(fmt::format("{}.{}", key, i), one.ranking.folds, false, data_of(one));
    }
  }
  return places;
}

// A dev part that is trained on would choose what fits the training data best.
void check_dev(const TrainOptions& options, const std::vector<FoldPlace>& places) {
  bool reads_dev = false;
  for (const FoldPlace& place : places) reads_dev = reads_dev || place.folds->part == "dev";
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& objective : stage.objectives) {
      reads_dev = reads_dev || objective.dev.part == "dev";
    }
  }
  // The weight of a hybrid is chosen on the dev part too.
  for (const auto* evaluations : {&options.evaluations, &options.tests}) {
    for (const EvaluationOptions& one : *evaluations) {
      const bool is_ranking = one.task == "ranking" && one.ranking.folds.is_set();
      reads_dev = reads_dev || (is_ranking && !one.dev.empty() && one.dev == one.ranking.qrels);
    }
  }
  if (!reads_dev) return;
  for (const FoldPlace& place : places) {
    SIMILE_CHECK(
        !place.is_trained || place.folds->part == "fit", ErrorKind::kRecipe,
        "{}: `part: {}` trains on what `part: dev` is for; take `part: fit`, which leaves it out",
        place.name, place.folds->part);
  }
}

bool is_tested(const EvaluationOptions& evaluation) {
  return evaluation.ranking.folds.part == "test";
}

[[noreturn]] void refuse_selection(const StageOptions& stage, const std::string& metric,
                                   const std::string& place) {
  throw_error(ErrorKind::kRecipe,
              "stage '{}': selection.metric '{}' chooses by `part: test` of {}, which is to be "
              "tested on; let it read `part: dev`, and training `part: fit`",
              stage.name, metric, place);
}

// Weights chosen on the tested part would look better there than they are.
void check_selection(const TrainOptions& options) {
  if (options.folds == 0 && std::none_of(options.tests.begin(), options.tests.end(), is_tested)) {
    return;
  }
  for (const StageOptions& stage : options.stages) {
    for (const std::string& metric : stage.selection.metric) {
      const std::string name = split_figure_name(metric).evaluation;
      for (const EvaluationOptions& evaluation : options.evaluations) {
        if (evaluation.name == name && is_tested(evaluation)) {
          refuse_selection(stage, metric, fmt::format("the evaluation '{}'", name));
        }
      }
      for (const ObjectiveOptions& objective : stage.objectives) {
        if (name == kLossEvaluation && objective.dev.part == "test") {
          refuse_selection(stage, metric, "an objective's `dev`");
        }
      }
    }
  }
}

void check_place(const TrainOptions& options, const FoldPlace& place, const FoldPlace& first) {
  const FoldOptions& folds = *place.folds;
  SIMILE_CHECK(folds.folds == 0 || folds.folds == options.folds, ErrorKind::kRecipe,
               "`folds: {}` of the recipe and `folds: {}` of {} cut the same data differently; "
               "leave the latter out",
               options.folds, folds.folds, place.name);
  SIMILE_CHECK(folds.fold == 0, ErrorKind::kRecipe,
               "{}: `fold: {}` reads one fold, and `folds: {}` of the recipe trains with each in "
               "turn; leave one of the two out",
               place.name, folds.fold, options.folds);
  SIMILE_CHECK(folds.fold_seed == first.folds->fold_seed, ErrorKind::kRecipe,
               "{} and {} have fold_seed {} and {}: what one of them tests on the other would "
               "train on; give both the same",
               first.name, place.name, first.folds->fold_seed, folds.fold_seed);
  SIMILE_CHECK(place.source == first.source, ErrorKind::kRecipe,
               "{} and {} cut other data, rows or columns into folds: one may train on what the "
               "other tests; a recipe cuts one set, read the same way wherever it has a `part`",
               first.name, place.name);
}

// Data that is read whole beside a part of it.
void check_uncut(const TrainOptions& options, const FoldPlace& cut) {
  for (size_t s = 0; s < options.stages.size(); ++s) {
    for (size_t o = 0; o < options.stages[s].objectives.size(); ++o) {
      const PairDataOptions& data = options.stages[s].objectives[o].data;
      const bool is_cut = data.folds.is_set() || data.ranking.folds.is_set();
      SIMILE_CHECK(
          is_cut || files_of(data) != cut.files, ErrorKind::kRecipe,
          "stages.{}.objectives.{}.data trains on all of what {} is a part of; set its `part` too",
          s, o, cut.name);
    }
  }
}

using FileHashes = std::map<std::string, std::string>;  // by name below the folder

// `above` are the folders that this one is in; a link to one of them is left out.
void hash_files(const fs::path& folder, const std::string& prefix, std::vector<std::string>& above,
                FileHashes& files) {
  const std::string real = fs::canonical(folder).string();
  if (std::find(above.begin(), above.end(), real) != above.end()) return;
  above.push_back(real);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '.') continue;
    if (entry.is_directory()) {
      hash_files(entry.path(), prefix + name + "/", above, files);
    } else if (entry.is_regular_file() && !ends_with(name, ".md") && name != kChecksumFile) {
      files[prefix + name] = hash_file(entry.path().string());
    }
  }
  above.pop_back();
}

class PathFinder : public OptionVisitor {
 public:
  std::vector<RecipePath> paths;

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    if (!info.is_path || name == std::string("teacher_vectors")) return;
    for_each_text(value, [&](const std::string& text) {
      if (!text.empty()) paths.push_back({text, !info.folder_marks.empty()});
    });
  }
  void visit_group(const char*, const std::string&, const Members& members) override {
    members(*this);
  }
  void visit_list(const char*, const std::string&, const List& list) override {
    for (size_t i = 0; i < list.size; ++i) list.element(*this, i);
  }
};

}  // namespace

ContentHashes::ContentHashes(const std::string& but)
    : but_{fs::weakly_canonical(fs::absolute(but)).string()} {}

const std::string& ContentHashes::of(const std::string& path) {
  const auto [place, is_new] = known_.emplace(path, "");
  std::string& hash = place->second;
  if (!is_new) return hash;
  if (file_exists(path)) return hash = hash_file(path);
  std::string all;
  if (folder_exists(path)) {
    FileHashes files;
    std::vector<std::string> above = but_;
    hash_files(path, "", above, files);
    for (const auto& [name, of_file] : files) all += fmt::format("{}\n{}\n", name, of_file);
    hash = hash_bytes(all);
  } else if (path.find('*') != std::string::npos) {
    try {
      for (const std::string& file : expand_paths({path})) all += hash_file(file) + "\n";
      hash = hash_bytes(all);
    } catch (const Error&) {  // no file fits
    }
  }
  return hash;
}

std::vector<RecipePath> find_recipe_paths(const OptionValue& options) {
  PathFinder finder;
  std::get<OptionValue::Members>(options.reference())(finder);
  return finder.paths;
}

RecipeInputs find_inputs_of(const OptionValue& options, ContentHashes& hashes) {
  RecipeInputs inputs;
  std::set<std::string> missing;
  for (const auto& [path, may_be_name] : find_recipe_paths(options)) {
    const std::string& hash = hashes.of(path);
    if (!hash.empty()) {
      inputs[path] = hash;
    } else if (!may_be_name) {
      if (!fs::exists(path)) missing.insert(path);  // else a pipe, which is read once
    } else {
      try {
        inputs[path] = hashes.of(resolve_model(path));
      } catch (const Error&) {
        // The name of an earlier stage, or a missing model, which train() reports.
      }
    }
  }
  SIMILE_CHECK(missing.empty(), ErrorKind::kInput, "not at hand: {}", fmt::join(missing, ", "));
  return inputs;
}

TrainOptions read_recipe(const ConfigNode& recipe, EventSink& events) {
  TrainOptions options;
  read_options(without_environment(recipe), options);
  apply_folds(options);
  fill_class_names(options, events);
  check_train_options(options);
  return options;
}

const PairDataOptions* find_class_data(const TrainOptions& options, const std::string& head) {
  for (const StageOptions& stage : options.stages) {
    for (const ObjectiveOptions& each : stage.objectives) {
      if (each.head == head && each.data.format == "classes") return &each.data;
    }
  }
  return nullptr;
}

void fill_class_names(TrainOptions& options, EventSink& events) {
  for (HeadSettings& head : options.heads) {
    if (head.output != "classes" || !head.class_names.empty()) continue;
    const PairDataOptions* data = find_class_data(options, head.name);
    if (data == nullptr) continue;
    head.class_names = read_pairs(*data).class_names;
    events.info(fmt::format("the head '{}' has the {} classes of {}", head.name,
                            head.class_names.size(), data->file()));
  }
}

std::optional<ConfigNode> read_resumed_recipe(const std::string& folder, EventSink& events) {
  if (!file_exists(run_file(folder))) {
    const std::vector<std::string> others = runs_of_variants(folder);
    if (!others.empty()) {
      events.warning(
          fmt::format("'{}' holds no run to go on with, and one begins there; there are {}: a "
                      "variant's run goes on with `simile train FOLDER --resume`",
                      folder, fmt::join(others, ", ")));
    }
    return std::nullopt;
  }
  try {
    ConfigNode recipe = without_environment(load_config(run_file(folder)));
    if (!recipe.members.empty()) return recipe;  // else a file that a crash left empty
  } catch (const Error&) {                       // it cannot be read
  }
  return std::nullopt;
}

void check_same_recipe(const std::string& folder, const std::string& begun,
                       const std::string& given) {
  std::vector<std::string> shown;
  const std::vector<RecipeChange> changes = find_recipe_changes({begun, given});
  if (changes.empty()) return;
  for (const RecipeChange& change : changes) {
    if (shown.size() == kShownChanges) break;
    shown.push_back(fmt::format("{} {}, now {}", change.key, change.values[0], change.values[1]));
  }
  const size_t rest = changes.size() - shown.size();
  throw_error(ErrorKind::kUsage,
              "the run in '{0}' was begun with other options than the recipe and the command line "
              "give now: {1}{2}; `simile train {0} --resume` goes on with those it was begun with, "
              "--overwrite or another --output begins with those given now",
              folder, fmt::join(shown, "; "), rest > 0 ? fmt::format("; and {} more", rest) : "");
}

void take_learning_rates(const TrainOptions& begun, TrainOptions& options) {
  for (size_t i = 0; i < std::min(begun.stages.size(), options.stages.size()); ++i) {
    StageOptions& stage = options.stages[i];
    if (stage.learning_rate > 0) continue;
    for (const auto rate : {&StageOptions::learning_rate, &StageOptions::head_learning_rate}) {
      if (stage.*rate == 0) stage.*rate = begun.stages[i].*rate;
    }
  }
}

void apply_folds(TrainOptions& options) {
  check_selection(options);
  if (options.folds == 0) return;
  SIMILE_CHECK(options.folds >= 2, ErrorKind::kRecipe, "`folds: {}`: expected at least 2",
               options.folds);
  SIMILE_CHECK(options.runs == 1, ErrorKind::kRecipe,
               "the recipe has `folds: {}` and `runs: {}`: each fold is trained with one seed; "
               "leave one of the two out, and train with `seed: {}` again for another",
               options.folds, options.runs, options.seed + 1);
  const std::vector<FoldPlace> places = fold_places(options);
  const auto count = [&](bool is_trained) {
    return std::count_if(places.begin(), places.end(),
                         [&](const FoldPlace& place) { return place.is_trained == is_trained; });
  };
  SIMILE_CHECK(count(true) > 0, ErrorKind::kRecipe,
               "`folds: {}`, but no data that is trained on has a `part`; set `part: train` in an "
               "objective's data, or `part: fit` where `part: dev` is evaluated",
               options.folds);
  SIMILE_CHECK(count(false) > 0, ErrorKind::kRecipe,
               "`folds: {}`, but nothing is tested on the part left out; set `part: test` in one "
               "of the tests",
               options.folds);
  check_dev(options, places);
  check_uncut(options, places[0]);
  for (const FoldPlace& place : places) {
    check_place(options, place, places[0]);
    place.folds->folds = options.folds;
  }
}

TrainOptions options_of_fold(const TrainOptions& options, int64_t fold) {
  TrainOptions one = options;
  one.folds = 0;
  for (const FoldPlace& place : fold_places(one)) place.folds->fold = fold;
  return one;
}

PairDataOptions data_of(const EvaluationOptions& evaluation) {
  PairDataOptions data = evaluation.columns;
  data.path = evaluation.data;
  if (evaluation.task == "classification") data.format = "classes";
  if (evaluation.task == "ranking" && evaluation.data.empty()) {
    data.format = "ranking";
    data.ranking = evaluation.ranking;
  }
  return data;
}

bool is_cut(const EvaluationOptions& evaluation) {
  return evaluation.ranking.folds.part == "test" || evaluation.ranking.folds.part == "dev";
}

}  // namespace simile
