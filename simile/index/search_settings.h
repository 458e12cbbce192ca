// SPDX-License-Identifier: Apache-2.0
// How an index is searched: by vectors, by words or by both. An index keeps the settings that a
// search takes when it is given none, in search.json.
#pragma once

#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/index/approximate_options.h"
#include "simile/index/score_fusion.h"

namespace simile {

inline const std::vector<std::string> kSearchModes = {"vector", "lexical", "hybrid"};

struct SearchSettings {
  std::string mode = "hybrid";
  FusionOptions fusion;
  ApproximateOptions approximate = {};  // of building and merging, not of a search

  void visit(OptionVisitor& v) {
    v.field(
        "mode", mode,
        choice_info("what a search goes by: the vectors, the words (BM25), or both", kSearchModes));
    fusion.visit(v);
  }

  bool by_vectors() const { return mode != "lexical"; }
  bool by_words() const { return mode != "vector"; }
};

// All there are, that of the settings first.
std::vector<std::string> search_modes(const SearchSettings& settings);

// Those of the index folder at `path`, and in their place others. Errors: kInput for a folder that
// is not an index, and for settings that are missing or damaged; kUsage for a mode that is none.
SearchSettings read_search_settings(const std::string& path);
void write_search_settings(const std::string& path, const SearchSettings& settings);

// A model folder may hold the same file: the hybrid weight that its training chose on dev, which
// an index of that model begins with. Without it: the defaults. Errors: kInput, kUsage as above.
SearchSettings read_model_search_settings(const std::string& folder);

}  // namespace simile
