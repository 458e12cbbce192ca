// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/metadata_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile::detail {

Json read_metadata(const std::string& metadata) {
  if (metadata.empty()) return Json::object();
  Json object = parse_json(metadata, "metadata");
  SIMILE_CHECK(object.is_object(), ErrorKind::kInput,
               fmt::format("metadata: expected a JSON object, found {}", describe_json(object)));
  for (const auto& [name, value] : object.items()) {
    SIMILE_CHECK(
        value.is_string() || value.is_number() || value.is_boolean(), ErrorKind::kInput,
        fmt::format("metadata: expected a text, a number, true or false for '{}', found {}", name,
                    describe_json(value)));
  }
  return object;
}

void MetadataColumn::set_from(int64_t row, const std::string& name, const Json& metadata) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) return;
  const auto [place, is_new] =
      places_.emplace(dump_json(*found, -1), static_cast<int32_t>(values_.size()));
  if (is_new) {
    values_.push_back(comparable(*found));
    text_bytes_ += static_cast<int64_t>(place->first.size());
  }
  values_of_rows_[static_cast<size_t>(row)] = place->second;
}

std::vector<char> MetadataColumn::select(const FilterNode& test) const {
  std::vector<char> holds(values_.size());
  std::transform(values_.begin(), values_.end(), holds.begin(),
                 [&](const Json& value) { return static_cast<char>(test.holds(value)); });
  std::vector<char> selected(values_of_rows_.size());
  std::transform(
      values_of_rows_.begin(), values_of_rows_.end(), selected.begin(),
      [&](int32_t value) { return value == kNone ? char{0} : holds[static_cast<size_t>(value)]; });
  return selected;
}

int64_t MetadataColumn::bytes() const {
  constexpr int64_t kOfValue = 128;  // in the list and in the table, beside the text in both
  return static_cast<int64_t>(values_of_rows_.size() * sizeof(int32_t)) +
         static_cast<int64_t>(values_.size()) * kOfValue + 2 * text_bytes_;
}

std::vector<char> select_rows(const FilterNode& filter, const MetadataColumns& columns,
                              int64_t rows) {
  if (filter.kind == FilterNode::Kind::kTest) return columns.at(filter.column)->select(filter);
  const bool is_every = filter.kind == FilterNode::Kind::kEvery;
  std::vector<char> selected(static_cast<size_t>(rows), is_every ? char{1} : char{0});
  for (const FilterNode& part : filter.parts) {
    const std::vector<char> of_part = select_rows(part, columns, rows);
    for (size_t row = 0; row < selected.size(); ++row) {
      selected[row] =
          static_cast<char>(is_every ? selected[row] & of_part[row] : selected[row] | of_part[row]);
    }
  }
  if (filter.kind == FilterNode::Kind::kNot) {
    for (char& one : selected) one = static_cast<char>(one ^ 1);
  }
  return selected;
}

}  // namespace simile::detail
