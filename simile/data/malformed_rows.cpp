// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/malformed_rows.h"

#include <fmt/format.h>

namespace simile {
namespace {

constexpr size_t kKeptProblems = 10;
constexpr size_t kProblemBytes = 300;
constexpr int64_t kRowsToJudgeBy = 20;

}  // namespace

void leave_out_malformed(const RowError& error, bool skip_malformed, ReadReport& report) {
  if (!skip_malformed) throw error;
  ++report.malformed;
  if (report.problems.size() == kKeptProblems) return;
  report.problems.push_back(shorten_text(error.what(), kProblemBytes));
}

void check_malformed(const ReadReport& report) {
  const int64_t seen = report.rows + report.filtered + report.malformed;
  const bool none_left = report.malformed == seen;
  if (report.malformed == 0) return;
  SIMILE_CHECK(!none_left && (seen < kRowsToJudgeBy || report.malformed * 2 <= seen),
               ErrorKind::kInput,
               fmt::format("{}: {} of {} rows are malformed, too many to leave out; the options do "
                           "not fit the file, or it is damaged. The first: {}",
                           report.file, report.malformed, seen, report.problems.front()));
}

}  // namespace simile
