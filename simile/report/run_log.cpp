// SPDX-License-Identifier: Apache-2.0
#include "simile/report/run_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStage = "stage";
constexpr const char* kObjective = "objective";
constexpr const char* kStep = "step";
constexpr const char* kEpoch = "epoch";
constexpr const char* kLoss = "loss";
constexpr const char* kGradientNorm = "gradient_norm";
constexpr const char* kLearningRate = "learning_rate";
constexpr const char* kEvaluation = "evaluation";
constexpr const char* kMetrics = "metrics";

class LogReader {
 public:
  explicit LogReader(const std::string& stage) : stage_(stage) {}

  void add(const Json& line) {
    if (!stage_.empty() && line.at(kStage) != stage_) return;
    const int64_t step = begin_step(line);
    if (line.contains(kEvaluation)) {
      const std::string prefix = line.at(kEvaluation).get<std::string>() + ".";
      for (const auto& [name, value] : line.at(kMetrics).items()) {
        add_point(log.evaluations, prefix + name, step, value);
      }
      return;
    }
    const std::string objective =
        line.contains(kObjective) ? " (" + line[kObjective].get<std::string>() + ")" : "";
    for (const auto& [name, value] : line.items()) {
      if (name == kStage || name == kObjective || name == kStep || name == kEpoch) continue;
      const bool shared = name == kGradientNorm || name == kLearningRate;
      add_point(log.training, shared ? name : name + objective, step, value);
    }
  }

  RunLog log;

 private:
  // The step counted through all stages.
  int64_t begin_step(const Json& line) {
    const std::string stage = line.at(kStage).get<std::string>();
    if (log.stages.empty() || log.stages.back().name != stage) {
      log.stages.push_back({stage, log.steps});
    }
    const int64_t step = log.stages.back().first_step + line.at(kStep).get<int64_t>();
    log.steps = std::max(log.steps, step);
    return step;
  }

  static void add_point(std::vector<Curve>& curves, const std::string& name, int64_t step,
                        const Json& value) {
    if (!value.is_number()) return;
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&name](const Curve& other) { return other.name == name; });
    if (curve == curves.end()) curve = curves.insert(curve, Curve{name, {}});
    curve->points.push_back({static_cast<double>(step), value.get<double>()});
  }

  const std::string& stage_;
};

// Appends the points of one part that thin_curve() keeps.
void keep_extremes(const std::vector<CurvePoint>& points, size_t begin, size_t end,
                   std::vector<CurvePoint>& kept) {
  const auto lower = [&points](size_t a, size_t b) { return points[a].y < points[b].y; };
  std::vector<size_t> places(end - begin);
  for (size_t i = begin; i < end; ++i) places[i - begin] = i;
  std::vector<size_t> chosen = {begin, *std::min_element(places.begin(), places.end(), lower),
                                *std::max_element(places.begin(), places.end(), lower), end - 1};
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const size_t i : chosen) kept.push_back(points[i]);
}

}  // namespace

std::string step_line(const std::string& stage, int64_t step, double epoch,
                      const StepResult& result) {
  Json line = {{kStage, stage}};
  if (!result.objective.empty()) line[kObjective] = result.objective;
  line.update({{kStep, step},
               {kEpoch, epoch},
               {kLoss, result.loss},
               {kGradientNorm, result.gradient_norm},
               {kLearningRate, result.learning_rate}});
  for (const auto& [name, value] : result.values) line[name] = value;
  return line.dump();
}

std::string evaluation_line(const std::string& stage, int64_t step, double epoch,
                            const Report& report) {
  Json line = {{kStage, stage}, {kStep, step}, {kEpoch, epoch}, {kEvaluation, report.name}};
  for (const auto& [name, value] : report.metrics) line[kMetrics][name] = value;
  return line.dump();
}

RunLog read_run_log(const std::string& path, const std::string& stage) {
  LogReader reader(stage);
  LineReader lines(path);
  std::string broken;  // what was wrong with the last line read
  for (std::string line; lines.next(line);) {
    SIMILE_CHECK(broken.empty(), ErrorKind::kInput, broken);
    if (line.empty()) continue;
    try {
      reader.add(Json::parse(line));
    } catch (const Json::exception& error) {
      broken = fmt::format("{}: not a line of a run's log: {}", lines.where(), error.what());
    }
  }
  return reader.log;
}

std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& points, size_t limit) {
  if (points.size() <= limit) return points;
  const size_t parts = std::max<size_t>(limit / 4, 1);
  const double first = points.front().x;
  const double width = (points.back().x - first) / static_cast<double>(parts);
  std::vector<CurvePoint> kept;
  size_t begin = 0;
  for (size_t part = 1; part <= parts && begin < points.size(); ++part) {
    const double right = first + width * static_cast<double>(part);
    size_t end = begin;
    while (end < points.size() && (part == parts || points[end].x < right)) ++end;
    if (end > begin) keep_extremes(points, begin, end, kept);
    begin = end;
  }
  return kept;
}

}  // namespace simile
