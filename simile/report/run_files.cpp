// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/predictions.h"
#include "simile/model/model_folder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;
using detail::Json;
using detail::JsonObject;
using namespace run_format;

constexpr int64_t kMostFolders = 20000;  // looked at for runs

// The order of names in a file is the order to show.
OrderedJson read_object(const std::string& path) {
  detail::read_json(path);  // says what is wrong with the file
  OrderedJson json = OrderedJson::parse(read_file(path));
  SIMILE_CHECK(json.is_object(), ErrorKind::kInput, path + ": expected a JSON object");
  return json;
}

std::string dump(const OrderedJson& json, int indent = -1) {
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

// A whole number that may be missing.
std::optional<int64_t> number_at(const Json& json, const std::string& path, const char* key) {
  const JsonObject object(json, path);
  if (!object.has(key)) return std::nullopt;
  return object.integer(key, 0, std::numeric_limits<int64_t>::max());
}

void read_recipe(RunFiles& run) {
  const std::string path = join_path(run.path, kRecipe);
  OrderedJson recipe = read_object(path);
  if (recipe.contains(kEnvironment) && recipe[kEnvironment].is_object()) {
    for (const auto& [name, value] : recipe[kEnvironment].items()) {
      run.environment.emplace_back(name,
                                   value.is_string() ? value.get<std::string>() : dump(value));
    }
  }
  recipe.erase(kEnvironment);
  run.seed = number_at(Json(recipe), path, kSeed);
  run.recipe = dump(recipe, 2);
}

ReadVerdict read_verdict(const Json& results, const std::string& path) {
  ReadVerdict verdict;
  if (!results.contains(kVerdict)) return verdict;
  const JsonObject object(results[kVerdict], path);
  verdict.line = object.text(kLine);
  verdict.start_kept = object.integer(kStartKept, 0, std::numeric_limits<int64_t>::max());
  const auto read_texts = [&](const char* key, std::vector<std::string>& texts) {
    for (const Json& text : object.at(key)) {
      SIMILE_CHECK(text.is_string(), ErrorKind::kInput, "{}: \"{}\" should hold texts, found {}",
                   path, key, detail::describe_json(text));
      texts.push_back(text.get<std::string>());
    }
  };
  read_texts(kCauses, verdict.causes);
  if (object.has(kDetails)) read_texts(kDetails, verdict.details);
  return verdict;
}

void read_results(RunFiles& run) {
  const std::string path = join_path(run.path, kResults);
  const OrderedJson results = read_object(path);
  if (results.contains(kSeconds) && results[kSeconds].is_number()) {
    run.seconds = results[kSeconds].get<double>();
  }
  SIMILE_CHECK(results.contains(kReports) && results[kReports].is_array(), ErrorKind::kInput,
               "{}: \"{}\" must be a list", path, kReports);
  for (const OrderedJson& report : results[kReports]) {
    run.reports.push_back(parse_report(report.dump(), path));
  }
  run.verdict = read_verdict(Json(results), path);
}

bool is_run(const std::string& path) {
  return file_exists(join_path(path, kRecipe)) || file_exists(join_path(path, kLog)) ||
         file_exists(join_path(path, kResults));
}

// The folders run-N of `path` that are runs, by N; sets `code` where it cannot be listed.
std::map<int64_t, std::string> seed_folders(const std::string& path, std::error_code& code) {
  std::map<int64_t, std::string> found;
  fs::directory_iterator entries(path, code);
  for (; !code && entries != fs::directory_iterator(); entries.increment(code)) {
    const std::optional<int64_t> number = seed_folder_number(entries->path().filename().string());
    if (number && is_run(entries->path())) found[*number] = entries->path();
  }
  return found;
}

// Reads from the results above the runs: "runs", the seed of each folder, and "verdict".
void read_seeds(RunSet& set) {
  const std::string path = join_path(set.path, kResults);
  if (!file_exists(path)) return;
  const Json results = detail::read_json(path);
  if (!results.is_object() || !results.contains(kRuns)) return;
  set.verdict = read_verdict(results, path);
  for (const Json& json : results[kRuns]) {
    const fs::path folder = JsonObject(json, path).text(kFolder);
    for (RunFiles& run : set.runs) {
      if (fs::path(run.path).filename() != folder.filename()) continue;
      run.seed = JsonObject(json, path).integer(kSeed, 0, std::numeric_limits<int64_t>::max());
      run.fold = number_at(json, path, kFold);
    }
  }
}

// The same place in each recipe; null where it has nothing there.
using Places = std::vector<const OrderedJson*>;

// A member by its name, or an element by its number.
const OrderedJson* find_part(const OrderedJson& json, const std::string& name) {
  if (json.is_object()) return json.contains(name) ? &json.at(name) : nullptr;
  const size_t place = std::stoul(name);
  return place < json.size() ? &json.at(place) : nullptr;
}

void add_changes(const std::string& key, const Places& places, std::vector<RecipeChange>& changes) {
  const auto all = [&places](const auto& has) {
    return std::all_of(places.begin(), places.end(), [&has](const OrderedJson* value) {
      return value != nullptr && has(*value);
    });
  };
  if (all([&](const OrderedJson& value) { return value == *places[0]; })) return;
  if (!all([&](const OrderedJson& value) {
        return value.is_structured() && value.type() == places[0]->type();
      })) {
    changes.push_back({key, {}});
    for (const OrderedJson* value : places) {
      changes.back().values.push_back(value == nullptr ? kNoValue : dump(*value));
    }
    return;
  }
  std::vector<std::string> names;
  for (const OrderedJson* value : places) {
    for (const auto& member : value->items()) {
      const bool seen = std::find(names.begin(), names.end(), member.key()) != names.end();
      if (!seen) names.push_back(member.key());
    }
  }
  for (const std::string& name : names) {
    Places parts;
    for (const OrderedJson* value : places) parts.push_back(find_part(*value, name));
    add_changes(key.empty() ? name : key + "." + name, parts, changes);
  }
}

std::string last_part(const std::string& path) {
  fs::path normal = fs::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  if (normal == "." || normal == "..") normal = fs::weakly_canonical(normal);
  return normal.filename().empty() ? path : normal.filename().string();
}

}  // namespace

