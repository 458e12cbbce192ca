// SPDX-License-Identifier: Apache-2.0
// /runs.
#include <fmt/format.h>

#include "simile/serve/detail/route_row.h"
#include "simile/serve/request_error.h"
#include "simile/serve/served_runs.h"

namespace simile::detail {
namespace {

struct RunRow {
  std::string name, version;
  bool finished = false;
  int64_t seconds_ago = 0;
  void visit(OptionVisitor& v) {
    v.required("name", name);
    v.required("version", version, "Another one when its files change");
    v.required("finished", finished, "Whether it has results");
    v.required("seconds_ago", seconds_ago, "When it last changed");
  }
};

struct RunsReply {
  std::vector<RunRow> runs;
  int64_t left_out = 0;
  void visit(OptionVisitor& v) {
    v.required("runs", runs, "Those changed last first");
    v.required("left_out", left_out, "Runs beyond the first 500");
  }
};

struct RunReportRequest : HtmlReportOptions {
  std::vector<std::string> runs;
  void visit(OptionVisitor& v) {
    v.field("runs", runs, OptionInfo{"Names of runs"}.required().one_or_more());
    HtmlReportOptions::visit(v);
  }
};

ServedRuns& runs_of(const Engine& engine) {
  if (engine.model().runs == nullptr) {
    throw RequestError(Refusal::kModelCannot,
                       "the server shows no runs; it was started without --runs");
  }
  return *engine.model().runs;
}

Reply report_reply(const Engine& engine, const RouteCall& call,
                   const std::vector<std::string>& names, const HtmlReportOptions& options) {
  return {200,
          runs_of(engine).report(names, options, call.patience.deadline),
          "text/html; charset=utf-8",
          {{"Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; "
            "frame-ancestors 'none'"},
           {"X-Content-Type-Options", "nosniff"}}};
}

RunsReply answer_runs(const Engine& engine, const RouteCall&) {
  const RunListing listing = runs_of(engine).list();
  RunsReply reply;
  for (const ListedRun& run : listing.runs) {
    reply.runs.push_back({run.name, run.version, run.finished, run.seconds_ago});
  }
  reply.left_out = listing.left_out;
  return reply;
}

Reply answer_run(const Engine& engine, const RouteCall& call) {
  return report_reply(engine, call, {call.name}, {});
}

Reply answer_run_report(const Engine& engine, const RouteCall& call,
                        const RunReportRequest& request) {
  const auto count = static_cast<int64_t>(request.runs.size());
  if (count > kMostReported) {
    throw RequestError(
        Refusal::kTooManyInputs,
        fmt::format("\"runs\" has {} texts; a request may have {}", count, kMostReported), "runs");
  }
  return report_reply(engine, call, request.runs, request);
}

}  // namespace

std::vector<Route> run_routes() {
  const std::vector<Refusal> refusals = {Refusal::kModelCannot, Refusal::kNotFound};
  return {
      route("listRuns", "GET", "/runs",
            "The training runs, those changed last first, and whether they are finished (with "
            "--runs)",
            answer_runs, {Refusal::kModelCannot}),
      route("getRun", "GET", "/runs/{name}",
            "The HTML report of a run as far as it has come, that of `simile report`, with "
            "files that cannot be read (with --runs)",
            answer_run, refusals),
      route("reportRuns", "POST", "/runs", "The HTML report of several runs, up to 8 (with --runs)",
            answer_run_report, refusals)};
}

}  // namespace simile::detail
