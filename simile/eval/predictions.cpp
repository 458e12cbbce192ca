// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/predictions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <variant>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"

namespace simile {
namespace {

using Names = std::vector<std::string>;

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool is_bad = c == '/' || c == '%' || static_cast<unsigned char>(c) < ' ' || c == 0x7F ||
                        (c == '.' && safe.empty());
    safe += is_bad ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return safe;
}

// A column of the file, and the member that holds its values.
struct ValueColumn {
  std::string name;
  std::variant<std::vector<std::string>*, std::vector<double>*, std::vector<int64_t>*> values;
};

// The columns of `p`, by kind and metrics. `optional`: classes of pairs; queries with `seen`.
std::vector<ValueColumn> columns_of(Predictions& p, bool optional) {
  if (p.kind == PredictionKind::kScores) {
    return {{"left", &p.left}, {"right", &p.right}, {"gold", &p.gold}, {"score", &p.score}};
  }
  if (p.kind == PredictionKind::kClasses) {
    std::vector<ValueColumn> columns = {{optional ? "left" : "text", &p.left}};
    if (optional) columns.push_back({"right", &p.right});
    columns.push_back({"gold", &p.gold_class});
    columns.push_back({"predicted", &p.predicted});
    columns.push_back({"probability", &p.probability});
    return columns;
  }
  std::vector<ValueColumn> columns = {{"query_id", &p.left}, {"query", &p.right}};
  p.values.resize(p.metrics.size());
  for (size_t m = 0; m < p.metrics.size(); ++m) columns.push_back({p.metrics[m], &p.values[m]});
  if (optional) columns.push_back({"seen", &p.seen});
  columns.insert(columns.end(), {{"first_relevant", &p.first_relevant},
                                 {"top_id", &p.top_id},
                                 {"top_text", &p.top_text},
                                 {"relevant_id", &p.relevant_id},
                                 {"relevant_text", &p.relevant_text}});
  return columns;
}

bool has_optional(const Predictions& p) {
  return p.kind == PredictionKind::kQueries ? !p.seen.empty() : !p.right.empty();
}

Names names_of(const std::vector<ValueColumn>& columns) {
  Names names;
  for (const ValueColumn& column : columns) names.push_back(column.name);
  return names;
}

// The columns of a file with this header, or none. Sets kind and metrics of `predictions`.
std::vector<ValueColumn> match_header(const Names& header, Predictions& predictions) {
  constexpr size_t kBeforeMetrics = 2, kBehindMetrics = 5;
  for (const auto& [kind, optional] :
       {std::pair{PredictionKind::kScores, true}, std::pair{PredictionKind::kClasses, false},
        std::pair{PredictionKind::kClasses, true}, std::pair{PredictionKind::kQueries, true},
        std::pair{PredictionKind::kQueries, false}}) {
    predictions.kind = kind;
    if (kind == PredictionKind::kQueries) {
      const size_t behind = kBehindMetrics + (optional ? 1 : 0);
      if (header.size() <= kBeforeMetrics + behind) continue;
      predictions.metrics.assign(header.begin() + kBeforeMetrics,
                                 header.end() - static_cast<std::ptrdiff_t>(behind));
    }
    std::vector<ValueColumn> columns = columns_of(predictions, optional);
    if (names_of(columns) == header) return columns;
  }
  return {};
}

std::string describe_example(const Predictions& predictions, size_t i) {
  std::string text = fmt::format("'{:.60}'", predictions.left[i]);
  if (!predictions.right.empty()) text += fmt::format(", '{:.60}'", predictions.right[i]);
  if (!predictions.gold.empty()) text += fmt::format(" (gold {})", predictions.gold[i]);
  if (!predictions.gold_class.empty()) text += fmt::format(" (gold {})", predictions.gold_class[i]);
  return text;
}

void append_examples(Predictions& part, Predictions& joined) {
  const bool optional = has_optional(joined);
  SIMILE_CHECK(
      part.kind == joined.kind && part.metrics == joined.metrics && has_optional(part) == optional,
      ErrorKind::kInput, "'{}' and '{}' are predictions of different kinds", joined.path,
      part.path);
  const std::vector<ValueColumn> from = columns_of(part, optional),
                                 to = columns_of(joined, optional);
  for (size_t c = 0; c < to.size(); ++c) {
    std::visit(
        [&](auto* values) {
          const auto& more = *std::get<decltype(values)>(from[c].values);
          values->insert(values->end(), more.begin(), more.end());
        },
        to[c].values);
  }
}

// `report` may be null.
Answers answers_of(const Predictions& predictions, const Report* report) {
  Answers answers;
  answers.gold = predictions.gold;
  answers.score = predictions.score;
  if (report != nullptr) {
    if (const double* value = report->find_metric("threshold")) answers.threshold = *value;
    if (const double* value = report->find_metric("f1_threshold")) answers.f1_threshold = *value;
  }
  std::map<std::string, int64_t> numbers;
  const auto number_all = [&numbers](const std::vector<std::string>& names) {
    std::vector<int64_t> classes;
    for (const std::string& name : names) {
      classes.push_back(numbers.emplace(name, static_cast<int64_t>(numbers.size())).first->second);
    }
    return classes;
  };
  answers.gold_class = number_all(predictions.gold_class);
  answers.predicted = number_all(predictions.predicted);
  answers.classes = static_cast<int64_t>(numbers.size());
  return answers;
}

}  // namespace

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
  const std::string beside = query_table_file(path);
  const bool is_run = ends_with(path, ".trec") || (!is_table(path) && file_exists(beside));
  predictions.path = is_run ? beside : path;
  SIMILE_CHECK(predictions.path == path || file_exists(predictions.path), ErrorKind::kInput,
               "'{}' is not there: a run is read by the table of its queries, which `simile "
               "evaluate --predictions` and training write beside it, and of a run alone `simile "
               "evaluate --run RUN --qrels QRELS --predictions {}`",
               predictions.path, predictions.path);
  const Names header = read_table_header(predictions.path);
  const std::vector<ValueColumn> columns = match_header(header, predictions);
  if (columns.empty() && !is_run && file_exists(beside)) return read_predictions(beside);
  SIMILE_CHECK(!columns.empty(), ErrorKind::kInput,
               "{}: not a file of predictions, as `simile evaluate --predictions` and training "
               "write them; its columns are {:.300}",
               predictions.path, fmt::format("{}", fmt::join(header, ", ")));
  std::vector<Column> requested;
  for (const std::string& name : header) requested.push_back({name, {name}});
  TableReader table(predictions.path, requested);
  for (Row row; table.next(row);) {
    for (size_t c = 0; c < columns.size(); ++c) {
      std::visit(
          [&](auto* values) {
            using Value = typename std::decay_t<decltype(*values)>::value_type;
            if constexpr (std::is_same_v<Value, std::string>) {
              values->push_back(row.fields[c]);
            } else if constexpr (std::is_same_v<Value, double>) {
              values->push_back(table.number(row, c));
            } else {
              values->push_back(table.integer(row, c));
            }
          },
          columns[c].values);
    }
  }
  return predictions;
}

