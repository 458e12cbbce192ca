// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/data/detail/pair_rows.h"
#include "simile/data/detail/row_parser.h"
#include "simile/data/line_reader.h"
#include "simile/data/pair_data.h"
#include "simile/data/reader.h"
#include "simile/text/utf8.h"

namespace simile {
namespace {

// Classes by name, numbered from 0; new names get the next number unless classes were given.
class ClassNumbers {
 public:
  explicit ClassNumbers(const std::vector<std::string>& given) : is_open_(given.empty()) {
    for (const std::string& name : given) {
      SIMILE_CHECK(add(name), ErrorKind::kRecipe, "class_names: '{}' stands there twice", name);
    }
  }

  // -1 for a class that is not known.
  int32_t number(const std::string& name) {
    if (is_open_) add(name);
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }

  bool is_open() const { return is_open_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  bool add(const std::string& name) {
    const bool is_new = numbers_.emplace(name, static_cast<int32_t>(names_.size())).second;
    if (is_new) names_.push_back(name);
    return is_new;
  }

  bool is_open_;
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<std::string> names_;
};

// Brings the names into their order, and the numbers that rows have with them.
void sort_classes(PairDataset& data) {
  const std::vector<std::string> found = data.class_names;
  int64_t ignored = 0;
  const bool by_number = std::all_of(found.begin(), found.end(), [&](const std::string& name) {
    return parse_number(name, ignored);
  });
  const auto comes_before = [&](size_t a, size_t b) {
    int64_t x = 0, y = 0;
    if (by_number && parse_number(found[a], x) && parse_number(found[b], y) && x != y) return x < y;
    return found[a] < found[b];
  };
  std::vector<size_t> order(found.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), comes_before);
  std::vector<int32_t> place(found.size());
  for (size_t i = 0; i < order.size(); ++i) {
    data.class_names[i] = found[order[i]];
    place[order[i]] = static_cast<int32_t>(i);
  }
  for (int32_t& number : data.classes) number = place[static_cast<size_t>(number)];
}

std::vector<Column> list_columns(const PairDataOptions& options) {
  if (options.text.empty()) {
    return {{"left", {options.left}}, {"right", {options.right}}, {"label", {options.label}}};
  }
  std::vector<std::string> texts = {options.text};
  if (options.text == PairDataOptions().text) texts.emplace_back("text");  // as elsewhere
  return {{"text", texts}, {"label", {options.label}}};
}

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
    if (label == Label::kEntailment) {
      found.entailed.push_back(std::move(hypothesis));
    } else if (label == Label::kContradiction) {
      found.contradicted.push_back(std::move(hypothesis));
    }
  }
  return premises;
}

}  // namespace

PairDataset read_class_data(const PairDataOptions& options) {
  ClassNumbers classes(options.class_names);
  const std::vector<Column> wanted = list_columns(options);
  const int64_t last = options.limit == 0 ? 0 : options.skip + options.limit;
  TableReader reader(pair_files(options), wanted, row_options(options, last));
  PairDataset data;
  int64_t passed_over = 0;
  for (Row row; reader.next(row);) {
    int32_t number = 0;
    const bool is_sound = reader.accept([&] {
      for (size_t column = 0; column + 1 < wanted.size(); ++column) reader.check_text(row, column);
      if (passed_over < options.skip) return;  // the classes are those of the rows that are used
      const std::string& label = row.fields.back();
      if (is_blank(label)) reader.fail(row, wanted.size() - 1, "expected a class, found nothing");
      number = classes.number(label);
      if (number >= 0) return;
      reader.fail(row, wanted.size() - 1,
                  fmt::format("expected one of the classes {}, found '{}'",
                              list_names(classes.names()), label));
    });
    if (!is_sound) continue;
    if (passed_over < options.skip) {
      ++passed_over;
      continue;
    }
    data.classes.push_back(number);
    data.left.push_back(std::move(row.fields[0]));
    if (options.text.empty()) data.right.push_back(std::move(row.fields[1]));
    data.score.push_back(1);
  }
  data.report = reader.report();
  SIMILE_CHECK(data.size() > 0 || options.skip == 0, ErrorKind::kInput,
               "{}: skip passes over all of its {} rows", data.report.file, data.report.rows);
  data.class_names = classes.names();
  if (classes.is_open()) sort_classes(data);
  constexpr size_t kShownBytes = 60;
  data.notes.push_back(
      fmt::format("{}: {} classes: {}", data.report.file, data.class_names.size(),
                  shorten_text(fmt::format("{}", fmt::join(data.class_names, ", ")), kShownBytes)));
  return data;
}

PairDataset read_nli_pairs(const PairDataOptions& options) {
  const std::vector<std::string>& labels = options.class_names;
  SIMILE_CHECK(labels.empty() || labels.size() == 3, ErrorKind::kRecipe,
               "class_names of nli: expected entailment, neutral and contradiction, found {} names",
               labels.size());
  TableReader reader(
      pair_files(options),
      {{"left", {options.left}}, {"right", {options.right}}, {"label", {options.label}}},
      row_options(options, 0));
  const Premises premises = read_premises(reader, labels);
  PairDataset data;
  data.negatives.resize(1);
  int64_t incomplete = 0;
  for (const Premise& premise : premises.list) {
    incomplete += !premise.is_complete();
    if (!premise.is_complete()) continue;
    for (size_t i = 0; i < premise.entailed.size(); ++i) {
      if (options.limit > 0 && data.size() == options.limit) break;
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
               "no triple was found, expected premises with a hypothesis labelled "
               "entailment and one labelled contradiction; {}",
               read);
  data.report = reader.report();
  data.notes.push_back(fmt::format("{}; {} triples", read, data.size()));
  return data;
}

}  // namespace simile
