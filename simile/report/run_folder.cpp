// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_folder.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/parallel.h"
#include "simile/model/embedding_store.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace run_format;

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

bool is_half_written(const fs::path& file) {
  return file.filename().string().find(".tmp-") != std::string::npos;
}

// The hashes of what a run leaves beside its results, by the names relative to the folder.
Json hash_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& file) {
    files[fs::path(file).lexically_relative(folder).generic_string()] = hash_file(file);
  };
  if (const std::string log = join_path(folder, kLog); file_exists(log)) add(log);
  std::error_code ignored;  // no predictions: none are listed
  for (const auto& entry :
       fs::recursive_directory_iterator(join_path(folder, kPredictions), ignored)) {
    if (entry.is_regular_file() && !is_half_written(entry.path())) add(entry.path().string());
  }
  return files;
}

std::string made_folder(const std::string& path) {
  make_folders(path);
  return path;
}

// Calls check(path) for each file with this ending, by name; returns how many there are.
template <typename Check>
int64_t check_files(const std::string& folder, const std::string& ending, const Check& check) {
  std::vector<std::string> files;
  std::error_code ignored;  // no folder: no files
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ending) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) check(file);
  return static_cast<int64_t>(files.size());
}

// results.json, and the files that it names; nothing before a run's end, nor of earlier versions.
int64_t check_results(const std::string& folder) {
  const std::string path = join_path(folder, kResults), remedy = "train again with --overwrite";
  if (!file_exists(path)) return 0;
  const detail::Json results = detail::read_json(path);
  if (!results.contains(kFiles) && !results.contains(detail::kSeal)) return 0;
  detail::check_seal(results, path, remedy);
  int64_t checked = 1;
  for (const auto& [name, hash] : detail::JsonObject(results, path).at(kFiles).items()) {
    const std::string file = join_path(folder, name);
    SIMILE_CHECK(hash == hash_file(file), ErrorKind::kInput,
                 "{} was changed after the run: its checksum differs from the one in {}; {}", file,
                 kResults, remedy);
    ++checked;
  }
  return checked;
}

bool begins_with(const std::string& log, const LogMark& mark) {
  if (!file_exists(log)) return mark.bytes == 0;
  const MappedFile file(log);
  const auto bytes = static_cast<size_t>(mark.bytes);
  return bytes <= file.bytes().size() && hash_bytes(file.bytes().substr(0, bytes)) == mark.hash;
}

void add_run(const std::string& path, RunCheck& found) {
  const auto check_tensors = [](const std::string& file) { check_seal(SafetensorsFile(file)); };
  found.states += check_files(join_path(path, kStates), ".safetensors", [&](const auto& name) {
    const SafetensorsFile file(name);
    check_seal(file);
    const auto state = file.metadata().find(kState);
    if (state == file.metadata().end()) return;
    const detail::Json json = detail::parse_json(state->second, name);
    const LogMark mark{json.at("metrics_bytes"), json.at("metrics_hash")};
    SIMILE_CHECK(begins_with(join_path(path, kLog), mark), ErrorKind::kInput,
                 "'{}' is damaged, or shorter than when '{}' was saved", join_path(path, kLog),
                 name);
  });
  found.stages += check_files(join_path(path, kStages), ".safetensors", check_tensors);
  found.teachers += check_files(join_path(path, kTeachers), ".npy",
                                [](const std::string& file) { EmbeddingStore store(file); });
  found.mined += check_files(join_path(path, kMined), ".json", [](const std::string& file) {
    detail::check_seal(detail::read_json(file), file, "run again with --overwrite");
  });
  found.results += check_results(path);
  const std::string model = join_path(path, kModel);
  if (folder_exists(model)) found.model += verify_all_checksums(model);
}

}  // namespace

ConfigNode without_environment(ConfigNode run) {
  auto& members = run.members;
  members.erase(std::remove_if(members.begin(), members.end(),
                               [](const auto& member) { return member.first == kEnvironment; }),
                members.end());
  return run;
}

RunFolder::RunFolder(const std::string& path, bool resume, bool overwrite)
    : path_(made_folder(path)),
      lock_(part(kLock), FileLock::On::kFile),
      held_run_(file_exists(part(kRecipe))) {
  SIMILE_CHECK(lock_.is_held(), ErrorKind::kUsage,
               "another process is training in '{}'; wait for it or choose another --output",
               path_);
  SIMILE_CHECK(!held_run_ || resume || overwrite, ErrorKind::kUsage,
               "'{}' already holds a run; add --resume to go on with it, --overwrite to replace "
               "it, or choose another --output",
               path_);
  SIMILE_CHECK(held_run_ || overwrite || !fs::exists(part(kResults)), ErrorKind::kUsage,
               "'{}' holds '{}', which the run would replace, and no run (there is no {}); choose "
               "another --output, or add --overwrite",
               path_, kResults, kRecipe);
  check_replaceable(part(kModel), "modules.json");
  std::vector<fs::path> half_written;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const char* own : {kRecipe, kResults, kModel}) {
      if (starts_with(name, std::string(own) + ".tmp-")) half_written.push_back(entry.path());
    }
  }
  for (const char* name : {kStates, kStages, kTeachers, kMined, kPredictions}) {
    for (const auto& entry : fs::recursive_directory_iterator(part(name), ignored)) {
      if (is_half_written(entry.path())) half_written.push_back(entry.path());
    }
  }
  for (const fs::path& path : half_written) fs::remove_all(path, ignored);
}

