// SPDX-License-Identifier: Apache-2.0
// Commands that look at data without training: a recipe for a table, its batches, and mistakes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/data/recipe_draft.h"
#include "simile/eval/predictions.h"
#include "simile/train/batch_listing.h"
#include "simile/train/data_review.h"

namespace simile::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BatchesArguments {
  RecipeArguments recipe;
  BatchListingOptions options;
  int64_t limit = 0;

  void visit(OptionVisitor& v) {
    recipe.visit(v);
    options.visit(v);
    v.field("limit", limit, {"Batches to print; 0: all", "", 0});
  }
};

// One example a line: batch, number, score and texts.
std::string to_lines(const PairDataset& pairs, size_t batch, const std::vector<int32_t>& examples) {
  std::string lines;
  for (const int32_t example : examples) {
    const auto i = static_cast<size_t>(example);
    lines +=
        fmt::format("{}\t{}\t{:g}\t{}", batch, example, pairs.score[i], clean_field(pairs.left[i]));
    if (!pairs.right.empty()) lines += "\t" + clean_field(pairs.right[i]);
    for (const auto& column : pairs.negatives) lines += "\t" + clean_field(column[i]);
    lines += "\n";
  }
  return lines;
}

Json to_json(const PairDataset& pairs, int32_t example) {
  const auto i = static_cast<size_t>(example);
  Json json = {{"example", example}, {"score", pairs.score[i]}, {"left", pairs.left[i]}};
  if (!pairs.right.empty()) json["right"] = pairs.right[i];
  for (const auto& column : pairs.negatives) json["negatives"].push_back(column[i]);
  return json;
}

std::string to_text(const BatchListing& listing, size_t shown) {
  const bool with_pairs = listing.pairs.size() > 0;
  std::string text;
  if (with_pairs) {
    text = listing.pairs.right.empty() ? "batch\texample\tscore\tleft"
                                       : "batch\texample\tscore\tleft\tright";
    for (size_t i = 0; i < listing.pairs.negatives.size(); ++i) text += "\tnegative";
    text += "\n";
  }
  for (size_t i = 0; i < shown; ++i) {
    text += with_pairs ? to_lines(listing.pairs, i, listing.batches[i])
                       : fmt::format("{}\n", fmt::join(listing.batches[i], " "));
  }
  return text;
}

std::string to_document(const BatchListing& listing, size_t shown) {
  Json document = {{"stage", listing.stage},       {"objective", listing.objective},
                   {"data", listing.file},         {"order", listing.order},
                   {"seed", listing.seed},         {"epoch", listing.epoch},
                   {"examples", listing.examples}, {"batches_in_epoch", listing.batches.size()},
                   {"batches", Json::array()}};
  for (size_t i = 0; i < shown; ++i) {
    Json batch = Json::array();
    for (const int32_t example : listing.batches[i]) {
      batch.push_back(listing.pairs.size() > 0 ? to_json(listing.pairs, example) : Json(example));
    }
    document["batches"].push_back(batch);
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void run_batches(const BatchesArguments& arguments, bool json, Terminal& terminal) {
  const ConfigNode recipe = load_recipe(arguments.recipe.recipe, arguments.recipe.overrides);
  const BatchListing listing = list_batches(recipe, arguments.options, terminal);
  size_t shown = listing.batches.size();
  if (arguments.limit > 0) shown = std::min(shown, static_cast<size_t>(arguments.limit));
  Output output("-");
  output.write(json ? to_document(listing, shown) : to_text(listing, shown));
  output.finish();
}

const char* kind_of(const DataFinding& finding) {
  return finding.is_mistake ? "mistake" : "warning";
}

Json to_json(const RunReview& review) {
  Json document = {{"report", review.report}, {"findings", Json::array()}};
  for (const DataFinding& finding : review.findings) {
    document["findings"].push_back({{"kind", kind_of(finding)}, {"message", finding.message}});
  }
  return document;
}

std::string to_text(const RunReview& review) {
  std::string text = fmt::format("{}\n", fmt::join(review.report, "\n"));
  for (const DataFinding& finding : review.findings) {
    text += fmt::format("\n{}: {}\n", kind_of(finding), finding.message);
  }
  return text;
}

void check_mistakes(const RunReview& review, const std::string& file) {
  const auto mistakes = std::count_if(review.findings.begin(), review.findings.end(),
                                      [](const auto& finding) { return finding.is_mistake; });
  SIMILE_CHECK(mistakes == 0, ErrorKind::kRecipe, "{} found in the data of '{}'",
               mistakes == 1 ? "1 mistake was" : fmt::format("{} mistakes were", mistakes), file);
}

void run_check(const RecipeArguments& arguments, bool json, Terminal& terminal) {
  const ConfigNode recipe = load_recipe(arguments.recipe, arguments.overrides);
  const RunReview review = review_recipe(recipe, terminal);
  print_result(json, to_json(review), to_text(review));
  check_mistakes(review, arguments.recipe);
}

struct InitArguments {
  DraftOptions draft;
  std::string output;
  bool overwrite = false;

  void visit(OptionVisitor& v) {
    v.field("data", draft.data,
            OptionInfo{"Table to train on: .tsv, .csv or .jsonl, also with .gz or .zst"}
                .named("data")
                .required());
    draft.visit(v);
    v.field("output", output,
            OptionInfo{"Recipe to write; NAME.yaml, by the table's name, by default"}.named(
                "-o,--output"));
    v.field("overwrite", overwrite, {"Replace the recipe"});
  }
};

void run_init(const InitArguments& arguments, bool json, Terminal& terminal) {
  DraftOptions options = arguments.draft;
  const bool is_elsewhere = std::filesystem::path(arguments.output).has_parent_path();
  for (std::string* file : {&options.data, &options.dev, &options.test, &options.model}) {
    const bool is_path = file_exists(*file) || folder_exists(*file);
    if (is_elsewhere && is_path) *file = std::filesystem::absolute(*file).lexically_normal();
  }
  const RecipeDraft draft = draft_recipe(options);
  const std::string path = arguments.output.empty() ? draft.name + ".yaml" : arguments.output;
  SIMILE_CHECK(arguments.overwrite || !file_exists(path), ErrorKind::kUsage,
               "'{}' is there already; --overwrite replaces it, --output names another file", path);
  check_outputs({path}, {options.data, options.dev, options.test});
  const RunReview review =
      review_recipe(finish_recipe(parse_config(draft.yaml, "draft"), path), terminal);
  write_result(draft.yaml, path);
  Json document = to_json(review);
  document["found"] = draft.found;
  document["recipe"] = path;
  print_result(json, document,
               fmt::format("{}\n{}\nThe recipe is {}. Train with:\nsimile train {}\n", draft.found,
                           to_text(review), path, path));
  check_mistakes(review, options.data);
}

}  // namespace

void add_batches(const Commands& commands) {
  commands.add_training<BatchesArguments>("batches", run_batches);
}

void add_init(const Commands& commands) { commands.add_training<InitArguments>("init", run_init); }

void add_data_check(const Commands& commands) {
  commands.add_training<RecipeArguments>("check", run_check);
}

}  // namespace simile::cli
