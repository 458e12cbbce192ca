// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary_trainer.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/text/detail/pair_merger.h"
#include "simile/text/detail/parallel.h"
#include "simile/text/detail/word_counter.h"
#include "simile/text/normalizer.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr size_t kMaxCharactersPerWord = 100;
constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr size_t kMaxTextBytes = size_t{500} << 20;
const char kPrefix[] = "##";

using CountedWords = std::vector<std::pair<std::string_view, int64_t>>;

void count_words(const std::string& text, const BertNormalizer& normalizer,
                 const BertPreTokenizer& pre_tokenizer, detail::WordCounter& counter) {
  thread_local NormalizedText raw;
  thread_local NormalizedText normalized;
  thread_local std::vector<Span> words;
  SIMILE_CHECK(text.size() < kMaxTextBytes, ErrorKind::kInput,
               fmt::format("a text of {} bytes is too long to learn a vocabulary from; cut it into "
                           "lines",
                           text.size()));
  raw.assign(text, 0, false);
  normalizer.normalize(raw, normalized);
  words.assign(1, {0, static_cast<uint32_t>(normalized.text.size())});
  pre_tokenizer.split(normalized, words);
  for (const Span word : words) {
    const std::string_view piece =
        std::string_view(normalized.text).substr(word.begin, word.end - word.begin);
    if (!piece.empty() && count_characters(piece) <= kMaxCharactersPerWord) counter.add(piece, 1);
  }
}

// Counts the words of all texts: batches are read by this thread and counted by all.
detail::WordCounter count_all_words(const TextSource& next_text, bool lowercase,
                                    EventSink& events) {
  BertNormalizerSettings settings;
  settings.lowercase = lowercase;
  settings.strip_accents = lowercase;
  const BertNormalizer normalizer(settings);
  const BertPreTokenizer pre_tokenizer;
  std::vector<detail::WordCounter> counters(static_cast<size_t>(omp_get_max_threads()));
  std::vector<std::string> batch;
  int64_t done = 0;
  for (bool more = true; more;) {
    batch.clear();
    size_t bytes = 0;
    while (bytes < kBatchBytes) {
      std::string text;
      more = next_text(text);
      if (!more) break;
      bytes += text.size() + 1;
      batch.push_back(std::move(text));
    }
    detail::run_parallel(batch.size(), [&](size_t i) {
      count_words(batch[i], normalizer, pre_tokenizer,
                  counters[static_cast<size_t>(omp_get_thread_num())]);
    });
    done += static_cast<int64_t>(batch.size());
    events.progress({"count words", done, more ? 0 : done, "texts", {}});
  }
  for (size_t i = 1; i < counters.size(); ++i) {
    counters[0].add_all(counters[i]);
    counters[i] = {};
  }
  return std::move(counters[0]);
}

// Calls visit(position, character) for each character of a word.
template <typename Visit>
void visit_characters(std::string_view word, const Visit& visit) {
  for (size_t i = 0; i < word.size();) {
    const DecodedCharacter character = decode_valid_character(word, i);
    visit(i, character.code_point);
    i += character.size;
  }
}

// The most frequent characters, at most `limit`, in the order of their code points.
std::vector<char32_t> choose_alphabet(const CountedWords& words, int64_t limit) {
  std::map<char32_t, int64_t> counts;
  for (const auto& [word, count] : words) {
    const int64_t times = count;
    visit_characters(word, [&](size_t, char32_t c) { counts[c] += times; });
  }
  std::vector<std::pair<int64_t, char32_t>> ranked;
  for (const auto& [c, count] : counts) ranked.emplace_back(-count, c);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), static_cast<size_t>(limit)));
  std::vector<char32_t> alphabet;
  for (const auto& [count, c] : ranked) alphabet.push_back(c);
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

// The vocabulary while it grows.
class GrowingVocabulary {
 public:
  int32_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }
  // The token that `left` and `right` make when they are joined.
  std::string join(detail::TokenPair pair) const {
    const std::string& right = tokens_[static_cast<size_t>(pair.right)];
    const size_t skipped = right.compare(0, 2, kPrefix) == 0 ? 2 : 0;
    return tokens_[static_cast<size_t>(pair.left)] + right.substr(skipped);
  }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

// The ids of a character at the start of a word and further on; -1 outside the alphabet.
struct CharacterIds {
  int32_t first = -1;
  int32_t continuing = -1;
};

