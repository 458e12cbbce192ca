// SPDX-License-Identifier: Apache-2.0
#include "simile/data/candidate_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/data/detail/field_reader.h"
#include "simile/text/utf8.h"

namespace simile {

std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events) {
  FieldReader reader(path, {"title", "text"});
  std::vector<std::string> texts, fields;
  for (int64_t line = 0; reader.next(fields, line);) {
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [](const std::string& field) { return is_blank(field); }),
                 fields.end());
    if (!fields.empty()) texts.push_back(fmt::format("{}", fmt::join(fields, " ")));
  }
  SIMILE_CHECK(
      !texts.empty(), ErrorKind::kInput,
      fmt::format("{}: no text was found; expected a column 'text', or one text a line", path));
  if (!reader.report().warning().empty()) events.warning(reader.report().warning());
  return texts;
}

}  // namespace simile
