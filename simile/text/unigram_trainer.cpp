// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/text/detail/components.h"
#include "simile/text/detail/tokenizer_document.h"
#include "simile/text/detail/vocabulary_learning.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr size_t kMaxTextBytes = size_t{500} << 20;

void cut_text(const std::string& text, const Normalizer* normalizer,
              const PreTokenizer& pre_tokenizer, const WordSink& sink, WordCounter& counter) {
  thread_local NormalizedText raw;
  thread_local NormalizedText normalized;
  thread_local std::vector<Span> words;
  SIMILE_CHECK(text.size() < kMaxTextBytes, ErrorKind::kInput,
               "a text of {} bytes is too long to learn a vocabulary from; cut it into lines",
               text.size());
  raw.assign(text, 0, false);
  if (normalizer != nullptr) normalizer->normalize(raw, normalized);
  NormalizedText& whole = normalizer != nullptr ? normalized : raw;
  check_text_size(whole.text.size());
  if (whole.text.empty()) return;
  words.assign(1, {0, static_cast<uint32_t>(whole.text.size())});
  pre_tokenizer.split(whole, words, true);
  for (const Span word : words) {
    if (word.begin < word.end) {
      sink(std::string_view(whole.text).substr(word.begin, word.end - word.begin), counter);
    }
  }
}

constexpr size_t kMaxCharactersPerWord = 256;  // longer words are cut
constexpr char32_t kSpaceMark = 0x2581;
constexpr size_t kSeedsPerToken = 16;
constexpr size_t kMinSeeds = 100000;
constexpr size_t kMaxSeeds = 4000000;
constexpr int kRoundsPerPruning = 2;
constexpr double kKeptByPruning = 0.75;
constexpr double kLeastExpected = 0.5;  // a piece expected less often is dropped
constexpr double kLeastCount = 0.1;     // of a character that is kept all the same

using Pieces = std::vector<ScoredPiece>;

// The derivative of log(gamma(x)), x > 0: recurrence up to 8, then the asymptotic series.
double digamma(double x) {
  double shift = 0;
  for (; x < 8; x += 1) shift -= 1 / x;
  const double inverse = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x -
         inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252)));
}

// Counts the parts of a word: pieces do not cross from letters and digits to other characters (the
// mark of a space goes with what follows), and very long words are cut.
void add_word(std::string_view word, WordCounter& counter) {
  size_t begin = 0;
  size_t characters = 0;
  int last_kind = -1;
  for (size_t i = 0; i < word.size(); ++characters) {
    const DecodedCharacter character = decode_valid_character(word, i);
    const bool is_mark = character.code_point == kSpaceMark;
    const int kind =
        is_mark ? -1 : (character_properties(character.code_point) & kWordCharacter) != 0;
    const bool changes = last_kind >= 0 && kind != last_kind;
    if (changes || characters == kMaxCharactersPerWord) {
      counter.add(word.substr(begin, i - begin), 1);
      begin = i;
      characters = 0;
    }
    last_kind = kind;
    i += character.size;
  }
  counter.add(word.substr(begin), 1);
}

Pieces make_seeds(const CountedWords& words, const VocabularyTrainerOptions& options,
                  const std::vector<std::string>& special_tokens) {
  const auto wanted = static_cast<size_t>(options.vocabulary_size);
  const size_t limit = std::clamp(wanted * kSeedsPerToken, kMinSeeds, kMaxSeeds);
  Pieces pieces;
  double total = 0;
  for (SeedPiece& seed :
       find_seed_pieces(words, choose_alphabet(words, options.alphabet_limit), limit)) {
    if (std::count(special_tokens.begin(), special_tokens.end(), seed.text) > 0) continue;
    const auto count = static_cast<double>(seed.count);
    total += count;
    pieces.push_back({std::move(seed.text), std::log(count), seed.single});
  }
  for (ScoredPiece& piece : pieces) piece.score -= std::log(total);
  return pieces;
}

// Keeps the pieces for which `keep` is set.
void filter(const std::vector<char>& keep, Pieces& pieces) {
  size_t size = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!keep[i]) continue;
    if (size != i) pieces[size] = std::move(pieces[i]);
    ++size;
  }
  pieces.resize(size);
}

