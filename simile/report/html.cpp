// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the parts of the page, and its worst errors and lengths of texts.
#include "simile/report/detail/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "simile/data/line_reader.h"
#include "simile/eval/predictions.h"
#include "simile/metric/agreement.h"
#include "simile/report/plot.h"
#include "simile/text/utf8.h"
#include "simile/text/words.h"

namespace simile {

std::string escape_html(std::string_view text) {
  std::string repaired(text);
  repair_utf8(repaired);
  std::string escaped;
  for (const char c : repaired) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n') || byte == 0x7F;
    escaped += c == '&'     ? "&amp;"
               : c == '<'   ? "&lt;"
               : c == '>'   ? "&gt;"
               : c == '"'   ? "&quot;"
               : c == '\''  ? "&#39;"
               : is_control ? "\xEF\xBF\xBD"
                            : std::string(1, c);
  }
  return escaped;
}

std::string escape_shortened(std::string_view text, size_t characters) {
  const std::string_view shown = first_characters(text, characters);
  return escape_html(shown) + (shown.size() < text.size() ? "\xE2\x80\xA6" : "");
}

std::string html_cell(const std::string& html) { return "<td>" + html + "</td>"; }

std::string number_cell(const std::string& html) {
  return "<td class=\"number\">" + html + "</td>";
}

std::string row_head(const std::string& html) { return "<th scope=\"row\">" + html + "</th>"; }

std::string html_table(const std::string& head, const std::string& rows) {
  return "<div class=\"wide\" tabindex=\"0\"><table>\n<tr>" + head + "</tr>\n" + rows +
         "</table></div>\n";
}

std::string html_figure(const std::string& caption, const std::string& svg) {
  if (svg.empty()) return "";
  return "<figure><figcaption>" + caption + "</figcaption>\n" + svg + "</figure>\n";
}

