// SPDX-License-Identifier: Apache-2.0
// Texts to choose from: a corpus of which only the texts are asked for.
#pragma once

#include <string>
#include <vector>

#include "simile/core/event.h"

namespace simile {

// Of a .tsv, .csv or .jsonl file (also with .gz or .zst) the column `text`, with `title` and a
// space before it where there is one; of any other file each line. Blank texts are left out. Broken
// bytes are told to `events`. Errors (ErrorKind::kInput): no such column, no text at all, and what
// the readers report.
std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events);

}  // namespace simile
