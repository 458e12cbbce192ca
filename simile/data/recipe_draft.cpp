// SPDX-License-Identifier: Apache-2.0
#include "simile/data/recipe_draft.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/text_table.h"
#include "simile/data/column_kinds.h"
#include "simile/data/detail/pair_rows.h"
#include "simile/data/line_reader.h"
#include "simile/data/ranking_data.h"
#include "simile/text/words.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSteps = 1000;        // that 1 to 10 epochs should come to
constexpr int64_t kRowsForATest = 500;  // fewer are all for training and dev

bool is_text(const ColumnSummary& column) { return column.kind == ColumnKind::kText; }
bool is_class(const ColumnSummary& column) {
  return column.distinct > 1 && 2 * column.distinct <= column.filled;
}
bool is_label(const ColumnSummary& column) { return column.kind == ColumnKind::kLabel; }
bool is_truth(const ColumnSummary& column) {
  const std::string value = lower_text(column.example);
  return is_label(column) && column.distinct == 2 &&
         (value == "true" || value == "false" || value == "yes" || value == "no");
}
bool is_score(const ColumnSummary& column) {
  return column.kind == ColumnKind::kNumber && column.minimum < column.maximum;
}

// Takes a column that is called a score also where fields of it are no numbers: reading names the
// first, and to leave the column out would train all pairs as equals. A `label` may be a class.
bool is_named_score(const ColumnSummary& column) {
  const bool has_others = column.kind != ColumnKind::kNumber && column.kind != ColumnKind::kEmpty;
  return is_score(column) || (has_others && column.name != "label");
}

std::string quote(const std::string& text) {
  const bool is_plain = text.find_first_of(" \"'#&*!|>%@`{}[],:?~=\t\n\r") == std::string::npos &&
                        !text.empty() && text[0] != '-' && text != "null";
  return is_plain ? text : nlohmann::json(text).dump();
}

class Draft {
 public:
  explicit Draft(const DraftOptions& options)
      : options_(options),
        columns_(read_columns(options.data, options.table)),
        roles_(columns_.size()) {}

  RecipeDraft make() {
    choose_columns();
    choose_task();
    const auto& [on_error, delimiter, encoding] = options_.table;
    if (options_.table.skips()) read_ += ", on_error: skip";
    if (!delimiter.empty()) read_ += fmt::format(", delimiter: {}", quote(delimiter));
    if (!encoding.empty()) read_ += fmt::format(", encoding: {}", quote(encoding));
    choose_parts();
    return {name_of_run(), write(), describe_findings()};
  }

