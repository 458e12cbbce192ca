// SPDX-License-Identifier: Apache-2.0
#include "simile/train/distillation.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/options.h"
#include "simile/derive/convert.h"
#include "simile/model/model_folder.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStartFolder = "start";
constexpr const char* kReducedFolder = "reduced";
constexpr const char* kRecipeFile = "recipe.yaml";
constexpr const char* kMadeBy = "# What `simile distill` trained.";  // the recipe's first words

enum class StudentKind { kStatic, kLayers, kModel };

StudentKind student_kind(const std::string& student) {
  if (student == "static") return StudentKind::kStatic;
  const bool is_number = !student.empty() && student.size() < 10 &&
                         student.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? StudentKind::kLayers : StudentKind::kModel;
}

// A path as it is from everywhere, a built-in model's name as it is.
std::string lasting_name(const std::string& model) {
  return folder_exists(model) ? fs::absolute(model).lexically_normal().string() : model;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

void check_distillation(const DistillationOptions& options, bool overwrite) {
  SIMILE_CHECK(
      overwrite || !file_exists(join_path(options.output, "run.json")), ErrorKind::kUsage,
      "'{}' holds a run; add --resume to go on with it, --overwrite to replace it, or give "
      "another output",
      options.output);
  // Without a run, a recipe of our own is what a failed start left.
  const std::string recipe = join_path(options.output, kRecipeFile);
  SIMILE_CHECK(overwrite || !file_exists(recipe) || starts_with(read_file(recipe), kMadeBy),
               ErrorKind::kUsage,
               "'{}' has a {}, which would be replaced; give another output, or add --overwrite",
               options.output, kRecipeFile);
  SIMILE_CHECK(options.epochs > 0 && options.learning_rate >= 0, ErrorKind::kUsage,
               "{} epochs at the learning rate {}; both are above 0", options.epochs,
               options.learning_rate);
  SIMILE_CHECK(options.columns.size() <= 2, ErrorKind::kUsage,
               "{} columns of '{}' are asked for; give the one or two with its texts",
               options.columns.size(), options.data);
  const std::string file = fs::path(options.data).filename().string();
  const bool is_table =
      file.find(".tsv") != std::string::npos || file.find(".csv") != std::string::npos;
  SIMILE_CHECK(!is_table || !options.columns.empty(), ErrorKind::kUsage,
               "'{}' is a table; name the one or two columns with its texts (--columns "
               "question,answer), or give a file with one text a line",
               options.data);
  SIMILE_CHECK(file_exists(options.data), ErrorKind::kInput, "cannot open '{}': it is not there",
               options.data);
  SIMILE_CHECK(
      options.dimensions == 0 || student_kind(options.student) == StudentKind::kStatic,
      ErrorKind::kUsage,
      "--dims goes with --student static; another student has the dimensions of its model");
}

std::string data_of(const DistillationOptions& options) {
  Json data = {{"path", fs::absolute(options.data).lexically_normal().string()}};
  if (options.columns.empty()) {
    data["format"] = "texts";
  } else {
    data["left"] = options.columns.front();
    data["right"] = options.columns.size() > 1 ? options.columns[1] : "";
    data["score"] = "";
    if (!options.table.delimiter.empty()) data["delimiter"] = options.table.delimiter;
  }
  if (!options.table.encoding.empty()) data["encoding"] = options.table.encoding;
  return data.dump();
}

// Drops members with their default values, so that only the settings of an evaluation remain.
void drop_defaults(Json& json, const Json& defaults) {
  for (auto member = json.begin(); member != json.end();) {
    const auto usual = defaults.find(member.key());
    if (usual != defaults.end() && member->is_object()) drop_defaults(*member, *usual);
    const bool is_empty = member->is_object() && member->empty();
    member = is_empty || (usual != defaults.end() && *member == *usual) ? json.erase(member)
                                                                        : std::next(member);
  }
}

std::string tests_of(const DistillationOptions& options) {
  if (options.tests.empty()) return "";
  std::string text = "tests:\n";
  for (const EvaluationOptions& test : options.tests) {
    EvaluationOptions untouched;
    untouched.task = test.task;
    Json json = Json::parse(options_to_json(test));
    drop_defaults(json, Json::parse(options_to_json(untouched)));
    json["task"] = test.task;
    text += "  - " + json.dump() + "\n";
  }
  return text + "baselines: [untrained]\n";
}

// `is_made`: start/ is there already.
std::string make_start(const DistillationOptions& options, bool is_made, EventSink& events) {
  const std::string start = join_path(options.output, kStartFolder);
  if (student_kind(options.student) == StudentKind::kModel) return lasting_name(options.student);
  if (is_made) return std::string("./") + kStartFolder;
  if (student_kind(options.student) == StudentKind::kStatic) {
    save_token_table(options.teacher, start, events);
  } else {
    save_shortened_model(options.teacher, start, std::stoll(options.student), events);
  }
  return std::string("./") + kStartFolder;
}

}  // namespace

