// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/predictions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/reader.h"
#include "simile/eval/detail/scored_pairs.h"

namespace simile {
namespace {

using Names = std::vector<std::string>;

const Names kQueryHead = {"query_id", "query"};
const Names kQueryTail = {"first_relevant", "top_id", "top_text", "relevant_id", "relevant_text"};

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool is_bad = c == '/' || c == '%' || static_cast<unsigned char>(c) < ' ' || c == 0x7F ||
                        (c == '.' && safe.empty());
    safe += is_bad ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return safe;
}

bool is_query_table(const Names& header) {
  return header.size() > kQueryHead.size() + kQueryTail.size() &&
         std::equal(kQueryHead.begin(), kQueryHead.end(), header.begin()) &&
         std::equal(kQueryTail.rbegin(), kQueryTail.rend(), header.rbegin());
}

// A table whose columns are those of its header.
TableReader open_table(const std::string& path, const Names& header) {
  std::vector<Column> columns;
  for (const std::string& name : header) columns.push_back({name, {name}});
  return TableReader(path, columns);
}

void read_scores(const Names& header, Predictions& predictions) {
  TableReader table = open_table(predictions.path, header);
  for (Row row; table.next(row);) {
    predictions.left.push_back(row.fields[0]);
    predictions.right.push_back(row.fields[1]);
    predictions.gold.push_back(table.number(row, 2));
    predictions.score.push_back(table.number(row, 3));
  }
}

void read_classes(const Names& header, Predictions& predictions) {
  predictions.kind = PredictionKind::kClasses;
  TableReader table = open_table(predictions.path, header);
  const size_t texts = header.size() - 3;
  for (Row row; table.next(row);) {
    predictions.left.push_back(row.fields[0]);
    if (texts == 2) predictions.right.push_back(row.fields[1]);
    predictions.gold_class.push_back(row.fields[texts]);
    predictions.predicted.push_back(row.fields[texts + 1]);
    predictions.probability.push_back(table.number(row, texts + 2));
  }
}

void read_queries(const Names& header, Predictions& predictions) {
  predictions.kind = PredictionKind::kQueries;
  TableReader table = open_table(predictions.path, header);
  const size_t tail = header.size() - kQueryTail.size();
  for (size_t c = kQueryHead.size(); c < tail; ++c) predictions.metrics.push_back(header[c]);
  predictions.values.resize(predictions.metrics.size());
  for (Row row; table.next(row);) {
    predictions.left.push_back(row.fields[0]);
    predictions.right.push_back(row.fields[1]);
    for (size_t m = 0; m < predictions.metrics.size(); ++m) {
      predictions.values[m].push_back(table.number(row, kQueryHead.size() + m));
    }
    predictions.first_relevant.push_back(table.integer(row, tail));
    predictions.top_id.push_back(row.fields[tail + 1]);
    predictions.top_text.push_back(row.fields[tail + 2]);
    predictions.relevant_id.push_back(row.fields[tail + 3]);
    predictions.relevant_text.push_back(row.fields[tail + 4]);
  }
}

std::string describe_example(const Predictions& predictions, size_t i) {
  std::string text = fmt::format("'{:.60}'", predictions.left[i]);
  if (!predictions.right.empty()) text += fmt::format(", '{:.60}'", predictions.right[i]);
  if (!predictions.gold.empty()) text += fmt::format(" (gold {})", predictions.gold[i]);
  if (!predictions.gold_class.empty()) text += fmt::format(" (gold {})", predictions.gold_class[i]);
  return text;
}

bool is_same_example(const Predictions& a, const Predictions& b, size_t i) {
  const auto same = [i](const auto& x, const auto& y) { return x.empty() || x[i] == y[i]; };
  return same(a.left, b.left) && same(a.right, b.right) && same(a.gold, b.gold) &&
         same(a.gold_class, b.gold_class);
}

}  // namespace

std::string predictions_file(const std::string& folder, const EvaluationOptions& options) {
  return predictions_file(folder, options.task, options.name);
}

std::string predictions_file(const std::string& folder, const std::string& task,
                             const std::string& name) {
  return join_path(folder,
                   file_name(name.empty() ? task : name) + (task == "ranking" ? ".trec" : ".tsv"));
}

std::string query_table_file(const std::string& run_path) {
  constexpr const char* kEnding = ".trec";
  const std::string stem = ends_with(run_path, kEnding)
                               ? run_path.substr(0, run_path.size() - std::string(kEnding).size())
                               : run_path;
  return stem + ".queries.tsv";
}

Predictions read_predictions(const std::string& path) {
  Predictions predictions;
  predictions.path = ends_with(path, ".trec") ? query_table_file(path) : path;
  SIMILE_CHECK(predictions.path == path || file_exists(predictions.path), ErrorKind::kInput,
               fmt::format("'{}' is not there: a run is read by the table of its queries, which "
                           "`simile evaluate --predictions` and training write beside it",
                           predictions.path));
  const Names header = read_table_header(predictions.path);
  if (header == Names{"left", "right", "gold", "score"}) {
    read_scores(header, predictions);
  } else if (header == Names{"text", "gold", "predicted", "probability"} ||
             header == Names{"left", "right", "gold", "predicted", "probability"}) {
    read_classes(header, predictions);
  } else {
    SIMILE_CHECK(is_query_table(header), ErrorKind::kInput,
                 fmt::format("{}: not a file of predictions, as `simile evaluate --predictions` "
                             "and training write them; its columns are {:.300}",
                             predictions.path, fmt::format("{}", fmt::join(header, ", "))));
    read_queries(header, predictions);
  }
  return predictions;
}

void write_query_table(const std::string& path, const Predictions& queries) {
  AtomicFile file(path);
  file.write(fmt::format("{}\t{}{}{}\n", fmt::join(kQueryHead, "\t"),
                         fmt::join(queries.metrics, "\t"), queries.metrics.empty() ? "" : "\t",
                         fmt::join(kQueryTail, "\t")));
  for (size_t q = 0; q < queries.left.size(); ++q) {
    file.write(clean_field(queries.left[q]) + "\t" + clean_field(queries.right[q]));
    for (const std::vector<double>& values : queries.values) {
      file.write(fmt::format("\t{}", values[q]));
    }
    file.write(fmt::format("\t{}\t{}\t{}\t{}\t{}\n", queries.first_relevant[q],
                           clean_field(queries.top_id[q]), clean_field(queries.top_text[q]),
                           clean_field(queries.relevant_id[q]),
                           clean_field(queries.relevant_text[q])));
  }
  file.commit();
}

void check_same_examples(const Predictions& a, const Predictions& b) {
  SIMILE_CHECK(a.kind == b.kind && a.right.empty() == b.right.empty(), ErrorKind::kInput,
               fmt::format("'{}' and '{}' are predictions of different kinds", a.path, b.path));
  SIMILE_CHECK(a.size() == b.size(), ErrorKind::kInput,
               fmt::format("'{}' has {} examples, '{}' has {}: only predictions of the same data "
                           "can be compared",
                           a.path, a.size(), b.path, b.size()));
  for (size_t i = 0; i < a.left.size(); ++i) {
    SIMILE_CHECK(
        is_same_example(a, b, i), ErrorKind::kInput,
        fmt::format("example {} differs: {} in '{}', {} in '{}'; only predictions of the "
                    "same data in the same order can be compared",
                    i + 1, describe_example(a, i), a.path, describe_example(b, i), b.path));
  }
}

}  // namespace simile