 private:
  // Gives a role to a column without one: to that named `given`; without a name to the first that
  // fits, of those called one of `usual` if there are such. Returns its name, or "".
  template <typename Fits>
  std::string take(const char* role, const std::string& given, const Fits& fits,
                   const std::vector<std::string>& usual = {}) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string& name = columns_[c].name;
      const bool is_usual = usual.empty() || std::count(usual.begin(), usual.end(), name) > 0;
      const bool is_good = given.empty() ? is_usual && fits(columns_[c]) : name == given;
      if (!roles_[c].empty() || !is_good) continue;
      roles_[c] = role;
      return name;
    }
    SIMILE_CHECK(given.empty(), ErrorKind::kUsage,
                 "{}: no column '{}' is there, or free, for the {}; the columns look like {}",
                 options_.data, given, role, describe(columns_));
    return "";
  }

  // The columns that are called as those of pairs usually are, by what `sides` leaves of them.
  std::vector<std::string> usual(const PairDataOptions& sides) const {
    std::vector<std::string> names;
    for (const ColumnSummary& column : columns_) names.push_back(column.name);
    names = used_columns(sides, names);
    names.push_back("");  // finds none, where an empty list would let all pass
    return names;
  }

  void choose_columns() {
    for (const ColumnSummary& column : columns_) rows_ = std::max(rows_, column.filled);
    const auto is_negative = [](const ColumnSummary& column) {
      return is_text(column) && starts_with(lower_text(column.name), "neg");
    };
    for (std::string name; !(name = take("negative", "", is_negative)).empty();) {
      negatives_.push_back(quote(name));
    }
    PairDataOptions lefts, pairs, scores;
    lefts.right = lefts.score = pairs.score = "";
    const bool is_alone = std::count_if(columns_.begin(), columns_.end(), is_text) == 1;
    left_ = take("left", options_.left, is_text, usual(lefts));
    const std::string single =
        left_.empty() ? take("left", "", is_text, {"text", "sentence", "content"}) : "";
    left_ += single;
    if (is_alone || (!single.empty() && options_.right.empty())) {
      if (left_.empty()) left_ = take("left", "", is_text);
      label_ = take("class", options_.label, is_class, {"label", "class", "category", "intent"});
      if (label_.empty()) label_ = take("class", "", is_label);
    }
    if (label_.empty()) right_ = take("right", options_.right, is_text, usual(pairs));
    if (left_.empty()) left_ = take("left", "", is_text);
    if (right_.empty() && label_.empty()) right_ = take("right", "", is_text);
    if (!right_.empty()) choose_teacher(usual(scores));
    SIMILE_CHECK(
        (options_.right.empty() || !right_.empty()) && (options_.score.empty() || !score_.empty()),
        ErrorKind::kUsage,
        "a score is one of two texts, without a class: give --left, --right and --score");
    SIMILE_CHECK(!left_.empty() && !(right_.empty() && label_.empty()), ErrorKind::kInput,
                 "{}: found no two columns of texts, nor one beside a class, to learn from; name "
                 "the columns with --left and --right or --label; they look like {}",
                 options_.data, describe(columns_));
  }

  // The score of pairs, or their class, as which numbers beside a premise count.
  void choose_teacher(const std::vector<std::string>& usual_scores) {
    const bool is_nli = left_ == "premise" && options_.score.empty();
    if (options_.label.empty() && !is_nli) {
      const auto may_be = [](const ColumnSummary& column) {
        return is_score(column) && column.minimum >= -1 && column.maximum <= 10 &&
               !ends_with(lower_text(column.name), "id");
      };
      const bool is_only = std::count_if(columns_.begin(), columns_.end(), may_be) == 1;
      score_ = take("score", options_.score, is_named_score, usual_scores);
      if (score_.empty() && is_only) score_ = take("score", "", may_be);
    }
    if (!score_.empty()) return;
    label_ = take("class", options_.label, is_nli ? is_class : is_label, {"label", "gold_label"});
    if (label_.empty()) label_ = take("class", "", is_truth);
  }

  void choose_task() {
    const std::string sides = fmt::format("left: {}, right: {}", quote(left_), quote(right_));
    if (!label_.empty()) {
      what_ = right_.empty() ? "texts with a class" : "pairs with a class";
      read_ = fmt::format("{}, label: {}",
                          right_.empty() ? "text: " + quote(left_) : "text: \"\", " + sides,
                          quote(label_));
      task_ = "classification", metric_ = "accuracy", loss_ = "softmax_classification";
      return;
    }
    read_ = fmt::format("{}, score: {}", sides, quote(score_));
    if (!negatives_.empty()) read_ += fmt::format(", negatives: [{}]", fmt::join(negatives_, ", "));
    what_ = negatives_.empty() ? "pairs that belong together" : "pairs with negatives";
    if (score_.empty()) return;
    const ColumnSummary& score = *std::find_if(
        columns_.begin(), columns_.end(), [&](const auto& each) { return each.name == score_; });
    const ScoreMapping mapping = guess_score_mapping(score.minimum, score.maximum);
    if (mapping.offset != 0) read_ += fmt::format(", score_offset: {:g}", mapping.offset);
    if (mapping.scale != 1) read_ += fmt::format(", score_scale: {:g}", mapping.scale);
    const bool is_binary = score.distinct == 2;
    what_ = is_binary ? "pairs that belong together or not" : "pairs with a score";
    task_ = is_binary ? "pairs" : "sts", metric_ = is_binary ? "ap" : "spearman", loss_ = "cosent";
  }

  void choose_parts() {
    const fs::path table(options_.data);
    const std::string name = table.filename().string();
    const std::string folder = table.has_parent_path() ? table.parent_path().string() : ".";
    const std::string train = (table.parent_path() / ("train" + name.substr(4))).string();
    SIMILE_CHECK(!starts_with(name, "test") || !file_exists(train), ErrorKind::kUsage,
                 "'{}' is named as a test, on which nothing may train; give '{}'", options_.data,
                 train);
    // The keys of an evaluation's data, or "". `names` are the possible file names of this part.
    const auto find = [&](std::string file, const std::vector<std::string>& names) -> std::string {
      const bool looks = file.empty() && starts_with(name, "train");
      const std::string rest = name.substr(std::min<size_t>(5, name.size()));
      for (const std::string& part : names) {
        for (const std::string& end : {rest, std::string(".tsv"), std::string(".csv")}) {
          const std::string beside = (table.parent_path() / (part + end)).string();
          if (looks && file.empty() && file_exists(beside) && has_columns(beside)) file = beside;
        }
      }
      if (!file.empty()) return fmt::format("data: {}, {}", quote(file), read_);
      const bool is_set = looks && task_ == "ranking" && has_ranking_split(folder, names[0]);
      return is_set ? fmt::format("folder: {}, split: {}", quote(folder), names[0]) : "";
    };
    dev_ = find(options_.dev, {"dev", "valid", "validation", "val"});
    test_ = find(options_.test, {"test"});
    if (!dev_.empty()) return;
    const bool has_test = test_.empty() && rows_ >= kRowsForATest;
    // The largest group, which may be most of the table, is in fold 0: dev and test are the last.
    const auto folds = [&](const char* part) {
      return fmt::format(", folds: 10, fold: {}, part: {}", has_test ? 8 : 9, part);
    };
    const std::string table_read = fmt::format("data: {}, {}", quote(options_.data), read_);
    trained_ = folds(has_test ? "fit" : "train");
    dev_ = table_read + folds(has_test ? "dev" : "test");
    if (has_test) test_ = table_read + folds("test");
  }

  // Has the file the columns that are read? Tells the user what it lacks.
  bool has_columns(const std::string& file) {
    const std::vector<ColumnSummary> found = summarise_columns(file, options_.table);
    for (const std::string& name : {left_, right_, score_, label_}) {
      const auto is_it = [&](const ColumnSummary& column) { return column.name == name; };
      if (name.empty() || std::any_of(found.begin(), found.end(), is_it)) continue;
      notes_ += fmt::format("not used: {}, which has no column '{}'\n", file, name);
      return false;
    }
    return true;
  }

  // By the table, or of a table train.* by its folder.
  std::string name_of_run() const {
    const fs::path file = fs::absolute(without_compression(options_.data)).lexically_normal();
    const bool is_train = starts_with(file.filename().string(), "train");
    return (is_train && file.has_parent_path() ? file.parent_path().filename() : file.stem())
        .string();
  }

  std::string write() const {
    const bool has_head = !label_.empty();
    const int64_t batch = task_ == "ranking" && rows_ >= 500 ? 64 : 32;
    const int64_t steps = std::max<int64_t>(1, rows_ / batch);
    std::string yaml = fmt::format(
        "# {} rows: {}. Change what you like.\nname: {}  # of the run: runs/NAME\nseed: 1\n"
        "model: {}  # to start from\n",
        rows_, what_, quote(name_of_run()), quote(options_.model));
    if (has_head) {
      yaml +=
          fmt::format("heads: {{name: class, output: classes, {}}}\n",
                      right_.empty() ? "kind: linear, input: single" : "kind: concat, input: pair");
    }
    yaml += fmt::format(
        "stages:\n  objectives:\n    data: {{path: {}, {}{}{}}}\n    loss: {}  # {}\n{}"
        "    order: random  # neighbours puts similar examples into one batch\n"
        "    batch_size: {}\n  epochs: {}\n"
        "  selection: {{metric: dev.{}}}  # keeps the weights that are best there\n",
        quote(options_.data), has_head ? "format: classes, " : "", read_, trained_, loss_,
        loss_ == "mnrl"     ? "the other right texts of a batch are the negatives"
        : loss_ == "cosent" ? "puts the similarities in the order of the scores"
                            : "of the head's classes",
        has_head ? "    head: class\n" : "", batch,
        std::clamp<int64_t>((kSteps + steps / 2) / steps, 1, 10), metric_);
    for (const auto& [key, name, read] :
         {std::tuple("evaluations", "dev", dev_), {"tests", "test", test_}}) {
      if (read.empty()) continue;
      yaml += fmt::format("{}: {{name: {}, task: {}, {}{}}}\n", key, name, task_, read,
                          has_head ? ", head: class" : "");
    }
    return yaml;
  }

  std::string describe_findings() const {
    TableRows rows = {{"column", "different", "taken for"}};
    for (size_t c = 0; c < columns_.size(); ++c) {
      rows.push_back({describe({columns_[c]}), std::to_string(columns_[c].distinct),
                      roles_[c].empty() ? "nothing" : roles_[c]});
    }
    const auto where = [&](const std::string& part) -> std::string {
      if (part.empty()) return "none";
      return part.find(", folds: ") == std::string::npos
                 ? part.substr(0, part.find(", " + read_))
                 : "a tenth of the table, with texts that training does not see";
    };
    return fmt::format(
        "{}: {} rows, {}\n{}loss: {}\ndev: {}; its {} chooses the weights\ntest: {}\n{}",
        options_.data, rows_, what_, text_table(rows, {2, "lrl"}), loss_, where(dev_), metric_,
        where(test_), notes_);
  }

  const DraftOptions& options_;
  const std::vector<ColumnSummary> columns_;
  std::vector<std::string> roles_, negatives_;  // of each column; names as YAML
  int64_t rows_ = 0;
  std::string left_, right_, score_, label_;
  std::string what_, task_ = "ranking", metric_ = "map", loss_ = "mnrl";
  std::string read_, trained_, dev_, test_;  // YAML: columns, part trained on, data of evaluations
  std::string notes_;
};

}  // namespace

void DraftOptions::visit(OptionVisitor& v) {
  v.field("model", model, {"Model to start from: a folder, a built-in model, or ORG/NAME"});
  v.field("dev", dev,
          {"Table that chooses the best weights; dev.* beside train.*, or a part of "
           "the table, by default"});
  v.field("test", test, {"Table to test on; test.* beside train.* by default"});
  v.field("left", left, {"Column of the first text, or the only one; found by default"});
  v.field("right", right, {"Column of the second text; found by default"});
  v.field("score", score, {"Column of the score; found by default"});
  v.field("label", label, {"Column of the class; found by default"});
  table.visit(v);
}

RecipeDraft draft_recipe(const DraftOptions& options) { return Draft(options).make(); }

}  // namespace simile