std::string prepare_distillation(const DistillationOptions& options, bool resume, bool overwrite,
                                 EventSink& events) {
  check_distillation(options, resume || overwrite);
  const int64_t taught = open_model_folder(options.teacher, events).settings.vector_size();
  SIMILE_CHECK(options.dimensions >= 0 && options.dimensions < taught, ErrorKind::kUsage,
               "{} dimensions are asked for, and the vectors of '{}' have {}; give fewer",
               options.dimensions, options.teacher, taught);
  const std::string path = join_path(options.output, kRecipeFile);
  const bool goes_on = resume && file_exists(path);
  const std::string model = make_start(options, goes_on, events);
  const std::string start =
      model[0] == '.' ? join_path(options.output, kStartFolder) : options.student;
  const ModelSettings student = open_model_folder(start, silent_events()).settings;
  const bool is_static = student.encoder.is_static();
  const double rate = options.learning_rate > 0 ? options.learning_rate : (is_static ? 2e-3 : 2e-4);
  fs::path named = fs::absolute(options.output).lexically_normal();  // "FOLDER/" has no name
  if (named.filename().empty()) named = named.parent_path();
  const std::string name = named.filename().string();
  const std::string recipe = fmt::format(
      "{10} Change it and train again:\n"
      "#   simile train {0} --output FOLDER\n"
      "name: {1}\nseed: 1\nmodel: {2}\nhidden_dropout: 0\nattention_dropout: "
      "0\nstages:\n  name: distill\n  objectives:\n"
      "    data: {3}\n    loss: {{name: distill, distance: {4}}}\n    teachers: {5}\n"
      "    teacher_precision: {9}\n    batch_size: 64\n  epochs: {6}\n  "
      "learning_rate: {7}\n  optimizer: {{weight_decay: 0}}\n"
      "  schedule: {{name: linear, warmup_fraction: 0.05}}\n{8}data_checks: warn\n",
      path, quoted(name.empty() ? "student" : name), quoted(model), data_of(options),
      student.embedding_size() == taught ? "cosine" : "scores",
      quoted(lasting_name(options.teacher)), options.epochs, rate, tests_of(options),
      options.precision, kMadeBy);
  if (goes_on) {
    const auto options_in = [](const std::string& text) {
      return text.substr(text.find("\nname: "));
    };
    const std::string begun = read_file(path);
    SIMILE_CHECK(begun.find("\nname: ") != begun.npos && options_in(begun) == options_in(recipe),
                 ErrorKind::kUsage,
                 "'{}' has other options than those given now; give the same to go on, or add "
                 "--overwrite to begin anew",
                 path);
    return path;
  }
  make_folders(options.output);
  fs::remove_all(join_path(options.output, kReducedFolder));  // of the weights before
  write_file_atomic(path, recipe);
  return path;
}

std::optional<std::string> reduce_student(const DistillationOptions& options,
                                          const std::string& model, EventSink& events) {
  if (options.dimensions == 0) return std::nullopt;
  const std::string reduced = join_path(options.output, kReducedFolder);
  save_reduced_table(model, reduced, options.dimensions, events);
  return reduced;
}

}  // namespace simile
