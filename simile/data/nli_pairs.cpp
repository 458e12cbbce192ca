// SPDX-License-Identifier: Apache-2.0
#include "simile/data/nli_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "simile/core/error.h"
#include "simile/data/reader.h"

namespace simile {
namespace {

enum class Label { kEntailment, kNeutral, kContradiction, kNone };

struct Premise {
  std::string text;
  std::vector<std::string> entailed, contradicted;

  bool is_complete() const { return !entailed.empty() && !contradicted.empty(); }
};

struct Premises {
  std::vector<Premise> list;  // in order of appearance
  int64_t unused_rows = 0;
};

Label parse_label(const TableReader& reader, const Row& row, size_t column,
                  const std::vector<std::string>& labels) {
  const std::string& label = row.fields[column];
  if (!labels.empty()) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) return static_cast<Label>(found - labels.begin());
    reader.fail(
        row, column,
        fmt::format("expected {} (class_names), found '{}'", fmt::join(labels, ", "), label));
  }
  if (label == "entailment" || label == "0") return Label::kEntailment;
  if (label == "neutral" || label == "1") return Label::kNeutral;
  if (label == "contradiction" || label == "2") return Label::kContradiction;
  if (label.empty() || label == "-" || label == "-1") return Label::kNone;
  reader.fail(
      row, column,
      fmt::format("expected entailment, neutral or contradiction (or 0, 1, 2), found '{}'", label));
}

Premises read_premises(TableReader& reader, const std::vector<std::string>& labels) {
  Premises premises;
  std::unordered_map<std::string, size_t> places;
  for (Row row; reader.next(row);) {
    Label label = Label::kNone;
    if (!reader.accept([&] { label = parse_label(reader, row, 2, labels); })) continue;
    std::string& premise = row.fields[0];
    std::string& hypothesis = row.fields[1];
    if (label == Label::kNone || premise.empty() || hypothesis.empty()) {
      ++premises.unused_rows;
      continue;
    }
    const auto [place, is_new] = places.emplace(premise, premises.list.size());
    if (is_new) premises.list.push_back({std::move(premise), {}, {}});
    Premise& found = premises.list[place->second];
    if (label == Label::kEntailment) found.entailed.push_back(std::move(hypothesis));
    if (label == Label::kContradiction) found.contradicted.push_back(std::move(hypothesis));
  }
  return premises;
}

}  // namespace

PairDataset read_nli_pairs(const std::vector<std::string>& paths, const NliColumns& columns,
                           int64_t limit, const ReadOptions& rows) {
  SIMILE_CHECK(columns.labels.empty() || columns.labels.size() == 3, ErrorKind::kRecipe,
               fmt::format("class_names of the format nli: expected three, of entailment, neutral "
                           "and contradiction, found {}",
                           columns.labels.size()));
  TableReader reader(
      paths,
      {{"left", {columns.premise}}, {"right", {columns.hypothesis}}, {"label", {columns.label}}},
      rows);
  const Premises premises = read_premises(reader, columns.labels);
  PairDataset data;
  data.negatives.resize(1);
  int64_t incomplete = 0;
  for (const Premise& premise : premises.list) {
    incomplete += !premise.is_complete();
    if (!premise.is_complete()) continue;
    for (size_t i = 0; i < premise.entailed.size(); ++i) {
      if (limit > 0 && data.size() == limit) break;
      data.left.push_back(premise.text);
      data.right.push_back(premise.entailed[i]);
      data.negatives[0].push_back(premise.contradicted[i % premise.contradicted.size()]);
      data.score.push_back(1);
    }
  }
  const std::string read = fmt::format(
      "{}: {} of {} premises lack an entailed or a contradicted hypothesis and were left out{}",
      reader.report().file, incomplete, premises.list.size(),
      premises.unused_rows == 0
          ? ""
          : fmt::format("; {} rows without a label or a text were not used", premises.unused_rows));
  SIMILE_CHECK(data.size() > 0, ErrorKind::kInput,
               fmt::format("no triple was found, expected premises with a hypothesis labelled "
                           "entailment and one labelled contradiction; {}",
                           read));
  data.report = reader.report();
  data.notes.push_back(fmt::format("{}; {} triples", read, data.size()));
  return data;
}

}  // namespace simile