std::string run_format::seed_folder(int64_t number) {
  return fmt::format("{}{}", kSeedFolder, number);
}

std::optional<int64_t> run_format::seed_folder_number(std::string_view name) {
  if (!starts_with(name, kSeedFolder)) return std::nullopt;
  name.remove_prefix(kSeedFolder.size());
  if (name.find_first_not_of("0123456789") != name.npos) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() ? std::optional<int64_t>(number) : std::nullopt;
}

bool is_same_evaluation(const Report& a, const Report& b) {
  return a.task == b.task && a.name == b.name;
}

RunFiles read_run_files(const std::string& path, std::vector<std::string>* problems) {
  RunFiles run;
  run.path = path;
  const auto read = [&](const char* name, void (*reader)(RunFiles&)) {
    if (!file_exists(join_path(path, name))) {
      run.missing.emplace_back(name);
      return;
    }
    try {
      reader(run);
    } catch (const Error& error) {
      if (problems == nullptr) throw;
      problems->emplace_back(error.what());
    }
  };
  read(kRecipe, read_recipe);
  read(kLog, [](RunFiles&) {});  // read_run_log() reads it
  read(kResults, read_results);
  return run;
}

std::vector<Report> RunFiles::own_reports() const {
  std::vector<Report> own;
  for (const Report& report : reports) {
    const bool seen = std::any_of(own.begin(), own.end(), [&](const Report& other) {
      return is_same_evaluation(report, other);
    });
    if (!seen) own.push_back(report);
  }
  return own;
}

