// SPDX-License-Identifier: Apache-2.0
// Rows that cannot be read: an error, or left out and counted. Used by the readers.
#pragma once

#include "simile/data/detail/row_parser.h"
#include "simile/data/reader.h"

namespace simile {

// Throws `error` unless rows are to be left out; then `report` counts it and keeps the first ones.
void leave_out_malformed(const RowError& error, bool skip_malformed, ReadReport& report);

// At the end: more than half of at least 20 rows malformed is an error (ErrorKind::kInput), and so
// is none but malformed ones.
void check_malformed(const ReadReport& report);

}  // namespace simile