std::string figure_grid(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"plots\">\n" + figures + "</div>\n";
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string show_run_name(const ShownRun& run) {
  return fmt::format("<span class=\"name\"><span class=\"swatch c{}\"></span>{}</span>",
                     run.series % kPlotColours, escape_html(run.set.name));
}

std::string run_heads(const std::vector<ShownRun>& runs) {
  std::string heads = "<td></td>";
  for (const ShownRun& run : runs) heads += "<th>" + show_run_name(run) + "</th>";
  return heads;
}

std::vector<const Report*> evaluations_of(const std::vector<ShownRun>& runs) {
  std::vector<const Report*> evaluations;
  for (const ShownRun& run : runs) {
    for (const RunFiles& files : run.set.runs) {
      for (const Report& report : files.reports) {
        const bool seen = std::any_of(
            evaluations.begin(), evaluations.end(),
            [&](const Report* evaluation) { return is_same_evaluation(*evaluation, report); });
        if (!seen) evaluations.push_back(&report);
      }
    }
  }
  return evaluations;
}

std::string title_of(const Report& evaluation) {
  return evaluation.name.empty() ? evaluation.task : evaluation.name;
}

std::vector<OwnReport> own_reports_of(const ShownRun& run, const Report& evaluation) {
  std::vector<OwnReport> found;
  for (const RunFiles& files : run.set.runs) {
    const auto own =
        std::find_if(files.reports.begin(), files.reports.end(),
                     [&](const Report& report) { return is_same_evaluation(report, evaluation); });
    if (own != files.reports.end()) found.push_back({&files, &*own});
  }
  return found;
}

namespace {

constexpr size_t kTextLength = 500;

std::string show_text(const std::string& label, const std::string& text) {
  const std::string term = label.empty() ? "" : "<b>" + escape_html(label) + "</b> ";
  return "<p class=\"text\">" + term + escape_shortened(text, kTextLength) + "</p>";
}

std::string describe_query(const Predictions& predictions, size_t q) {
  const size_t metric = error_metric(predictions);
  const int64_t rank = predictions.first_relevant[q];
  std::string html =
      fmt::format("<p class=\"meta\">{} {:.4f}; {}</p>", escape_html(predictions.metrics[metric]),
                  predictions.values[metric][q],
                  rank == 0 ? "no relevant document found"
                            : fmt::format("first relevant document at rank {}", rank));
  html += show_text("query " + predictions.left[q], predictions.right[q]);
  if (!predictions.top_id[q].empty()) {
    html += show_text("top " + predictions.top_id[q], predictions.top_text[q]);
  }
  if (!predictions.relevant_id[q].empty()) {
    html += show_text("relevant " + predictions.relevant_id[q], predictions.relevant_text[q]);
  }
  return html;
}

std::string show_error(const Predictions& predictions, const WorstError& error) {
  const auto i = static_cast<size_t>(error.example);
  if (predictions.kind == PredictionKind::kQueries) return describe_query(predictions, i);
  std::string html =
      predictions.kind == PredictionKind::kClasses
          ? fmt::format(
                "<p class=\"meta\">gold <b>{}</b>, predicted <b>{}</b> with probability {:.3f}</p>",
                escape_html(predictions.gold_class[i]), escape_html(predictions.predicted[i]),
                predictions.probability[i])
          : fmt::format(
                "<p class=\"meta\">gold {:.4g}, score {:.4f}: higher than {:.0f} % of the others "
                "by gold, than {:.0f} % by score</p>",
                predictions.gold[i], predictions.score[i], 100 * error.gold_rank,
                100 * error.score_rank);
  html += show_text("", predictions.left[i]);
  if (!predictions.right.empty()) html += show_text("", predictions.right[i]);
  return html;
}

// The predictions of the evaluation of the first seed of the run that has some, and their folder.
struct FoundPredictions {
  std::string problem;
  Predictions predictions;
  std::string folder;  // where the run has several
};

std::optional<FoundPredictions> find_predictions(const ShownRun& run, const Report& evaluation,
                                                 const PredictionReader& read) {
  for (const OwnReport& own : own_reports_of(run, evaluation)) {
    const std::string path = own.run->predictions_of(*own.report);
    if (path.empty()) continue;
    FoundPredictions found;
    found.predictions = read(path, found.problem);
    if (run.set.runs.size() > 1) found.folder = std::filesystem::path(own.run->path).filename();
    return found;
  }
  return std::nullopt;
}

std::string show_errors(const ShownRun& run, const FoundPredictions& found, int64_t count,
                        bool open) {
  std::string items;
  for (const WorstError& error : find_worst_errors(found.predictions, count)) {
    items += "<li>" + show_error(found.predictions, error) + "</li>\n";
  }
  return fmt::format(
      "<details{}><summary>{}{}</summary>\n{}</details>\n", open ? " open" : "", show_run_name(run),
      found.folder.empty() ? "" : " <small>" + escape_html(found.folder) + "</small>",
      items.empty() ? "<p>No errors.</p>" : "<ol class=\"errors\">\n" + items + "</ol>");
}

std::string length_figure(const std::string& title, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  Histogram histogram{title, "words", {}};
  double sum = 0;
  for (const std::string& text : texts) {
    histogram.values.push_back(static_cast<int64_t>(split_words(text).size()));
    sum += static_cast<double>(histogram.values.back());
  }
  return html_figure(
      fmt::format("{} <small>mean {:.1f}, longest {} words</small>", escape_html(title),
                  sum / static_cast<double>(texts.size()),
                  *std::max_element(histogram.values.begin(), histogram.values.end())),
      histogram_to_svg(histogram));
}

// average_ranks() as shares: 0 for the lowest of all, 1 for the highest.
std::vector<double> rank_shares(const std::vector<double>& values) {
  std::vector<double> ranks = average_ranks(values);
  const double last = std::max<double>(static_cast<double>(ranks.size()) - 1, 1);
  for (double& rank : ranks) rank = (rank - 1) / last;
  return ranks;
}

}  // namespace

PredictionParts prediction_parts(const std::vector<ShownRun>& runs, int64_t errors,
                                 const PredictionReader& read) {
  PredictionParts parts;
  for (const Report* evaluation : evaluations_of(runs)) {
    std::string shown, lengths;
    for (const ShownRun& run : runs) {
      const auto found = find_predictions(run, *evaluation, read);
      if (!found) continue;
      if (!found->problem.empty()) {
        shown += "<p class=\"missing\">" + escape_html(found->problem) + "</p>\n";
        continue;
      }
      shown += show_errors(run, *found, errors, shown.empty());
      // All runs have the same examples.
      if (!lengths.empty()) continue;
      const Predictions& predictions = found->predictions;
      const std::string name = title_of(*evaluation) + ": ";
      if (predictions.kind == PredictionKind::kQueries) {
        lengths = length_figure(name + "queries", predictions.right);
      } else if (predictions.right.empty()) {
        lengths = length_figure(name + "texts", predictions.left);
      } else {
        lengths = length_figure(name + "left texts", predictions.left) +
                  length_figure(name + "right texts", predictions.right);
      }
    }
    parts.lengths += lengths;
    if (shown.empty()) continue;
    parts.errors +=
        fmt::format("<h3>{} <small>{}</small></h3>\n{}", escape_html(title_of(*evaluation)),
                    escape_html(evaluation->task), shown);
  }
  parts.lengths = figure_grid(parts.lengths);
  return parts;
}

size_t error_metric(const Predictions& predictions) {
  const auto& names = predictions.metrics;
  const auto found = std::find(names.begin(), names.end(), "map");
  return found == names.end() ? 0 : static_cast<size_t>(found - names.begin());
}

std::vector<WorstError> find_worst_errors(const Predictions& predictions, int64_t count) {
  std::vector<WorstError> errors;
  const auto add = [&](size_t i, double error, double gold_rank = 0, double score_rank = 0) {
    errors.push_back({static_cast<int64_t>(i), error, gold_rank, score_rank});
  };
  if (predictions.kind == PredictionKind::kScores) {
    const std::vector<double> gold = rank_shares(predictions.gold);
    const std::vector<double> score = rank_shares(predictions.score);
    for (size_t i = 0; i < gold.size(); ++i) {
      add(i, std::abs(gold[i] - score[i]), gold[i], score[i]);
    }
  } else if (predictions.kind == PredictionKind::kClasses) {
    for (size_t i = 0; i < predictions.predicted.size(); ++i) {
      if (predictions.predicted[i] != predictions.gold_class[i]) add(i, predictions.probability[i]);
    }
  } else {
    const std::vector<double>& values = predictions.values[error_metric(predictions)];
    for (size_t q = 0; q < values.size(); ++q) add(q, 1 - values[q]);
  }
  errors.erase(std::remove_if(errors.begin(), errors.end(),
                              [](const WorstError& error) { return error.error <= 0; }),
               errors.end());
  std::stable_sort(errors.begin(), errors.end(),
                   [](const WorstError& a, const WorstError& b) { return a.error > b.error; });
  if (static_cast<int64_t>(errors.size()) > count) errors.resize(static_cast<size_t>(count));
  return errors;
}

}  // namespace simile