std::vector<Report> RunFiles::hybrid_reports() const {
  std::vector<Report> hybrids;
  for (const Report& own : own_reports()) {
    std::copy_if(reports.begin(), reports.end(), std::back_inserter(hybrids),
                 [&own](const Report& report) {
                   return is_same_evaluation(report, own) && report.model == hybrid_name(own.model);
                 });
  }
  return hybrids;
}

std::string RunFiles::predictions_of(const Report& report) const {
  std::string folder = join_path(path, kPredictions);
  if (starts_with(report.model, kHybridPrefix)) folder = join_path(folder, kHybrid);
  const std::string file = predictions_file(folder, report.task, report.name);
  const std::string read = report.task == "ranking" ? query_table_file(file) : file;
  return file_exists(read) ? file : "";
}

const char* RunSet::unit() const { return runs[0].fold ? "folds" : "seeds"; }

RunSet read_run_set(const std::string& path) {
  SIMILE_CHECK(folder_exists(path), ErrorKind::kInput,
               "'{}' is not a folder; expected one that simile train wrote", path);
  RunSet set;
  set.path = path;
  set.name = last_part(path);
  std::error_code code;
  for (const auto& [number, folder] : seed_folders(path, code)) {
    set.runs.push_back(read_run_files(folder));
  }
  SIMILE_CHECK(!code, ErrorKind::kInput, "cannot list the folder '{}': {}", path, code.message());
  if (set.runs.empty()) {
    SIMILE_CHECK(is_run(path), ErrorKind::kInput,
                 "'{}' is not a run: it has neither {}, {} and {} nor folders {}1, "
                 "{}2 ... that have them; expected a folder that simile train wrote",
                 path, kRecipe, kLog, kResults, kSeedFolder, kSeedFolder);
    set.runs.push_back(read_run_files(path));
    set.verdict = set.runs[0].verdict;
  } else {
    read_seeds(set);
  }
  return set;
}

std::vector<FoundRuns> find_runs(const std::string& folder) {
  std::vector<FoundRuns> found;
  std::error_code code, unknown;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied,
                                           code);
  for (int64_t looked_at = 0;
       !code && entries != fs::recursive_directory_iterator() && looked_at < kMostFolders;
       entries.increment(unknown)) {
    const fs::path path = entries->path();
    if (!entries->is_directory(unknown)) continue;
    ++looked_at;
    FoundRuns set{path.lexically_relative(folder), {}};
    const bool is_hidden = path.filename().string()[0] == '.';
    for (const auto& [number, seed] : seed_folders(path, unknown)) {
      set.runs.push_back(fs::path(seed).lexically_relative(folder));
    }
    if (set.runs.empty() && is_run(path)) set.runs = {set.name};
    if (is_hidden || !set.runs.empty()) entries.disable_recursion_pending();
    if (!is_hidden && !set.runs.empty()) found.push_back(std::move(set));
  }
  SIMILE_CHECK(!code, ErrorKind::kIo, "cannot list the folder '{}': {}", folder, code.message());
  std::sort(found.begin(), found.end(),
            [](const FoundRuns& a, const FoundRuns& b) { return a.name < b.name; });
  return found;
}

std::vector<RunSet> read_run_sets(const std::string& path) {
  std::vector<RunSet> sets;
  std::error_code unknown;
  if (!is_run(path) && seed_folders(path, unknown).empty() && folder_exists(path)) {
    for (const FoundRuns& found : find_runs(path)) {
      sets.push_back(read_run_set(join_path(path, found.name)));
      sets.back().name = found.name;
    }
  }
  if (sets.empty()) sets.push_back(read_run_set(path));
  return sets;
}

std::vector<RecipeChange> find_recipe_changes(const std::vector<std::string>& recipes) {
  std::vector<OrderedJson> parsed;
  for (const std::string& recipe : recipes) parsed.push_back(OrderedJson::parse(recipe));
  Places places;
  for (const OrderedJson& recipe : parsed) places.push_back(&recipe);
  std::vector<RecipeChange> changes;
  add_changes("", places, changes);
  return changes;
}

}  // namespace simile
