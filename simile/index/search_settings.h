// SPDX-License-Identifier: Apache-2.0
// How an index is searched: by vectors, by words or by both. An index keeps the settings that a
// search takes when it is given none, in search.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/index/score_fusion.h"

namespace simile {

inline const std::vector<std::string> kApproximate = {"auto", "never", "always"};
constexpr int64_t kApproximateRows = 50000;  // documents from which on auto makes a graph
constexpr double kLeastRecall = 0.5, kMostRecall = 0.999;

// Whether building and merging make a graph of an index's vectors, so that a search looks at only a
// few of them (docs/decisions/0019-approximate-index.md).
struct ApproximateOptions {
  std::string approximate = "auto";
  double recall = 0.95;

  void visit(OptionVisitor& v) {
    v.field("approximate", approximate,
            choice_info(
                "make a graph for searches by vectors and by both: auto from 50,000 vectors on, "
                "unless the mode is lexical, and only if it reaches the recall; never; always",
                kApproximate));
    OptionInfo info{
        "share of the ten nearest documents that a search by the graph should find, measured with "
        "the index's own vectors"};
    info.minimum = kLeastRecall;
    info.maximum = kMostRecall;
    v.field("recall", recall, info);
  }
};

inline const std::vector<std::string> kSearchModes = {"vector", "lexical", "hybrid"};

struct SearchSettings {
  std::string mode = "hybrid";
  FusionOptions fusion;
  ApproximateOptions approximate = {};  // of building and merging, not of a search

  void visit(OptionVisitor& v) {
    v.field("mode", mode,
            choice_info("rank by the vectors, the words (BM25), or both", kSearchModes));
    fusion.visit(v);
  }

  bool by_vectors() const { return mode != "lexical"; }
  bool by_words() const { return mode != "vector"; }
};

// "vectors only", "words only", or "vectors and words, cosine, weight 0.875".
std::string describe_search(const SearchSettings& settings);

// All modes, the one of the settings first.
std::vector<std::string> search_modes(const SearchSettings& settings);

// Reads or replaces the settings of the index folder at `path`. Errors: kInput for a folder that is
// not an index, and for settings that are missing, damaged or not allowed.
SearchSettings read_search_settings(const std::string& path);
void write_search_settings(const std::string& path, const SearchSettings& settings);

// A model folder may hold the same file: the hybrid weight that its training chose on dev, from
// which indexes of that model and evaluations of hybrid:MODEL start. Without it: the defaults.
// Errors: see above.
SearchSettings read_model_search_settings(const std::string& folder);

}  // namespace simile
