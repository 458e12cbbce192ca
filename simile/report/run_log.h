// SPDX-License-Identifier: Apache-2.0
// The curves of a run, from its metrics.jsonl: a line a step {"stage", ["objective"], "step",
// "epoch", "loss", "gradient_norm", "learning_rate", ...} and one an evaluation {"stage", "step",
// "epoch", "evaluation", "metrics": {..}}. Steps begin anew in each stage; here they are counted
// through all of them.
//
// Errors (ErrorKind::kInput): a line that is not such an object, with file and line; but the last
// line may be cut, as it is while a run goes on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/eval/report.h"

namespace simile {

// What one step of training says of itself.
struct StepResult {
  std::string objective;  // its name, of several joined by +; empty in a stage that has but one
  double loss = 0;  // of the objective, without its weight and without `siar`; of parts the mean
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  double siar = 0;                                     // what it added
  std::vector<std::pair<std::string, double>> values;  // for the log: temperature, siar
};

// The two kinds of line, without its end.
std::string step_line(const std::string& stage, int64_t step, double epoch,
                      const StepResult& result);
std::string evaluation_line(const std::string& stage, int64_t step, double epoch,
                            const Report& report);

struct CurvePoint {
  double x = 0, y = 0;  // step and value
};

struct Curve {
  std::string name;  // "loss", "loss (OBJECTIVE)", "temperature"; "EVALUATION.METRIC"
  std::vector<CurvePoint> points;
};

struct LoggedStage {
  std::string name;
  int64_t first_step = 0;  // steps done before it
};

struct RunLog {
  std::vector<LoggedStage> stages;
  std::vector<Curve> training, evaluations;  // in order of appearance
  int64_t steps = 0;
};

// Without values that are not finite, which are logged as null. With a stage, its lines alone.
RunLog read_run_log(const std::string& path, const std::string& stage = "");

// At most about `limit` points: the x axis is cut into equal parts, of which the first, the last,
// the lowest and the highest point are kept, in order.
std::vector<CurvePoint> thin_curve(const std::vector<CurvePoint>& points, size_t limit);

}  // namespace simile
