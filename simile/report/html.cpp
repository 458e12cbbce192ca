// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/data/line_reader.h"
#include "simile/report/plot.h"
#include "simile/text/utf8.h"

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
  return "<div class=\"wide\"><table>\n<tr>" + head + "</tr>\n" + rows + "</table></div>\n";
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
  std::string heads = "<th></th>";
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

}  // namespace simile
