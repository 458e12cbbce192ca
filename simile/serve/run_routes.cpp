// SPDX-License-Identifier: Apache-2.0
// /runs.
#include <fmt/format.h>

#include <utility>

#include "simile/serve/detail/route_answers.h"
#include "simile/serve/document_map.h"
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

OrderedJson show_listed(const ListedRun& run) {
  return {{"name", run.name},
          {"version", run.version},
          {"finished", run.finished},
          {"seconds_ago", run.seconds_ago}};
}

OrderedJson show_curves(const std::vector<Curve>& curves) {
  OrderedJson shown = OrderedJson::array();
  for (const Curve& curve : curves) {
    OrderedJson steps = OrderedJson::array(), values = OrderedJson::array();
    for (const CurvePoint& point : curve.points) {
      steps.push_back(static_cast<int64_t>(point.x));
      values.push_back(point.y);
    }
    shown.push_back(
        {{"name", curve.name}, {"steps", std::move(steps)}, {"values", std::move(values)}});
  }
  return shown;
}

OrderedJson show_report(const Report& report) {
  OrderedJson shown = {{"task", report.task},
                       {"name", report.name},
                       {"model", report.model},
                       {"examples", report.examples},
                       {"metrics", OrderedJson::object()}};
  for (const auto& [name, value] : report.metrics) shown["metrics"][name] = value;
  return shown;
}

void show_files(const RunFiles& files, OrderedJson& shown) {
  shown["seed"] = files.seed ? OrderedJson(*files.seed) : OrderedJson(nullptr);
  shown["seconds"] = files.seconds;
  shown["verdict"] = files.verdict.line;
  shown["causes"] = files.verdict.causes;
  shown["recipe"] = files.recipe.empty() ? OrderedJson(nullptr) : OrderedJson::parse(files.recipe);
  shown["environment"] = OrderedJson::object();
  for (const auto& [name, value] : files.environment) shown["environment"][name] = value;
  shown["reports"] = OrderedJson::array();
  for (const Report& report : files.reports) shown["reports"].push_back(show_report(report));
  shown["missing"] = files.missing;
}

std::string shortened(const std::string& text) { return text_beginning(text, kExampleLength); }

OrderedJson show_query_error(const Predictions& predictions, size_t metric, size_t q) {
  OrderedJson shown = {{"metric", predictions.metrics[metric]},
                       {"value", predictions.values[metric][q]},
                       {"first_relevant", predictions.first_relevant[q]},
                       {"query_id", predictions.left[q]},
                       {"query", shortened(predictions.right[q])}};
  shown["top_id"] = predictions.top_id[q];
  shown["top"] = shortened(predictions.top_text[q]);
  shown["relevant_id"] = predictions.relevant_id[q];
  shown["relevant"] = shortened(predictions.relevant_text[q]);
  return shown;
}

OrderedJson show_example(const EvaluationErrors& errors, const WorstError& worst) {
  const Predictions& predictions = errors.predictions;
  const auto i = static_cast<size_t>(worst.example);
  if (predictions.kind == PredictionKind::kQueries) {
    return show_query_error(predictions, errors.metric, i);
  }
  OrderedJson shown;
  if (predictions.kind == PredictionKind::kClasses) {
    shown = {{"gold", predictions.gold_class[i]},
             {"predicted", predictions.predicted[i]},
             {"probability", predictions.probability[i]}};
  } else {
    shown = {{"gold", predictions.gold[i]},
             {"score", predictions.score[i]},
             {"gold_rank", worst.gold_rank},
             {"score_rank", worst.score_rank}};
  }
  shown["texts"] = {shortened(predictions.left[i])};
  if (!predictions.right.empty()) shown["texts"].push_back(shortened(predictions.right[i]));
  return shown;
}

const char* kind_name(PredictionKind kind) {
  switch (kind) {
    case PredictionKind::kScores:
      return "scores";
    case PredictionKind::kClasses:
      return "classes";
    default:
      return "queries";
  }
}

}  // namespace

Reply answer_runs(const Engine& engine, const RouteCall&) {
  const RunListing listing = runs_of(engine).list();
  OrderedJson shown;
  shown["runs"] = OrderedJson::array();
  for (const ListedRun& run : listing.runs) shown["runs"].push_back(show_listed(run));
  shown["left_out"] = listing.left_out;
  return json_reply(shown);
}

Reply answer_run(const Engine& engine, const RouteCall& call) {
  const std::shared_ptr<const RunDetails> details =
      runs_of(engine).read(call.name, call.patience.deadline);
  OrderedJson shown = show_listed(details->run);
  shown["problems"] = details->problems;
  shown["steps"] = details->log.steps;
  shown["stages"] = OrderedJson::array();
  for (const LoggedStage& stage : details->log.stages) {
    shown["stages"].push_back({{"name", stage.name}, {"first_step", stage.first_step}});
  }
  shown["training"] = show_curves(details->log.training);
  shown["evaluations"] = show_curves(details->log.evaluations);
  show_files(details->files, shown);
  return json_reply(shown);
}

Reply answer_run_errors(const Engine& engine, const RouteCall& call) {
  const RunErrors errors = runs_of(engine).worst_errors(call.name, call.patience.deadline);
  OrderedJson shown;
  shown["evaluations"] = OrderedJson::array();
  for (const EvaluationErrors& of_report : errors.evaluations) {
    OrderedJson evaluation = show_report(of_report.report);
    evaluation["kind"] = kind_name(of_report.predictions.kind);
    evaluation["worst"] = OrderedJson::array();
    for (const WorstError& worst : of_report.worst) {
      evaluation["worst"].push_back(show_example(of_report, worst));
    }
    shown["evaluations"].push_back(std::move(evaluation));
  }
  shown["problems"] = errors.problems;
  return json_reply(shown);
}

}  // namespace simile::detail