void write_predictions(const std::string& path, const Predictions& predictions) {
  Predictions& read = const_cast<Predictions&>(predictions);  // columns may be written, too
  const std::vector<ValueColumn> columns = columns_of(read, has_optional(predictions));
  AtomicFile file(path);
  file.write(fmt::format("{}\n", fmt::join(names_of(columns), "\t")));
  for (size_t i = 0; i < predictions.left.size(); ++i) {
    Names fields;
    for (const ValueColumn& column : columns) {
      std::visit(
          [&](const auto* values) {
            fields.push_back(clean_field(fmt::format("{}", (*values)[i])));
          },
          column.values);
    }
    file.write(fmt::format("{}\n", fmt::join(fields, "\t")));
  }
  file.commit();
}

void check_same_examples(const Predictions& a, const Predictions& b) {
  SIMILE_CHECK(a.kind == b.kind && a.right.empty() == b.right.empty(), ErrorKind::kInput,
               "'{}' and '{}' are predictions of different kinds", a.path, b.path);
  SIMILE_CHECK(
      a.size() == b.size(), ErrorKind::kInput,
      "'{}' has {} examples, '{}' has {}: only predictions of the same data can be compared",
      a.path, a.size(), b.path, b.size());
  for (size_t i = 0; i < a.left.size(); ++i) {
    const auto same = [i](const auto& x, const auto& y) { return x.empty() || x[i] == y[i]; };
    SIMILE_CHECK(same(a.left, b.left) && same(a.right, b.right) && same(a.gold, b.gold) &&
                     same(a.gold_class, b.gold_class),
                 ErrorKind::kInput,
                 "example {} differs: {} in '{}', {} in '{}'; only predictions of the same data in "
                 "the same order can be compared",
                 i + 1, describe_example(a, i), a.path, describe_example(b, i), b.path);
  }
}

