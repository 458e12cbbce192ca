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
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      escaped += "\xEF\xBF\xBD";
    } else {
      escaped += c;
    }
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

std::vector<EvaluationName> evaluations_of(const std::vector<ShownRun>& runs) {
  std::vector<EvaluationName> names;
  for (const ShownRun& run : runs) {
    for (const RunFiles& files : run.set.runs) {
      for (const Report& report : files.own_reports()) {
        const bool seen = std::any_of(names.begin(), names.end(), [&](const EvaluationName& name) {
          return name.task == report.task && name.name == report.name;
        });
        if (!seen) names.push_back({report.task, report.name});
      }
    }
  }
  return names;
}

std::vector<OwnReport> own_reports_of(const ShownRun& run, const EvaluationName& evaluation) {
  std::vector<OwnReport> found;
  for (const RunFiles& files : run.set.runs) {
    for (Report& report : files.own_reports()) {
      if (report.task != evaluation.task || report.name != evaluation.name) continue;
      found.push_back({&files, std::move(report)});
    }
  }
  return found;
}

}  // namespace simile