std::unordered_map<char32_t, CharacterIds> add_alphabet(const CountedWords& words, int64_t limit,
                                                        GrowingVocabulary& vocabulary) {
  std::unordered_map<char32_t, CharacterIds> ids;
  const std::vector<char32_t> alphabet = choose_alphabet(words, limit);
  const auto text_of = [](char32_t c) {
    std::string text;
    append_utf8(c, text);
    return text;
  };
  for (const char32_t c : alphabet) ids[c].first = vocabulary.add(text_of(c));
  std::unordered_set<char32_t> continuing;
  for (const auto& entry : words) {
    visit_characters(entry.first, [&](size_t position, char32_t c) {
      if (position > 0) continuing.insert(c);
    });
  }
  for (const char32_t c : alphabet) {
    if (continuing.count(c) > 0) ids[c].continuing = vocabulary.add(kPrefix + text_of(c));
  }
  return ids;
}

void check_special_tokens(const std::vector<std::string>& tokens) {
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    SIMILE_CHECK(std::count(tokens.begin(), tokens.end(), name) == 1, ErrorKind::kRecipe,
                 fmt::format("special_tokens must hold \"{}\" once", name));
  }
  for (const std::string& token : tokens) {
    SIMILE_CHECK(!token.empty() && is_valid_utf8(token) &&
                     std::count(tokens.begin(), tokens.end(), token) == 1,
                 ErrorKind::kRecipe,
                 fmt::format("special_tokens: \"{}\" is empty, given twice or not UTF-8", token));
  }
}

detail::PairMerger cut_words(const CountedWords& words,
                             const std::unordered_map<char32_t, CharacterIds>& alphabet) {
  detail::PairMerger merger;
  std::vector<int32_t> ids;
  for (const auto& [word, count] : words) {
    ids.clear();
    visit_characters(word, [&](size_t position, char32_t c) {
      const auto found = alphabet.find(c);
      if (found == alphabet.end()) return;
      ids.push_back(position == 0 ? found->second.first : found->second.continuing);
    });
    if (ids.size() > 1) merger.add_word(ids, count);
  }
  merger.count_pairs();
  return merger;
}

void learn_merges(const VocabularyTrainerOptions& options, detail::PairMerger& merger,
                  GrowingVocabulary& vocabulary, EventSink& events) {
  constexpr int64_t kTokensPerEvent = 1000;
  const int64_t wanted = options.vocabulary_size;
  detail::TokenPair best;
  while (vocabulary.size() < wanted && merger.find_best(options.min_frequency, &best)) {
    merger.merge(best, vocabulary.add(vocabulary.join(best)));
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
}

}  // namespace

Tokenizer train_vocabulary(const TextSource& next_text, const VocabularyTrainerOptions& options,
                           EventSink& events) {
  check_special_tokens(options.special_tokens);
  const detail::WordCounter counter = count_all_words(next_text, options.lowercase, events);
  const CountedWords words = counter.sorted();
  SIMILE_CHECK(!words.empty(), ErrorKind::kInput,
               "no words to learn a vocabulary from: the texts are empty");
  GrowingVocabulary vocabulary;
  for (const std::string& token : options.special_tokens) vocabulary.add(token);
  const auto alphabet = add_alphabet(words, options.alphabet_limit, vocabulary);
  SIMILE_CHECK(vocabulary.size() <= options.vocabulary_size, ErrorKind::kRecipe,
               fmt::format("vocabulary_size is {}, but the special tokens and characters alone are "
                           "{}; raise it or lower alphabet_limit ({})",
                           options.vocabulary_size, vocabulary.size(), options.alphabet_limit));
  detail::PairMerger merger = cut_words(words, alphabet);
  learn_merges(options, merger, vocabulary, events);
  BertTokenizerSettings settings;
  settings.lowercase = options.lowercase;
  settings.more_special_tokens = options.special_tokens;
  for (const std::string& name : {settings.pad_token, settings.unk_token, settings.cls_token,
                                  settings.sep_token, settings.mask_token}) {
    auto& more = settings.more_special_tokens;
    more.erase(std::find(more.begin(), more.end(), name));
  }
  return Tokenizer::from_vocabulary(vocabulary.tokens(), settings, "learnt vocabulary");
}

}  // namespace simile
