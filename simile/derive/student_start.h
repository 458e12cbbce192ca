// SPDX-License-Identifier: Apache-2.0
// What a model's student begins with: its own layers, fewer of them, or a static table of what it
// gives single tokens; and a static student made narrower. All keep its tokenizer, prompts and
// similarity, and have no task heads.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/error.h"

namespace simile {

// Writes the model with `layers` of its layers, of a joined model in each part that has more: the
// first, the last, and those evenly between them; of one the first. Word embeddings, pooling and
// modules stay. Errors: kUsage for a static model, for layers below 1 or
// not fewer than it has, and for local layers (ModernBERT), whose places decide what they see;
// those of open_model_folder() and save_model_folder().
void save_shortened_model(const std::string& model, const std::string& output, int64_t layers,
                          EventSink& events);

// Writes a static model in which the row of a token that is part of a word
// (ppmi_start.h) is the vector that the model gives it alone, between the special
// tokens of a text (Minish Lab, Model2Vec, 2024), and of others zero. Errors: as above.
void save_token_table(const std::string& model, const std::string& output, EventSink& events);

// Writes a static model turned to the principal axes of its table (whiten.h), of
// which the first `dimensions` are kept. Errors: kUsage for a model that is not one table, and for
// dimensions that are not fewer than its own; as above.
void save_reduced_table(const std::string& model, const std::string& output, int64_t dimensions,
                        EventSink& events);

}  // namespace simile