std::string RunFolder::own_part(const std::string& name) const {
  SIMILE_CHECK(lock_.is_at(part(kLock)), ErrorKind::kIo,
               "'{}' was removed, renamed or replaced while this run trained in it; the run ends "
               "and leaves what is there now as it is",
               path_);
  return part(name);
}

namespace {

// Parts of an older run that a new run removes. The old run.json stays until it is replaced.
std::vector<fs::path> parts_of_run(const std::string& folder) {
  std::vector<fs::path> parts;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    bool is_part = starts_with(name, kTensorboard) ||
                   (seed_folder_number(name) && file_exists(join_path(entry.path(), kRecipe)));
    for (const char* own : {kStates, kLog, kResults, kPredictions, kModel, kStages, kMined}) {
      is_part = is_part || name == own;
    }
    if (is_part) parts.push_back(entry.path());
  }
  return parts;
}

}  // namespace

void check_outside_run(const std::string& folder, const std::string& input) {
  for (const fs::path& part : parts_of_run(folder)) check_not_read(part.string(), input);
}

void check_no_part_of_run(const std::string& output) {
  const fs::path folder = fs::absolute(output).lexically_normal().parent_path();
  if (!file_exists(join_path(folder.string(), kRecipe))) return;
  check_not_read(output, join_path(folder.string(), kRecipe));
  for (const fs::path& part : parts_of_run(folder.string())) check_not_read(output, part.string());
}

void RunFolder::remove_old_run(const std::string& but) const {
  if (!held_run_) return;  // what is there is not ours
  std::error_code ignored;
  for (const fs::path& part : parts_of_run(path_)) {
    if (part.filename() != but) fs::remove_all(part, ignored);
  }
}

void RunFolder::check_resume(bool several) const {
  const bool was_several = folder_exists(seed_path(1));
  const bool was_single = file_exists(part(kLog));
  SIMILE_CHECK(!(several ? was_single : was_several), ErrorKind::kUsage,
               "'{}' holds a run of {}, the recipe has {}; resume with the recipe that it was "
               "started with, or choose another --output",
               path_, several ? "one seed" : "several seeds or folds", several ? "several" : "one");
}

RunFolder::~RunFolder() {
  if (metrics_ != nullptr) std::fclose(metrics_);
}

std::string RunFolder::seed_predictions_path(int64_t number, bool hybrid) const {
  const std::string folder = join_path(seed_path(number), kPredictions);
  return hybrid ? join_path(folder, kHybrid) : folder;
}

std::string RunFolder::predictions_path(const std::string& of) const {
  return made_folder(own_part(of.empty() ? kPredictions : join_path(kPredictions, of)));
}

void RunFolder::keep_stage(const std::string& stage, const KeptStage& kept) const {
  write_sealed_tensors(join_path(made_folder(own_part(kStages)), stage + ".safetensors"),
                       {{"weights",
                         {static_cast<int64_t>(kept.weights.size())},
                         kept.weights.data(),
                         TensorType::kF32}},
                       {{"temperatures", Json(kept.temperatures).dump()}});
}

KeptStage RunFolder::read_stage(const std::string& stage) const {
  const SafetensorsFile file(join_path(part(kStages), stage + ".safetensors"));
  const TensorInfo* tensor = file.find("weights");
  const auto temperatures = file.metadata().find("temperatures");
  SIMILE_CHECK(tensor != nullptr && temperatures != file.metadata().end(), ErrorKind::kInput,
               "'{}' is not what the stage '{}' kept; run again with --overwrite", file.path(),
               stage);
  check_seal(file);
  KeptStage kept;
  kept.weights.resize(static_cast<size_t>(tensor->size));
  file.read_floats(*tensor, 0, tensor->size, kept.weights.data());
  detail::parse_json(temperatures->second, file.path()).get_to(kept.temperatures);
  return kept;
}

void RunFolder::write_run(const std::string& recipe) const {
  Json run = Json::parse(recipe);
  utsname machine{};
  uname(&machine);
  run[kEnvironment] = {{"simile", SIMILE_VERSION},
                       {"revision", SIMILE_REVISION},
                       {"compiler", __VERSION__},
                       {"torch", SIMILE_TORCH_VERSION},
                       {"threads", thread_count()},
                       {"processor", processor_name()},
                       {"machine", fmt::format("{} {}", machine.sysname, machine.machine)}};
  write_file_atomic(own_part(kRecipe), run.dump(2) + "\n");
}

