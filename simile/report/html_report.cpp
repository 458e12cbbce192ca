// SPDX-License-Identifier: Apache-2.0
#include "simile/report/html_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/report/detail/html.h"

namespace simile {
namespace {

// Colours of Okabe and Ito, for any kind of colour vision; brighter on a dark page.
constexpr const char* kStyle = R"(
:root, :host { color-scheme: light dark; --page: #ffffff; --text: #1c1e21; --soft: #5c6269;
  --line: #dfe2e6; --panel: #f6f7f8; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b8578d;
  --c4: #56b4e9; --c5: #e69f00; --c6: #1c1e21; --c7: #8a8f96; }
@media (prefers-color-scheme: dark) { :root, :host { --page: #16181b; --text: #e6e8ea; --soft: #a2a8af;
  --line: #33373c; --panel: #1f2226; --c0: #4fa8e0; --c1: #ff8a4c; --c2: #35c79b; --c3: #e59cc4;
  --c4: #9ad8f8; --c5: #f2b94b; --c6: #e6e8ea; --c7: #858b92; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
small { font-weight: normal; color: var(--soft); font-size: .85em; }
nav a { margin-right: 1rem; white-space: nowrap; }
.name { white-space: nowrap; }
a { color: var(--c0); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93rem; }
th, td { padding: .3rem .8rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
tr > :first-child { padding-left: 0; }
td { max-width: 24rem; overflow-wrap: break-word; }
th { font-weight: 600; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.baseline th, .baseline td { color: var(--soft); font-weight: normal; }
.swatch { display: inline-block; forced-color-adjust: none; background: currentColor; width: .8em; height: .8em; border-radius: .2em;
  margin-right: .45em; }
.legend > span { margin-right: 1.2rem; white-space: nowrap; }
.missing { background: var(--panel); border-left: 4px solid var(--c5); padding: .6rem 1rem; }
.plots { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 23rem), 1fr)); }
figure { margin: 0; }
figcaption { font-weight: 600; font-size: .93rem; }
svg { display: block; width: 100%; height: auto; overflow: visible; user-select: none; }
svg text { font-family: inherit; fill: var(--soft); }
svg .tick { font-size: 12px; } svg .label { font-size: 12px; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
svg .curve { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
svg .dot { fill: currentColor; }
svg .bar { fill: var(--c0); }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); }
.c3 { color: var(--c3); } .c4 { color: var(--c4); } .c5 { color: var(--c5); }
.c6 { color: var(--c6); } .c7 { color: var(--c7); }
details { margin: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
pre { background: var(--panel); padding: 1rem; overflow-x: auto; font-size: .85rem; }
.errors { padding-left: 1.6rem; }
.errors li { margin: .6rem 0; padding: .5rem .8rem; background: var(--panel); border-radius: .3rem; }
.errors p { margin: .15rem 0; overflow-wrap: anywhere; }
.meta { color: var(--soft); font-size: .88rem; }
)";

std::string section(const std::string& id, const std::string& title, const std::string& content,
                    const std::string& otherwise) {
  return "<section id=\"" + id + "\"><h2>" + title + "</h2>\n" +
         (content.empty() ? "<p class=\"missing\">" + otherwise + "</p>\n" : content) +
         "</section>\n";
}

std::string show_seconds(double seconds) {
  if (seconds <= 0) return "\u2013";
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// A row of the table at the head: what a run is and how far it has come.
std::string describe_run(const ShownRun& run) {
  std::vector<std::string> seeds, missing;
  double seconds = 0;
  int64_t steps = 0;
  for (const RunFiles& files : run.set.runs) {
    if (files.fold) {
      seeds.push_back(fmt::format("fold {}", *files.fold));
    } else if (files.seed) {
      seeds.push_back(std::to_string(*files.seed));
    }
    seconds += files.seconds;
    for (const std::string& name : files.missing) add_once(missing, name);
  }
  for (const RunLog& log : run.logs) steps = std::max(steps, log.steps);
  const std::string state =
      missing.empty() ? "finished" : fmt::format("not finished: no {}", fmt::join(missing, ", "));
  return "<tr>" + row_head(show_run_name(run)) +
         html_cell("<code>" + escape_html(run.set.path) + "</code>") +
         number_cell(fmt::format("{}", fmt::join(seeds, ", "))) +
         number_cell(std::to_string(steps)) + number_cell(show_seconds(seconds)) +
         html_cell(escape_html(state)) + "</tr>\n";
}

// The run's verdict, highlighted if the run kept its start, and a note on unreadable files.
std::string show_verdict(const ShownRun& run) {
  const ReadVerdict& verdict = run.set.verdict;
  std::string html;
  if (!verdict.line.empty()) {
    html += fmt::format("<p{}>{} {}</p>\n", verdict.start_kept > 0 ? " class=\"missing\"" : "",
                        show_run_name(run), escape_html(verdict.line));
    std::string items;
    for (const auto* texts : {&verdict.details, &verdict.causes}) {
      for (const std::string& text : *texts) items += "<li>" + escape_html(text) + "</li>\n";
    }
    if (!items.empty()) html += "<ul>\n" + items + "</ul>\n";
  }
  for (const std::string& problem : run.problems) {
    html += "<p class=\"missing\">" + show_run_name(run) + " " + escape_html(problem) + "</p>\n";
  }
  return html;
}

// A row of HTML cells for each name; empty without any.
using Rows = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string table_of(const std::vector<ShownRun>& runs, const Rows& rows) {
  std::string body;
  for (const auto& [name, cells] : rows) {
    body += "<tr>" + row_head(name);
    for (const std::string& cell : cells) body += html_cell(cell);
    body += "</tr>\n";
  }
  return body.empty() ? "" : html_table(run_heads(runs), body);
}

std::string recipe_part(const std::vector<ShownRun>& runs) {
  std::vector<std::string> recipes;
  std::string details;
  for (const ShownRun& run : runs) {
    const std::string& recipe = run.set.runs[0].recipe;
    recipes.push_back(recipe.empty() ? "{}" : recipe);
    if (recipe.empty()) continue;
    details += "<details><summary>" + show_run_name(run) + "</summary><pre>" + escape_html(recipe) +
               "</pre></details>\n";
  }
  if (details.empty() || runs.size() < 2) return details;
  Rows rows;
  for (const RecipeChange& change : find_recipe_changes(recipes)) {
    rows.push_back({"<code>" + escape_html(change.key) + "</code>", {}});
    for (const std::string& value : change.values) {
      const std::string shown = value == kNoValue ? "\u2013"
                                : value[0] == '"' ? nlohmann::json::parse(value).get<std::string>()
                                                  : value;
      rows.back().second.push_back(escape_shortened(shown, 120));
    }
  }
  return (rows.empty() ? "<p>The recipes are the same.</p>\n"
                       : "<h3>What differs</h3>\n" + table_of(runs, rows)) +
         details;
}

std::string environment_part(const std::vector<ShownRun>& runs) {
  std::vector<std::string> names;
  for (const ShownRun& run : runs) {
    for (const auto& [name, value] : run.set.runs[0].environment) add_once(names, name);
  }
  Rows rows;
  for (const std::string& name : names) {
    rows.push_back({escape_html(name), {}});
    for (const ShownRun& run : runs) {
      const auto& environment = run.set.runs[0].environment;
      const auto found = std::find_if(environment.begin(), environment.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      rows.back().second.push_back(found == environment.end() ? "\u2013"
                                                              : escape_html(found->second));
    }
  }
  return table_of(runs, rows);
}

std::vector<ShownRun> read_runs(const std::vector<std::string>& paths) {
  std::vector<ShownRun> runs;
  for (const std::string& path : paths) {
    for (RunSet& set : read_run_sets(path)) {
      ShownRun run{std::move(set), {}, {}};
      for (const RunFiles& files : run.set.runs) {
        const std::string log = join_path(files.path, run_format::kLog);
        run.logs.push_back(file_exists(log) ? read_run_log(log) : RunLog());
      }
      // Two paths with the same name would look the same.
      for (const ShownRun& other : runs) {
        if (other.set.name == run.set.name) run.set.name = run.set.path;
      }
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace

std::string html_report(const std::vector<std::string>& paths, const HtmlReportOptions& options) {
  SIMILE_CHECK(!paths.empty(), ErrorKind::kUsage, "a report needs at least one run folder");
  return html_report(read_runs(paths), options,
                     [](const std::string& path, std::string&) { return read_predictions(path); });
}

std::string html_report(std::vector<ShownRun> runs, const HtmlReportOptions& options,
                        const PredictionReader& read) {
  std::vector<std::string> names;
  for (ShownRun& run : runs) {
    run.series = static_cast<int>(names.size());
    names.push_back(escape_html(run.set.name));
  }
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Simile report: {}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<h1>Simile report</h1>\n<nav><a href=\"#results\">Results</a><a href=\"#curves\">Curves"
      "</a><a href=\"#errors\">Worst errors</a><a href=\"#lengths\">Text lengths</a><a "
      "href=\"#recipe\">Recipe</a><a href=\"#environment\">Environment</a></nav>\n",
      fmt::join(names, ", "), kStyle);
  std::string rows, verdicts;
  for (const ShownRun& run : runs) {
    rows += describe_run(run);
    verdicts += show_verdict(run);
  }
  const std::string head =
      "<th>run</th><th>folder</th><th class=\"number\">seed</th>"
      "<th class=\"number\">steps</th><th class=\"number\">time</th><th>state</th>";
  html += section("runs", "Runs", html_table(head, rows) + verdicts, "");
  html += section("results", "Results", results_part(runs),
                  "No results yet: results.json is written when a run is finished.");
  html +=
      section("curves", "Curves", curves_part(runs, options), "No metrics.jsonl with steps yet.");
  if (read) {
    const PredictionParts parts = prediction_parts(runs, options.errors, read);
    html +=
        section("errors", "Worst errors", parts.errors,
                "No predictions: they are written with the results, in the folder predictions.");
    html += section("lengths", "Text lengths", parts.lengths,
                    "No predictions, from whose texts the lengths are counted.");
  }
  html += section("recipe", "Recipe", recipe_part(runs), "No run.json with a recipe.");
  html += section("environment", "Environment", environment_part(runs),
                  "No run.json that says what the run was made on.");
  return html + "</body>\n</html>\n";
}

}  // namespace simile
