// SPDX-License-Identifier: Apache-2.0
// The log of a run, for programs and for TensorBoard.
//
// metrics.jsonl has a line a step {"stage", ["objective"], "step", "epoch", "loss",
// "gradient_norm", "learning_rate", ...} and one an evaluation {"stage", "step", "epoch",
// "evaluation", "metrics": {..}}. Steps count from 0 in each stage; the curves read from it count
// them through all stages.
//
// Errors (ErrorKind::kInput): a line that is not such an object, with file and line; but the last
// line may be cut, as it is while a run goes on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/eval/report.h"

namespace simile {

// The record of one training step.
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

// Scalars for TensorBoard, written natively. A file is a sequence of records: length (u64, little
// endian), masked CRC-32C of the length, payload, masked CRC-32C of the payload. A payload is an
// `Event` in protobuf's wire format with the fields wall_time (1, double), step (2, varint),
// file_version (3, text) and summary (5), whose values (1) have a tag (1, text) and a simple_value
// (2, float).
class TensorboardWriter {
 public:
  // Makes events.out.tfevents.<seconds>.<host>.<process> in `folder`. Errors: ErrorKind::kIo.
  explicit TensorboardWriter(const std::string& folder);
  TensorboardWriter(const TensorboardWriter&) = delete;
  TensorboardWriter& operator=(const TensorboardWriter&) = delete;
  ~TensorboardWriter();

  // One number at a step; it is on its way to the disk when this returns, so a running TensorBoard
  // sees it.
  void write(const std::string& tag, int64_t step, double value);

 private:
  void write_record(const std::string& payload);

  std::FILE* file_;
  std::string path_;
};

// CRC-32C (Castagnoli) of `bytes`, and the form the records store: rotated right by 15, plus a
// constant.
uint32_t crc32c(std::string_view bytes);
uint32_t masked_crc32c(std::string_view bytes);

// A record around a payload, and the payload of a file's first record.
std::string tensorboard_record(const std::string& payload);
std::string tensorboard_version_event(double wall_time);

}  // namespace simile