void RunFolder::seal_results(const std::string& json, const std::vector<Report>& reports,
                             const std::optional<Verdict>& verdict) const {
  check_metrics(metrics_ == nullptr || std::fflush(metrics_) == 0, "write");
  Json results = Json::parse(json);
  if (verdict) results[kVerdict] = Json::parse(verdict->to_json());
  results[kReports] = Json::parse(reports_to_json(reports));
  results[kFiles] = hash_files(path_);
  results[detail::kSeal] = detail::seal_of(detail::Json::parse(results.dump()));
  write_file_atomic(own_part(kResults), results.dump(2) + "\n");
}

void RunFolder::write_results(const std::vector<Report>& reports, double seconds,
                              const std::optional<Verdict>& verdict) const {
  seal_results(Json{{kSeconds, seconds}}.dump(), reports, verdict);
}

void RunFolder::write_results(const std::vector<SeedResult>& runs, std::optional<size_t> best,
                              const std::vector<Report>& reports,
                              const std::optional<Verdict>& verdict) const {
  Json listed = Json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const SeedResult& run = runs[i];
    listed.push_back({{kFolder, seed_folder(static_cast<int64_t>(i) + 1)},
                      {kSeed, run.seed},
                      {kReports, Json::parse(reports_to_json(run.reports))}});
    if (run.fold) listed.back()[kFold] = *run.fold;
    if (run.selected_value) listed.back()[kSelected] = *run.selected_value;
  }
  Json results = {{kRuns, listed}};
  if (best) results[kBest] = listed[*best][kFolder];
  seal_results(results.dump(), reports, verdict);
}

void RunFolder::log_step(const std::string& stage, int64_t step, double epoch,
                         const StepResult& result) {
  write_line(step_line(stage, step, epoch, result));
  const std::string prefix = stage + "/";
  const std::string own = result.objective.empty() ? prefix : prefix + result.objective + "/";
  tensorboard().write(own + "loss", step, result.loss);
  tensorboard().write(prefix + "grad_norm", step, result.gradient_norm);
  tensorboard().write(prefix + "learning_rate", step, result.learning_rate);
  for (const auto& [name, value] : result.values) tensorboard().write(own + name, step, value);
}

void RunFolder::log_evaluation(const std::string& stage, int64_t step, double epoch,
                               const Report& report) {
  for (const auto& [name, value] : report.metrics) {
    tensorboard().write(stage + "/" + report.name + "." + name, step, value);
  }
  write_line(evaluation_line(stage, step, epoch, report));
}

void RunFolder::write_line(const std::string& line) {
  open_metrics();
  metrics_hash_->add(line + "\n");
  check_metrics(std::fputs((line + "\n").c_str(), metrics_) != EOF, "write");
}

TensorboardWriter& RunFolder::tensorboard() {
  if (!tensorboard_) tensorboard_ = std::make_unique<TensorboardWriter>(path_);
  return *tensorboard_;
}

void RunFolder::open_metrics() {
  if (metrics_ != nullptr) return;
  metrics_ = std::fopen(own_part(kLog).c_str(), "ab");
  check_metrics(metrics_ != nullptr, "write");
  if (!metrics_hash_) metrics_hash_.emplace();
}

void RunFolder::check_metrics(bool good, const char* act) const {
  SIMILE_CHECK(good, ErrorKind::kIo, "cannot {} '{}': {}", act, part(kLog), std::strerror(errno));
}

LogMark RunFolder::flush_metrics() {
  own_part(kLog);
  open_metrics();
  check_metrics(std::fflush(metrics_) == 0 && fsync(fileno(metrics_)) == 0, "write");
  struct stat status {};
  fstat(fileno(metrics_), &status);
  return {status.st_size, metrics_hash_->digits()};
}

bool RunFolder::has_metrics(const LogMark& mark) const { return begins_with(log_path(), mark); }

void RunFolder::cut_metrics(int64_t bytes) {
  open_metrics();
  struct stat status {};
  std::error_code ignored;
  if (fstat(fileno(metrics_), &status) == 0 && status.st_size > bytes) {
    fs::remove(part(kResults), ignored);  // of the lines that go
  }
  check_metrics(ftruncate(fileno(metrics_), bytes) == 0, "cut");
  metrics_hash_.emplace().add(MappedFile(log_path()).bytes());
}

RunCheck check_run(const std::string& path) {
  SIMILE_CHECK(file_exists(join_path(path, kRecipe)), ErrorKind::kInput,
               "'{}' is not a run folder: it has no {}", path, kRecipe);
  RunCheck found;
  add_run(path, found);
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && seed_folder_number(name)) add_run(entry.path().string(), found);
  }
  return found;
}

}  // namespace simile
