// SPDX-License-Identifier: Apache-2.0
// Whether what a run folder keeps to go on from is as it was written: states, weights kept for
// later stages, teachers' vectors, mined negatives, and the model; and of a run that has ended its
// results.json, with the metrics.jsonl and predictions that they are of. The other files are for
// people.
#pragma once

#include <cstdint>
#include <string>

namespace simile {

// Files verified, of each kind.
struct RunCheck {
  int64_t states = 0;
  int64_t stages = 0;
  int64_t teachers = 0;
  int64_t mined = 0;
  int64_t results = 0;  // results.json, metrics.jsonl and predictions
  int64_t model = 0;    // 0 too where checksums.json is missing
};

// Of a run with several seeds, of all of them. Errors (ErrorKind::kInput): no run folder, and the
// first file that is damaged.
RunCheck check_run(const std::string& path);

}  // namespace simile
