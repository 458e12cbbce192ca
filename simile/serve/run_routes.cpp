// SPDX-License-Identifier: Apache-2.0
// /runs.
#include "simile/serve/detail/route_answers.h"
#include "simile/serve/request_error.h"
#include "simile/serve/served_runs.h"

namespace simile::detail {
namespace {

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

}  // namespace

Reply answer_runs(const Engine& engine, const RouteCall&) {
  const RunListing listing = runs_of(engine).list();
  OrderedJson shown;
  shown["runs"] = OrderedJson::array();
  for (const ListedRun& run : listing.runs) {
    shown["runs"].push_back({{"name", run.name},
                             {"version", run.version},
                             {"finished", run.finished},
                             {"seconds_ago", run.seconds_ago}});
  }
  shown["left_out"] = listing.left_out;
  return json_reply(shown);
}

Reply answer_run(const Engine& engine, const RouteCall& call) {
  return report_reply(engine, call, {call.name}, {});
}

Reply answer_run_report(const Engine& engine, const RouteCall& call) {
  const JsonRequest request(call.body, engine.limits());
  HtmlReportOptions options;
  options.curves = request.choice("curves", {"all", "main"});
  options.smooth = request.integer_or("smooth", options.smooth, 0, 1000);
  options.errors = request.integer_or("errors", options.errors, 0, 1000);
  options.first_step = request.integer_or("first_step", 0, 0, INT64_MAX);
  options.last_step = request.integer_or("last_step", 0, 0, INT64_MAX);
  return report_reply(engine, call, request.texts("runs", kMostReported), options);
}

}  // namespace simile::detail
