// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/order_options.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/owned_options.h"
#include "simile/kernel/precision.h"

namespace simile {
namespace {

constexpr const char* kAutoPrecision = "auto";

std::vector<std::string> order_precision_names() {
  std::vector<std::string> names = {kAutoPrecision};
  names.insert(names.end(), precision_names().begin(), precision_names().end());
  return names;
}

}  // namespace

void OrderOptions::visit(OptionVisitor& v) {
  v.field("name", name,
          choice_info("order of the examples in an epoch",
                      {"random", "sequential", "length_bucketed", "no_duplicates", "classes",
                       "neighbours", "words", "clusters", "neighbour_words"}));
  const std::vector<std::string> grouped = {"neighbours", "words", "clusters", "neighbour_words"};
  std::vector<std::string> with_groups = grouped;
  with_groups.emplace_back("classes");
  v.only_for("name", with_groups, [&](OptionVisitor& of) {
    of.field("group_size", group_size,
             {"examples in a group of similar ones, or of one class in a batch", "examples", 1});
  });
  v.only_for("name", grouped, [&](OptionVisitor& of) {
    of.field("side", side, choice_info("the text that decides", {"left", "right"}));
  });
  v.only_for("name", {"neighbours"}, [&](OptionVisitor& of) {
    of.field("neighbours", neighbours,
             {"how many nearest examples may join a group", "examples", 1});
    of.field("allow_same", allow_same, {"whether a group may hold equal texts"});
    of.field("reverse", reverse,
             {"begin with the groups formed last, many of one example, as in curriculum learning"});
  });
  v.only_for("name", {"words"}, [&](OptionVisitor& of) {
    of.field(
        "shingle", shingle,
        {"consecutive words, stop words left out, that examples of a group share", "words", 1, 16});
    of.field("stop_words", stop_words,
             {"words that do not count, in lower case; empty: a built-in English list"});
  });
  v.only_for("name", {"clusters"}, [&](OptionVisitor& of) {
    of.field("clusters", clusters, {"how many the vectors are cut into", "", 1, 1e6});
  });
  v.only_for("name", {"neighbour_words"}, [&](OptionVisitor& of) {
    of.field("top_words", top_words,
             {"nearest neighbours of which an example takes one as its word", "examples", 1, 1000});
  });
  v.only_for("name", {"length_bucketed"}, [&](OptionVisitor& of) {
    of.field("pool_batches", pool_batches,
             {"batches whose examples are sorted by length together", "batches", 1});
  });
  v.only_for("name", {"neighbours", "clusters", "neighbour_words"}, [&](OptionVisitor& of) {
    of.field("precision", precision,
             choice_info("what the matrix products of the vectors that are compared are computed "
                         "in; int8 and bf16 make the order several times cheaper; auto: int8, on "
                         "a GPU fp32",
                         order_precision_names()));
  });
  visit_labelled_negatives(v);
}

void OrderOptions::visit_labelled_negatives(OptionVisitor& v) {
  const std::vector<std::string> orders = {"random", "sequential", "neighbours",
                                           "words",  "clusters",   "neighbour_words"};
  v.only_for("name", orders, [&](OptionVisitor& of) {
    of.field("labelled_negatives", labelled_negatives,
             {"pairs labelled negative that join the batch of a positive pair with the same left "
              "text, at most so many for each such text; 0: they are ordered like all others",
              "pairs", 0, 1e6});
    of.field("positive_above", positive_above,
             {"labelled_negatives: pairs with a target above it are positive; negative: the "
              "threshold of the loss, 0.5 for a loss that has none"});
  });
}

bool OrderOptions::needs_vectors() const {
  return name == "neighbours" || name == "clusters" || name == "neighbour_words";
}

std::string OrderOptions::chosen_precision(bool on_cpu) const {
  if (precision != kAutoPrecision) return precision;
  return on_cpu ? "int8" : "fp32";
}

bool OrderOptions::needs_texts() const {
  return needs_vectors() || name == "words" || name == "no_duplicates" || labelled_negatives > 0;
}

void check_order_options(const OrderOptions& options, const std::string& file) {
  const OrderOptions untouched;
  const std::string foreign = find_foreign_options("order", "name", options);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, fmt::format("{}: {}", file, foreign));
  choose_precision(options.chosen_precision(true));
  SIMILE_CHECK(
      options.labelled_negatives > 0 || options.positive_above == untouched.positive_above,
      ErrorKind::kRecipe,
      fmt::format("{}: order.positive_above tells labelled negatives from positives and does "
                  "nothing alone; set order.labelled_negatives too, or remove it",
                  file));
}

}  // namespace simile