Predictions join_predictions(const std::vector<std::string>& files, const std::string& path) {
  std::vector<Predictions> parts;
  for (const std::string& file : files) parts.push_back(read_predictions(file));
  const bool are_queries = parts[0].kind == PredictionKind::kQueries;
  if (are_queries) {
    std::set<std::string_view> ids;
    bool numbered = false;
    for (const Predictions& part : parts) {
      for (const std::string& id : part.left) numbered = !ids.insert(id).second || numbered;
    }
    AtomicFile run(path);
    for (size_t f = 0; f < parts.size(); ++f) {
      const std::string prefix = numbered ? fmt::format("{}.", f) : "";
      for (std::string& id : parts[f].left) id.insert(0, prefix);
      std::istringstream lines(read_file(files[f]));
      for (std::string line; std::getline(lines, line);) run.write(prefix + line + "\n");
    }
    run.commit();
  }
  Predictions joined = parts[0];
  for (size_t f = 1; f < parts.size(); ++f) append_examples(parts[f], joined);
  joined.path = are_queries ? query_table_file(path) : path;
  write_predictions(joined.path, joined);
  return joined;
}

Statistic make_statistic(const Predictions& predictions, const std::string& metric,
                         const Report* report) {
  if (predictions.kind == PredictionKind::kQueries) {
    const auto found = std::find(predictions.metrics.begin(), predictions.metrics.end(), metric);
    if (found == predictions.metrics.end()) return nullptr;
    const auto column = static_cast<size_t>(found - predictions.metrics.begin());
    return [values = predictions.values[column]](const std::vector<int64_t>& at) {
      double sum = 0;
      for (const int64_t position : at) sum += values[static_cast<size_t>(position)];
      return sum / static_cast<double>(at.size());
    };
  }
  for (const MetricRow& row : metric_table()) {
    const bool is_of_kind = predictions.kind == PredictionKind::kClasses
                                ? row.task == "classification"
                                : row.task == "sts" || row.task == "pairs";
    if (row.name != metric || !is_of_kind) continue;
    // A threshold is a choice on all examples, not a figure of some of them.
    return row.unit == MetricUnit::kScore ? nullptr : row.of(answers_of(predictions, report));
  }
  return nullptr;
}

bool gives_reported(const Statistic& statistic, const Predictions& predictions, double reported) {
  return std::abs(statistic(all_positions(predictions.left.size())) - reported) < 1e-6;
}

int64_t affordable_samples(int64_t examples, int64_t work) {
  return std::clamp<int64_t>(work / std::max<int64_t>(examples, 1), 1000, 10000);
}

void add_intervals(const Predictions& predictions, Report& report) {
  if (predictions.size() == 0) return;
  const int64_t samples = affordable_samples(predictions.size(), 20000000);
  for (const auto& [metric, value] : report.metrics) {
    const Statistic statistic = make_statistic(predictions, metric, &report);
    if (!statistic || !gives_reported(statistic, predictions, value)) continue;
    report.intervals.emplace_back(
        metric, bootstrap_interval(predictions.size(), statistic, kIntervalConfidence, samples, 1));
  }
}

Report report_predictions(const Predictions& predictions) {
  Report report;
  report.examples = predictions.size();
  std::vector<std::string> metrics = predictions.metrics;
  const std::vector<double>& gold = predictions.gold;
  const auto zeros = std::count(gold.begin(), gold.end(), 0.0);
  const auto ones = std::count(gold.begin(), gold.end(), 1.0);
  const bool is_binary =
      zeros > 0 && ones > 0 && zeros + ones == static_cast<std::ptrdiff_t>(gold.size());
  report.task = predictions.kind == PredictionKind::kQueries   ? "ranking"
                : predictions.kind == PredictionKind::kClasses ? "classification"
                : is_binary                                    ? "pairs"
                                                               : "sts";
  for (const MetricRow& row : metrics_of_task(report.task)) metrics.push_back(row.name);
  const std::vector<int64_t> all = all_positions(predictions.left.size());
  for (const std::string& metric : metrics) {
    const Statistic statistic = make_statistic(predictions, metric, nullptr);
    if (statistic) report.metrics.emplace_back(metric, statistic(all));
  }
  return report;
}

}  // namespace simile
