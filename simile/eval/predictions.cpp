// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/predictions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/reader.h"

namespace simile {
namespace {

using Names = std::vector<std::string>;

const Names kScoreColumns = {"left", "right", "gold", "score"};
const Names kTextClassColumns = {"text", "gold", "predicted", "probability"};
const Names kPairClassColumns = {"left", "right", "gold", "predicted", "probability"};
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

Names columns_of(const Predictions& predictions) {
  if (predictions.kind == PredictionKind::kScores) return kScoreColumns;
  if (predictions.kind == PredictionKind::kClasses) {
    return predictions.right.empty() ? kTextClassColumns : kPairClassColumns;
  }
  Names names = kQueryHead;
  names.insert(names.end(), predictions.metrics.begin(), predictions.metrics.end());
  names.insert(names.end(), kQueryTail.begin(), kQueryTail.end());
  return names;
}

// What stands behind the texts of an example, each field after a tab.
std::string fields_of(const Predictions& predictions, size_t i) {
  if (predictions.kind == PredictionKind::kScores) {
    return fmt::format("\t{}\t{}", predictions.gold[i], predictions.score[i]);
  }
  if (predictions.kind == PredictionKind::kClasses) {
    return fmt::format("\t{}\t{}\t{}", clean_field(predictions.gold_class[i]),
                       clean_field(predictions.predicted[i]), predictions.probability[i]);
  }
  std::string fields;
  for (const std::vector<double>& values : predictions.values) {
    fields += fmt::format("\t{}", values[i]);
  }
  return fields + fmt::format("\t{}\t{}\t{}\t{}\t{}", predictions.first_relevant[i],
                              clean_field(predictions.top_id[i]),
                              clean_field(predictions.top_text[i]),
                              clean_field(predictions.relevant_id[i]),
                              clean_field(predictions.relevant_text[i]));
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

std::string clean_field(std::string text) {
  const auto breaks_field = [](char c) { return c == '\t' || c == '\n' || c == '\r'; };
  std::replace_if(text.begin(), text.end(), breaks_field, ' ');
  return text;
}

Predictions read_predictions(const std::string& path) {
  Predictions predictions;
  predictions.path = ends_with(path, ".trec") ? query_table_file(path) : path;
  SIMILE_CHECK(predictions.path == path || file_exists(predictions.path), ErrorKind::kInput,
               fmt::format("'{}' is not there: a run is read by the table of its queries, which "
                           "`simile evaluate --predictions` and training write beside it, and "
                           "of a run alone `simile evaluate --run RUN --qrels QRELS "
                           "--predictions {}`",
                           predictions.path, predictions.path));
  const Names header = read_table_header(predictions.path);
  if (header == kScoreColumns) {
    read_scores(header, predictions);
  } else if (header == kTextClassColumns || header == kPairClassColumns) {
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

void write_predictions(const std::string& path, const Predictions& predictions) {
  AtomicFile file(path);
  file.write(fmt::format("{}\n", fmt::join(columns_of(predictions), "\t")));
  const bool has_right = !predictions.right.empty();
  for (size_t i = 0; i < predictions.left.size(); ++i) {
    file.write(clean_field(predictions.left[i]));
    if (has_right) file.write("\t" + clean_field(predictions.right[i]));
    file.write(fields_of(predictions, i) + "\n");
  }
  file.commit();
}

void keep_predictions(Predictions predictions, const std::string& path, Predictions* kept) {
  if (!path.empty()) write_predictions(path, predictions);
  if (kept != nullptr) *kept = std::move(predictions);
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

namespace {

template <typename T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_examples(const Predictions& part, Predictions& joined) {
  SIMILE_CHECK(
      part.kind == joined.kind && part.metrics == joined.metrics &&
          part.right.empty() == joined.right.empty(),
      ErrorKind::kInput,
      fmt::format("'{}' and '{}' are predictions of different kinds", joined.path, part.path));
  append(part.left, joined.left);
  append(part.right, joined.right);
  append(part.gold, joined.gold);
  append(part.score, joined.score);
  append(part.gold_class, joined.gold_class);
  append(part.predicted, joined.predicted);
  append(part.probability, joined.probability);
  for (size_t m = 0; m < joined.metrics.size(); ++m) append(part.values[m], joined.values[m]);
  append(part.first_relevant, joined.first_relevant);
  append(part.top_id, joined.top_id);
  append(part.top_text, joined.top_text);
  append(part.relevant_id, joined.relevant_id);
  append(part.relevant_text, joined.relevant_text);
}

bool has_common_ids(const std::vector<Predictions>& parts) {
  std::set<std::string_view> ids;
  for (const Predictions& part : parts) {
    for (const std::string& id : part.left) {
      if (!ids.insert(id).second) return true;
    }
  }
  return false;
}

std::string number_prefix(size_t file) { return fmt::format("{}.", file); }

void write_joined_run(const std::vector<std::string>& files, bool numbered,
                      const std::string& path) {
  AtomicFile run(path);
  for (size_t f = 0; f < files.size(); ++f) {
    const std::string text = read_file(files[f]);
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      run.write((numbered ? number_prefix(f) : "") + std::string(line) + "\n");
    }
  }
  run.commit();
}

}  // namespace

Predictions join_predictions(const std::vector<std::string>& files, const std::string& path) {
  std::vector<Predictions> parts;
  for (const std::string& file : files) parts.push_back(read_predictions(file));
  const bool are_queries = parts[0].kind == PredictionKind::kQueries;
  const bool numbered = are_queries && has_common_ids(parts);
  for (size_t f = 0; f < parts.size() && numbered; ++f) {
    for (std::string& id : parts[f].left) id.insert(0, number_prefix(f));
  }
  if (are_queries) write_joined_run(files, numbered, path);
  Predictions joined = parts[0];
  for (size_t f = 1; f < parts.size(); ++f) append_examples(parts[f], joined);
  joined.path = are_queries ? query_table_file(path) : path;
  write_predictions(joined.path, joined);
  return joined;
}

}  // namespace simile