// The numbers of `values`, largest value first, of equals the smaller number.
std::vector<size_t> rank(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  return order;
}

// One round of expectation and maximisation. Pieces that are hardly expected are dropped while
// more than `wanted` are left. Scores are the paper's program's, which favour frequent pieces.
void estimate(const CountedWords& words, size_t wanted, Pieces& pieces) {
  std::vector<double> expected = UnigramEstimator(words, pieces).expected_counts();
  std::vector<char> keep(pieces.size(), 1);
  size_t left = pieces.size();
  const std::vector<size_t> order = rank(expected);
  for (size_t k = order.size(); k-- > 0 && left > wanted;) {
    const size_t i = order[k];
    if (expected[i] >= kLeastExpected) break;
    if (pieces[i].single) continue;
    keep[i] = 0;
    --left;
  }
  double total = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    expected[i] = std::max(expected[i], kLeastCount);
    if (keep[i]) total += expected[i];
  }
  const double log_total = digamma(total);
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i].score = digamma(expected[i]) - log_total;
  filter(keep, pieces);
}

void learn_pieces(const CountedWords& words, size_t wanted, Pieces& pieces, EventSink& events) {
  const auto report = [&](bool last) {
    const auto size = static_cast<int64_t>(pieces.size());
    events.progress({"learn vocabulary", size, last ? size : 0, "pieces", {}});
  };
  while (pieces.size() > wanted) {
    report(false);
    for (int round = 0; round < kRoundsPerPruning; ++round) estimate(words, wanted, pieces);
    if (pieces.size() <= wanted) break;
    const auto share = static_cast<size_t>(kKeptByPruning * static_cast<double>(pieces.size()));
    // Those whose loss is least are dropped.
    const UnigramEstimator estimator(words, pieces);
    const std::vector<size_t> order = rank(estimator.removal_losses(estimator.best_counts()));
    std::vector<char> keep(pieces.size(), 0);
    for (size_t k = 0; k < std::max(wanted, share); ++k) keep[order[k]] = 1;
    filter(keep, pieces);
  }
  for (int round = 0; round < kRoundsPerPruning; ++round) estimate(words, pieces.size(), pieces);
  std::sort(pieces.begin(), pieces.end(), [](const ScoredPiece& a, const ScoredPiece& b) {
    return a.score != b.score ? a.score > b.score : a.text < b.text;
  });
  report(true);
}

Json pre_tokenizer_json() {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "WhitespaceSplit"}},
            {{"type", "Metaspace"},
             {"replacement", "\u2581"},
             {"prepend_scheme", "always"},
             {"split", true}}}}};
}

// The special tokens around the pieces: <mask> is the last token, as XLM-RoBERTa has it.
Tokenizer assemble(const std::vector<std::string>& special_tokens, const Pieces& learnt,
                   const Json& normalizer) {
  Pieces all;
  std::vector<int64_t> ids;
  for (const std::string& token : special_tokens) {
    if (token == "<mask>") {
      ids.push_back(static_cast<int64_t>(special_tokens.size() + learnt.size()) - 1);
      continue;
    }
    ids.push_back(static_cast<int64_t>(all.size()));
    all.push_back({token, 0, false});
  }
  all.insert(all.end(), learnt.begin(), learnt.end());
  all.push_back({"<mask>", 0, false});
  const auto id_of = [&](const std::string& token) {
    return ids[std::find(special_tokens.begin(), special_tokens.end(), token) -
               special_tokens.begin()];
  };
  std::string model = fmt::format(
      R"({{"type":"Unigram","unk_id":{},"byte_fallback":false,"vocab":[)", id_of("<unk>"));
  for (const ScoredPiece& piece : all) {
    // Few digits, which every reader of JSON makes the same number of.
    model += fmt::format("[{},{:.6f}],", quote_json(piece.text), piece.score);
  }
  model.back() = ']';
  const Json pre_tokenizer = pre_tokenizer_json();
  return Tokenizer::parse(
      tokenizer_document(
          trained_tokens(special_tokens, ids), normalizer, pre_tokenizer,
          template_processing(
              {{"<s>", 0}, {"A", 0}, {"</s>", 0}},
              {{"<s>", 0}, {"A", 0}, {"</s>", 0}, {"</s>", 0}, {"B", 0}, {"</s>", 0}}, id_of),
          pre_tokenizer.at("pretokenizers").at(1), model + "}"),
      "learnt vocabulary");
}

}  // namespace

