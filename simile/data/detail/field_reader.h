// SPDX-License-Identifier: Apache-2.0
// The texts of any file, field by field, whatever its columns are. Used by simile/data/overlap.h
// and leave_out.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/data/reader.h"

namespace simile {

// A file whose name ends in .tsv, .csv or .jsonl (also with .gz or .zst) is a table: the fields of
// all its columns, or of those in `columns`; of .jsonl only texts. Any other file is a list of
// texts, one a line. Errors: ErrorKind::kInput for a table with none of `columns`, and what the
// readers report.
class FieldReader {
 public:
  FieldReader(const std::string& path, const std::vector<std::string>& columns);
  FieldReader(FieldReader&&) noexcept;
  ~FieldReader();

  // The texts of the next row in `fields`, and its line (from 1). False at the end.
  bool next(std::vector<std::string>& fields, int64_t& line);

  const ReadReport& report() const;

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace simile
