// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/order_table.h"

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/unused_options.h"
#include "simile/kernel/matrix_product.h"
#include "simile/neighbours/neighbours.h"

namespace simile {
namespace {

constexpr const char* kAutoPrecision = "auto";

// The orders whose rows take an option.
std::vector<std::string> orders_with(OrderRow::Needs option) {
  std::vector<std::string> names;
  for (const OrderRow& row : order_table()) {
    if (row.has(option)) names.push_back(row.name);
  }
  return names;
}

// A column of the examples to order.
std::vector<int32_t> pick(const OrderData& data, const std::vector<int32_t>& column) {
  if (data.placed == nullptr) return column;
  std::vector<int32_t> picked;
  for (const int32_t example : *data.placed) picked.push_back(column[example]);
  return picked;
}

}  // namespace

const std::vector<OrderRow>& order_table() {
  static const std::vector<OrderRow> table = {
      random_row(),          sequential_row(), no_duplicates_row(),
      neighbours_row(),      words_row(),      clusters_row(),
      neighbour_words_row(), classes_row(),    length_bucketed_row(),
  };
  return table;
}

const OrderRow& find_order(const std::string& name) {
  for (const OrderRow& row : order_table()) {
    if (name == row.name) return row;
  }
  throw_error(ErrorKind::kRecipe, "there is no order '{}'", name);
}

void OrderOptions::visit(OptionVisitor& v) {
  OptionInfo choices{"order of the examples in an epoch"};
  for (const OrderRow& row : order_table()) {
    choices.help +=
        fmt::format("{} {}: {}", choices.choices.empty() ? ":" : ";", row.name, row.help);
    choices.choices.push_back(row.name);
  }
  v.field("name", name, choices);
  v.only_for("name", orders_with(OrderRow::kGroups), [&](OptionVisitor& of) {
    of.field("group_size", group_size,
             {"examples in a group of similar ones, or of one class in a batch", "examples", 1});
  });
  v.only_for("name", orders_with(OrderRow::kSide), [&](OptionVisitor& of) {
    of.field("side", side, choice_info("the text that decides", {"left", "right"}));
  });
  for (const OrderRow& row : order_table()) {
    if (row.visit == nullptr) continue;
    v.only_for("name", {row.name}, [&](OptionVisitor& of) { row.visit(*this, of); });
  }
  v.only_for("name", orders_with(OrderRow::kVectors), [&](OptionVisitor& of) {
    std::vector<std::string> names = precision_names();
    names.insert(names.begin(), kAutoPrecision);
    of.field("precision", precision,
             choice_info("products of the vectors that are compared; int8 and bf16 make the order "
                         "several times cheaper; auto: int8, on a GPU fp32",
                         names));
  });
  v.only_for("name", orders_with(OrderRow::kLabelledNegatives), [&](OptionVisitor& of) {
    of.field("labelled_negatives", labelled_negatives,
             {"pairs labelled negative that join the batch of a positive pair with the same left "
              "text, at most this number for each such text; 0: they are ordered like all others",
              "pairs", 0, 1e6});
    of.field("positive_above", positive_above,
             {"labelled_negatives: pairs with a target above it are positive; negative: the "
              "threshold of the loss, 0.5 for a loss that has none"});
  });
}

std::string OrderOptions::chosen_precision(bool on_cpu) const {
  if (precision != kAutoPrecision) return precision;
  return on_cpu ? "int8" : "fp32";
}

void check_order_options(const OrderOptions& options, const std::string& file) {
  const OrderOptions untouched;
  const std::string foreign = find_foreign_options("order", "name", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, "{}: {}", file, foreign);
  choose_precision(options.chosen_precision(true));
  SIMILE_CHECK(options.labelled_negatives > 0 || options.positive_above == untouched.positive_above,
               ErrorKind::kRecipe,
               "{}: order.positive_above tells labelled negatives from positives and does "
               "nothing alone; set order.labelled_negatives too, or remove it",
               file);
}

int64_t OrderData::size() const {
  return static_cast<int64_t>(placed != nullptr ? placed->size() : left.size());
}

TextColumns OrderData::text_columns(bool with_negatives) const {
  TextColumns columns = {pick(*this, left)};
  if (!right.empty()) columns.push_back(pick(*this, right));
  if (!with_negatives) return columns;
  for (const auto& column : negatives) columns.push_back(pick(*this, column));
  return columns;
}

std::vector<int32_t> OrderData::side() const {
  return pick(*this, options.side == "left" ? left : right);
}

std::vector<int64_t> OrderData::lengths() const {
  std::vector<int64_t> lengths(size(), 0);
  for (const auto& column : text_columns(true)) {
    for (size_t i = 0; i < column.size(); ++i) {
      lengths[i] += static_cast<int64_t>(texts[column[i]].size());
    }
  }
  return lengths;
}

Matrix<float> OrderData::vectors() const {
  const std::vector<int32_t> numbers = side();
  std::vector<int32_t> distinct = numbers;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::vector<int32_t>> sequences;
  std::vector<int64_t> row_of_text(texts.size());
  for (const int32_t text : distinct) {
    row_of_text[text] = static_cast<int64_t>(sequences.size());
    sequences.push_back(texts[text]);
  }
  const Matrix<float> rows = embed(sequences);
  Matrix<float> vectors(size(), rows.cols);
  for (int64_t i = 0; i < size(); ++i) {
    const auto text = static_cast<size_t>(numbers[i]);
    std::copy_n(rows.row(row_of_text[text]), rows.cols, vectors.row(i));
  }
  return vectors;
}

void OrderData::tell(const NeighbourReport& report) const {
  if (report.recall >= 1 || events == nullptr) return;
  events->info(fmt::format("{}: neighbours by {}, which finds {:.1f} % of the nearest", file,
                           report.method, 100 * report.recall));
}

}  // namespace simile
