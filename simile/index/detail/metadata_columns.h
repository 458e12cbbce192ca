// SPDX-License-Identifier: Apache-2.0
// Metadata of documents, column by column, and which rows a filter (metadata_filter.h) selects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/index/detail/filter_node.h"

namespace simile::detail {

// The object of a Document's metadata; an empty one for an empty text. Errors (kInput): no object
// of texts, numbers and truth values.
Json read_metadata(const std::string& metadata);

// Each distinct value stands once.
class MetadataColumn {
 public:
  explicit MetadataColumn(int64_t rows) : values_of_rows_(static_cast<size_t>(rows), kNone) {}

  // The member `name` of `metadata`, if it has one.
  void set_from(int64_t row, const std::string& name, const Json& metadata);
  // Of each row, whether it has a value and the test holds.
  std::vector<char> select(const FilterNode& test) const;
  int64_t bytes() const;

 private:
  static constexpr int32_t kNone = -1;

  std::vector<int32_t> values_of_rows_;
  std::vector<Json> values_;
  std::unordered_map<std::string, int32_t> places_;  // of values, as JSON
  int64_t text_bytes_ = 0;
};

using MetadataColumns = std::map<std::string, std::shared_ptr<const MetadataColumn>>;

// 1 for each row that matches. `columns` has those of the filter, each of `rows` rows.
std::vector<char> select_rows(const FilterNode& filter, const MetadataColumns& columns,
                              int64_t rows);

}  // namespace simile::detail
