// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/pair_merger.h"

#include <fmt/format.h>

#include <algorithm>

namespace simile::detail {

void PairMerger::add_word(const std::vector<int32_t>& ids, int64_t count) {
  words_.push_back({ids_.size(), static_cast<uint32_t>(ids.size()), count});
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void PairMerger::count_pairs() {
  for (uint32_t number = 0; number < words_.size(); ++number) {
    const Word& word = words_[number];
    for (uint32_t i = 1; i < word.size; ++i) {
      gain(ids_[word.begin + i - 1], ids_[word.begin + i], word.count, number);
    }
  }
  std::vector<Candidate> candidates;
  candidates.reserve(pairs_.size());
  for (const auto& [key, entry] : pairs_) candidates.push_back({entry.count, key});
  queue_ = std::priority_queue<Candidate>({}, std::move(candidates));
}

bool PairMerger::find_best(int64_t min_count, TokenPair* best) {
  while (!queue_.empty()) {
    const Candidate top = queue_.top();
    const int64_t count = pairs_[top.key].count;
    if (count != top.count) {
      queue_.pop();
      if (count > 0) queue_.push({count, top.key});
      continue;
    }
    if (count < min_count) return false;
    *best = {static_cast<int32_t>(top.key >> 32), static_cast<int32_t>(top.key & 0xFFFFFFFFU)};
    return true;
  }
  return false;
}

void PairMerger::lose(int32_t left, int32_t right, int64_t count) {
  pairs_[key_of(left, right)].count -= count;
}

uint64_t PairMerger::gain(int32_t left, int32_t right, int64_t count, uint32_t word) {
  const uint64_t key = key_of(left, right);
  PairEntry& entry = pairs_[key];
  entry.count += count;
  if (entry.words.empty() || entry.words.back() != word) entry.words.push_back(word);
  return key;
}

void PairMerger::merge_in_word(uint32_t number, TokenPair pair, int32_t id) {
  Word& word = words_[number];
  int32_t* ids = ids_.data() + word.begin;
  for (uint32_t i = 0; i + 1 < word.size; ++i) {
    if (ids[i] != pair.left || ids[i + 1] != pair.right) continue;
    if (i > 0) {
      lose(ids[i - 1], pair.left, word.count);
      gained_.push_back(gain(ids[i - 1], id, word.count, number));
    }
    ids[i] = id;
    std::copy(ids + i + 2, ids + word.size, ids + i + 1);
    --word.size;
    if (i + 1 < word.size) {
      lose(pair.right, ids[i + 1], word.count);
      gained_.push_back(gain(id, ids[i + 1], word.count, number));
    }
  }
}

void PairMerger::merge(TokenPair pair, int32_t id) {
  PairEntry& entry = pairs_[key_of(pair.left, pair.right)];
  std::vector<uint32_t> words = std::move(entry.words);
  entry = {};
  gained_.clear();
  for (const uint32_t number : words) merge_in_word(number, pair, id);
  // What the loop above counted down for the pair itself (as in "aaa") is gone with it.
  pairs_.erase(key_of(pair.left, pair.right));
  std::sort(gained_.begin(), gained_.end());
  gained_.erase(std::unique(gained_.begin(), gained_.end()), gained_.end());
  for (const uint64_t key : gained_) {
    const auto found = pairs_.find(key);
    if (found != pairs_.end() && found->second.count > 0) queue_.push({found->second.count, key});
  }
}

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
