// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a trainer that joins pairs, while it grows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/detail/pair_merger.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

class GrowingVocabulary {
 public:
  // Its id; a token that is there already keeps the one it has.
  int32_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

using JoinTokens = std::function<std::string(const std::string& left, const std::string& right)>;

// Joins the most frequent pair until the vocabulary is as large as wanted or no pair is frequent
// enough, which is a warning. Returns the pairs in the order they were joined.
std::vector<TokenPair> learn_merges(const VocabularyTrainerOptions& options, PairMerger& merger,
                                    GrowingVocabulary& vocabulary, const JoinTokens& join,
                                    EventSink& events);

}  // namespace simile::detail
