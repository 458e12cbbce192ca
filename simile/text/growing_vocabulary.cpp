// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/growing_vocabulary.h"

#include <fmt/format.h>

namespace simile::detail {

std::vector<TokenPair> learn_merges(const VocabularyTrainerOptions& options, PairMerger& merger,
                                    GrowingVocabulary& vocabulary, const JoinTokens& join,
                                    EventSink& events) {
  constexpr int64_t kTokensPerEvent = 1000;
  const int64_t wanted = options.vocabulary_size;
  const auto token = [&](int32_t id) { return vocabulary.tokens()[static_cast<size_t>(id)]; };
  std::vector<TokenPair> merges;
  TokenPair best;
  while (vocabulary.size() < wanted && merger.find_best(options.min_frequency, &best)) {
    merger.merge(best, vocabulary.add(join(token(best.left), token(best.right))));
    merges.push_back(best);
    if (vocabulary.size() % kTokensPerEvent == 0) {
      events.progress({"learn vocabulary", vocabulary.size(), wanted, "tokens", {}});
    }
  }
  if (vocabulary.size() < wanted) {
    events.warning(
        fmt::format("the texts give only {} tokens instead of {}: no other pair occurs "
                    "{} times",
                    vocabulary.size(), wanted, options.min_frequency));
  }
  events.progress({"learn vocabulary", vocabulary.size(), vocabulary.size(), "tokens", {}});
  return merges;
}

}  // namespace simile::detail
