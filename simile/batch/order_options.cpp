// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/order_options.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/owned_options.h"

namespace simile {

void OrderOptions::visit(OptionVisitor& v) {
  v.field("name", name,
          choice_info("order of the examples in an epoch",
                      {"random", "sequential", "length_bucketed", "no_duplicates", "neighbours",
                       "words", "clusters", "neighbour_words"}));
  v.field("group_size", group_size,
          {"neighbours, words, clusters, neighbour_words: examples in a group of similar ones",
           "examples", 1});
  v.field("side", side,
          choice_info("neighbours, words, clusters, neighbour_words: the text that decides",
                      {"left", "right"}));
  v.field("neighbours", neighbours,
          {"neighbours: how many nearest examples may join a group", "examples", 1});
  v.field("allow_same", allow_same, {"neighbours: whether a group may hold equal texts"});
  v.field("reverse", reverse,
          {"neighbours: begin with the groups formed last, many of one example, as in curriculum "
           "learning"});
  v.field("shingle", shingle,
          {"words: consecutive words, stop words left out, that examples of a group share", "words",
           1, 16});
  v.field("stop_words", stop_words,
          {"words: words that do not count, in lower case; empty: a built-in English list"});
  v.field("clusters", clusters, {"clusters: how many the vectors are cut into", "", 1, 1e6});
  v.field("top_words", top_words,
          {"neighbour_words: nearest neighbours of which an example takes one as its word",
           "examples", 1, 1000});
  v.field("memory_mb", memory_mb,
          {"words, clusters, neighbour_words: memory to sort in", "MB", 1, 1e6});
  v.field("pool_batches", pool_batches,
          {"length_bucketed: batches whose examples are sorted by length together", "batches", 1});
  v.field("labelled_negatives", labelled_negatives,
          {"pairs labelled negative that join the batch of a positive pair with the same left "
           "text, at most so many for each such text; 0: they are ordered like all others",
           "pairs", 0, 1e6});
  v.field("positive_above", positive_above,
          {"labelled_negatives: pairs with a target above it are positive; negative: the "
           "threshold of the loss, 0.5 for a loss that has none"});
}

bool OrderOptions::needs_vectors() const {
  return name == "neighbours" || name == "clusters" || name == "neighbour_words";
}

bool OrderOptions::needs_texts() const {
  return needs_vectors() || name == "words" || name == "no_duplicates" || labelled_negatives > 0;
}

void check_order_options(const OrderOptions& options, const std::string& file) {
  const OrderOptions untouched;
  const std::vector<std::string> by_words = {"words", "clusters", "neighbour_words"};
  const std::vector<std::string> grouped = {"neighbours", "words", "clusters", "neighbour_words"};
  const std::string foreign = find_foreign_options(
      "order", options.name,
      {{"group_size", options.group_size != untouched.group_size, grouped},
       {"side", options.side != untouched.side, grouped},
       {"neighbours", options.neighbours != untouched.neighbours, {"neighbours"}},
       {"allow_same", options.allow_same != untouched.allow_same, {"neighbours"}},
       {"reverse", options.reverse != untouched.reverse, {"neighbours"}},
       {"shingle", options.shingle != untouched.shingle, {"words"}},
       {"stop_words", !options.stop_words.empty(), {"words"}},
       {"clusters", options.clusters != untouched.clusters, {"clusters"}},
       {"top_words", options.top_words != untouched.top_words, {"neighbour_words"}},
       {"memory_mb", options.memory_mb != untouched.memory_mb, by_words},
       {"pool_batches", options.pool_batches != untouched.pool_batches, {"length_bucketed"}},
       {"labelled_negatives",
        options.labelled_negatives > 0,
        {"random", "sequential", "neighbours", "words", "clusters", "neighbour_words"}}});
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, fmt::format("{}: {}", file, foreign));
  SIMILE_CHECK(
      options.labelled_negatives > 0 || options.positive_above == untouched.positive_above,
      ErrorKind::kRecipe,
      fmt::format("{}: order.positive_above tells labelled negatives from positives and does "
                  "nothing alone; set order.labelled_negatives too, or remove it",
                  file));
}

}  // namespace simile
