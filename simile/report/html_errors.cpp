// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "simile/eval/predictions.h"
#include "simile/report/detail/html.h"
#include "simile/report/detail/html_parts.h"
#include "simile/report/plot.h"
#include "simile/report/worst_errors.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr size_t kTextLength = 500;

std::string show_text(const std::string& label, const std::string& text) {
  const std::string term = label.empty() ? "" : "<b>" + escape_html(label) + "</b> ";
  return "<p class=\"text\">" + term + escape_shortened(text, kTextLength) + "</p>";
}

std::string describe_score_error(const Predictions& predictions, const WorstError& error) {
  const auto i = static_cast<size_t>(error.example);
  return fmt::format(
      "<p class=\"meta\">gold {:.4g}, score {:.4f}: higher than {:.0f} % of the others by gold, "
      "than "
      "{:.0f} % by score</p>",
      predictions.gold[i], predictions.score[i], 100 * error.gold_rank, 100 * error.score_rank);
}

std::string describe_class_error(const Predictions& predictions, const WorstError& error) {
  const auto i = static_cast<size_t>(error.example);
  return fmt::format(
      "<p class=\"meta\">gold <b>{}</b>, predicted <b>{}</b> with probability {:.3f}</p>",
      escape_html(predictions.gold_class[i]), escape_html(predictions.predicted[i]),
      predictions.probability[i]);
}

std::string describe_query(const Predictions& predictions, const WorstError& error) {
  const auto q = static_cast<size_t>(error.example);
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
  if (predictions.kind == PredictionKind::kQueries) return describe_query(predictions, error);
  const auto i = static_cast<size_t>(error.example);
  std::string html = predictions.kind == PredictionKind::kClasses
                         ? describe_class_error(predictions, error)
                         : describe_score_error(predictions, error);
  html += show_text("", predictions.left[i]);
  if (!predictions.right.empty()) html += show_text("", predictions.right[i]);
  return html;
}

// The first seed of the run that has predictions of the evaluation, and their file.
std::string find_predictions(const ShownRun& run, const EvaluationName& evaluation,
                             std::string& seed) {
  for (const OwnReport& own : own_reports_of(run, evaluation)) {
    const std::string path = own.run->predictions_of(own.report);
    if (path.empty()) continue;
    if (run.set.runs.size() > 1) {
      seed = " <small>" + escape_html(std::filesystem::path(own.run->path).filename().string()) +
             "</small>";
    }
    return path;
  }
  return "";
}

std::string show_errors(const ShownRun& run, const EvaluationName& evaluation, int64_t count,
                        bool open) {
  std::string seed;
  const std::string path = find_predictions(run, evaluation, seed);
  if (path.empty()) return "";
  const Predictions predictions = read_predictions(path);
  const std::vector<WorstError> errors = find_worst_errors(predictions, count);
  std::string html = fmt::format("<details{}><summary>{}{}</summary>\n<ol class=\"errors\">\n",
                                 open ? " open" : "", show_run_name(run), seed);
  for (const WorstError& error : errors) {
    html += "<li>" + show_error(predictions, error) + "</li>\n";
  }
  return html + "</ol>" + (errors.empty() ? "<p>No errors.</p>" : "") + "</details>\n";
}

std::string length_figure(const std::string& title, const std::vector<std::string>& texts) {
  Histogram histogram;
  histogram.title = title;
  histogram.x_label = "words";
  double sum = 0;
  for (const std::string& text : texts) {
    histogram.values.push_back(static_cast<int64_t>(split_words(text).size()));
    sum += static_cast<double>(histogram.values.back());
  }
  const std::string svg = histogram_to_svg(histogram);
  if (svg.empty()) return "";
  return fmt::format(
      "<figure><figcaption>{} <small>mean {:.1f}, longest {} words</small></figcaption>\n{}"
      "</figure>\n",
      escape_html(title), sum / static_cast<double>(texts.size()),
      *std::max_element(histogram.values.begin(), histogram.values.end()), svg);
}

std::string show_lengths(const EvaluationName& evaluation, const Predictions& predictions) {
  const std::string name = evaluation.title() + ": ";
  if (predictions.kind == PredictionKind::kQueries) {
    return length_figure(name + "queries", predictions.right);
  }
  if (predictions.right.empty()) return length_figure(name + "texts", predictions.left);
  return length_figure(name + "left texts", predictions.left) +
         length_figure(name + "right texts", predictions.right);
}

}  // namespace

std::string errors_part(const std::vector<ShownRun>& runs, int64_t count) {
  std::string html;
  for (const EvaluationName& evaluation : evaluations_of(runs)) {
    std::string of_evaluation;
    for (const ShownRun& run : runs) {
      of_evaluation += show_errors(run, evaluation, count, of_evaluation.empty());
    }
    if (of_evaluation.empty()) continue;
    html += "<h3>" + escape_html(evaluation.title()) + " <small>" + escape_html(evaluation.task) +
            "</small></h3>\n" + of_evaluation;
  }
  return html;
}

std::string lengths_part(const std::vector<ShownRun>& runs) {
  std::string html;
  for (const EvaluationName& evaluation : evaluations_of(runs)) {
    for (const ShownRun& run : runs) {
      std::string seed;
      const std::string path = find_predictions(run, evaluation, seed);
      if (path.empty()) continue;
      html += show_lengths(evaluation, read_predictions(path));
      break;  // all runs have the same examples
    }
  }
  return html.empty() ? "" : "<div class=\"plots\">\n" + html + "</div>\n";
}

}  // namespace simile