void WordCounter::grow() {
  slots_.assign(std::max<size_t>(1024, slots_.size() * 2), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < words_.size(); ++i) {
    size_t slot = words_[i].tag & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

void WordCounter::add(std::string_view word, int64_t count) {
  if (words_.size() * 2 >= slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  const size_t hash = std::hash<std::string_view>()(word);
  const auto tag = static_cast<uint32_t>(hash ^ (hash >> 32));
  size_t slot = tag & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Word& known = words_[slots_[slot] - 1];
    if (known.tag == tag && text(known) == word) {
      known.count += count;
      return;
    }
  }
  words_.push_back({arena_.size(), static_cast<uint32_t>(word.size()), tag, count});
  arena_ += word;
  slots_[slot] = static_cast<uint32_t>(words_.size());
}

void WordCounter::add_all(const WordCounter& other) {
  for (const Word& word : other.words_) add(other.text(word), word.count);
}

std::vector<std::pair<std::string_view, int64_t>> WordCounter::sorted() const {
  std::vector<std::pair<std::string_view, int64_t>> result;
  for (const Word& word : words_) result.emplace_back(text(word), word.count);
  std::sort(result.begin(), result.end());
  return result;
}

WordCounter count_words(const TextSource& next_text, const Json& normalizer,
                        const Json& pre_tokenizer, const WordSink& sink, EventSink& events) {
  const auto normalizes = make_normalizer(normalizer, "training");
  const auto cuts = make_pre_tokenizer(pre_tokenizer, "training");
  std::vector<WordCounter> counters(omp_get_max_threads());
  std::vector<std::string> batch;
  int64_t done = 0;
  for (bool more = true; more;) {
    batch.clear();
    std::string text;
    for (size_t bytes = 0; bytes < kBatchBytes && (more = next_text(text));) {
      bytes += text.size() + 1;
      batch.push_back(std::exchange(text, {}));
    }
    run_parallel(batch.size(), 16, [&](size_t i) {
      cut_text(batch[i], normalizes.get(), *cuts, sink, counters[omp_get_thread_num()]);
    });
    done += static_cast<int64_t>(batch.size());
    events.progress({"count words", done, more ? 0 : done, "texts", {}});
  }
  for (size_t i = 1; i < counters.size(); ++i) {
    counters[0].add_all(counters[i]);
    counters[i] = {};
  }
  SIMILE_CHECK(counters[0].size() > 0, ErrorKind::kInput,
               "no words to learn a vocabulary from: the texts are empty");
  return std::move(counters[0]);
}

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

Tokenizer train_unigram(const TextSource& next_text, const VocabularyTrainerOptions& options,
                        const std::vector<std::string>& special_tokens, EventSink& events) {
  const Json normalizer = trained_normalizer(true, options.lowercase);
  const WordCounter counter =
      count_words(next_text, normalizer, pre_tokenizer_json(), add_word, events);
  const CountedWords words = counter.sorted();
  Pieces pieces = make_seeds(words, options, special_tokens);
  const auto singles =
      std::count_if(pieces.begin(), pieces.end(), [](const auto& piece) { return piece.single; });
  const auto specials = static_cast<int64_t>(special_tokens.size());
  SIMILE_CHECK(singles + specials <= options.vocabulary_size, ErrorKind::kRecipe,
               "vocabulary_size is {}, but the special tokens and characters alone are {}; raise "
               "it or lower alphabet_limit ({})",
               options.vocabulary_size, singles + specials, options.alphabet_limit);
  const auto wanted = static_cast<size_t>(options.vocabulary_size - specials);
  if (pieces.size() < wanted) {
    events.warning(
        fmt::format("the texts give only {} tokens instead of {}: no other substring occurs twice",
                    pieces.size() + special_tokens.size(), options.vocabulary_size));
  }
  learn_pieces(words, wanted, pieces, events);
  return assemble(special_tokens, pieces, normalizer);
}

}  // namespace simile::detail
