// SPDX-License-Identifier: Apache-2.0
// A small student of a model there is: a recipe of the loss `distill`
// (simile/loss/teacher_losses.h) with that model as its teacher, and what the student begins with.
// Training is train()'s.
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
  double epochs = 10;
  double learning_rate = 0;  // 0: 2e-3 for a static student, 2e-4 for others
  int64_t dimensions = 0;    // of a static student, fewer than the teacher's; 0: as many
  std::vector<EvaluationOptions> tests;
  std::string output;  // the folder of the run
};

// Writes recipe.yaml into the output, for train() in the same folder, and, but for a student that
// is a model already, the folder start/ that it begins with (simile/derive/convert.h). The
// student learns the directions of the teacher's vectors where its own have as many numbers, else
// the teacher's cosines. Paths in it are absolute, but that of start/. Returns its path.
//
// Errors: kUsage for an output that holds a run (unless `overwrite`), columns of no table, a
// student that is neither of the three, dimensions of a student that is not static, epochs or a
// learning rate that are not above 0; those of save_shortened_model() and save_token_table(). The
// rest is for train() to check.
std::string prepare_distillation(const DistillationOptions& options, bool overwrite,
                                 EventSink& events);

// Writes a trained model with the dimensions asked for into the folder reduced/ of the
// output, whose path it returns; nothing without. They come after training, which has more to learn
// from all numbers of the teacher's vectors. Errors: those of save_reduced_table().
std::optional<std::string> reduce_student(const DistillationOptions& options,
                                          const std::string& model, EventSink& events);

}  // namespace simile
