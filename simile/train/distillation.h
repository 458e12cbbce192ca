// SPDX-License-Identifier: Apache-2.0
// A small student of a model: a recipe for train() with the loss `distill`
// (simile/loss/teacher_losses.h) and that model as its teacher, and the student's start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/task.h"

namespace simile {

struct DistillationOptions {
  std::string teacher;               // a model folder, or a built-in model's name
  std::string student = "static";    // or so many of the teacher's layers, or a model to begin with
  std::string data;                  // texts, one a line, or a table
  std::vector<std::string> columns;  // of a table: the one or two whose texts count
  TableOptions table;                // of `data`, without on_error
  std::string precision = "fp32";    // of the teacher's products, kernel/matrix_product.h
  double epochs = 10;
  double learning_rate = 0;  // 0: 2e-3 for a static student, 2e-4 for others
  int64_t dimensions = 0;    // of a static student, fewer than the teacher's; 0: as many
  std::vector<EvaluationOptions> tests;
  std::string output;  // the folder of the run
};

// Writes recipe.yaml into the output, for train() in the same folder, and, unless the student is a
// model already, the folder start/ that it begins with (simile/derive/convert.h). The student
// learns the directions of the teacher's vectors if its own have the same size, else the teacher's
// cosines. Paths in it are absolute, except that of start/. Returns its path.
//
// `resume` keeps both as they are. Errors: kUsage for an output that holds a run (unless `resume` or
// `overwrite`), a run to resume that was begun with other options, columns of no table, a student
// that is none of the three, dimensions of a student that is not static, epochs or a learning rate
// that are not above 0; those of save_shortened_model() and save_token_table().
std::string prepare_distillation(const DistillationOptions& options, bool resume, bool overwrite,
                                 EventSink& events);

// Writes a trained model with the requested dimensions into the folder reduced/ of the output and
// returns its path; does nothing without them. They come after training, which has more to learn
// from all numbers of the teacher's vectors. Errors: those of save_reduced_table().
std::optional<std::string> reduce_student(const DistillationOptions& options,
                                          const std::string& model, EventSink& events);

}  // namespace simile
