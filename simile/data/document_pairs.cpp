// SPDX-License-Identifier: Apache-2.0
#include "simile/data/document_pairs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/check.h"
#include "simile/data/detail/article.h"
#include "simile/data/line_reader.h"

namespace simile {
namespace {

// A text of an article: one run of it or, where `second` is not empty, two without what is between.
struct Passage {
  std::string_view first, second;

  bool is(std::string_view text) const { return second.empty() && first == text; }
  std::string str() const {  // a space between the two runs
    if (second.empty()) return std::string(first);
    std::string text;
    text.reserve(first.size() + 1 + second.size());  // appending sets aside up to twice as much
    return text.append(first).append(" ").append(second);
  }
};

// A text that may be a negative, and its place: the number of its sentence or paragraph.
struct Candidate {
  int64_t position;
  std::string_view text;
};

// Negatives are at `before` or earlier, or at `after` or later.
struct NearPair {
  std::string_view left;
  Passage right;
  int64_t before, after;
};

struct ArticlePairs {
  std::vector<NearPair> pairs;
  std::vector<Candidate> candidates;  // by position; none of kinds without negatives
};

using PairFinder = ArticlePairs (*)(const Article&, const DocumentPairOptions&);

bool has_fitting_length(const Sentence& sentence, const DocumentPairOptions& options) {
  return sentence.words >= options.minimum_words && sentence.words <= options.maximum_words;
}

const char* end_of(std::string_view text) { return text.data() + text.size(); }

std::string_view text_between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// The sentences from `first` on, as many as fit; empty when too little is left.
std::string_view join_fitting(const std::vector<Sentence>& sentences, size_t first,
                              const DocumentPairOptions& options) {
  int64_t words = 0;
  size_t end = first;
  while (end < sentences.size() && words + sentences[end].words <= options.maximum_words) {
    words += sentences[end++].words;
  }
  if (end == first || words < options.minimum_words) return {};
  return text_between(sentences[first].text.data(), end_of(sentences[end - 1].text));
}

int64_t count_words(const std::vector<Sentence>& sentences, size_t begin, size_t end) {
  int64_t words = 0;
  for (size_t i = begin; i < end; ++i) words += sentences[i].words;
  return words;
}

// The text around sentence `i`: half of the words before it and half after it, and what one side
// lacks on the other. Empty when too little is left.
Passage surround(const std::vector<Sentence>& sentences, size_t i,
                 const DocumentPairOptions& options) {
  const int64_t most = options.maximum_words;
  const int64_t before = count_words(sentences, 0, i);
  const int64_t after = count_words(sentences, i + 1, sentences.size());
  if (std::min(before + after, most) < options.minimum_words) return {};
  const int64_t taken_before = std::min(before, std::max(most / 2, most - after));
  const Passage around = {
      last_words(text_between(sentences.front().text.data(), sentences[i].text.data()),
                 taken_before),
      first_words(text_between(end_of(sentences[i].text), end_of(sentences.back().text)),
                  most - taken_before)};
  return around.first.empty() ? Passage{around.second, {}} : around;
}

void add_pair(ArticlePairs& found, std::string_view left, const Passage& right, int64_t before,
              int64_t after) {
  if (!right.is(left)) found.pairs.push_back({left, right, before, after});
}

ArticlePairs find_neighbouring_sentences(const Article& article,
                                         const DocumentPairOptions& options) {
  ArticlePairs found;
  int64_t position = 0;
  for (const auto& sentences : article.sentences) {
    for (size_t i = 0; i < sentences.size(); ++i, ++position) {
      if (!has_fitting_length(sentences[i], options)) continue;
      found.candidates.push_back({position, sentences[i].text});
      if (i + 1 == sentences.size() || !has_fitting_length(sentences[i + 1], options)) continue;
      add_pair(found, sentences[i].text, {sentences[i + 1].text, {}},
               position - options.negative_distance, position + 1 + options.negative_distance);
    }
  }
  return found;
}

ArticlePairs find_paragraph_leads(const Article& article, const DocumentPairOptions& options) {
  ArticlePairs found;
  int64_t position = -1;
  for (const auto& sentences : article.sentences) {
    ++position;
    const std::string_view rest = join_fitting(sentences, 1, options);
    if (rest.empty()) continue;
    found.candidates.push_back({position, rest});
    if (!has_fitting_length(sentences.front(), options)) continue;
    add_pair(found, sentences.front().text, {rest, {}}, position - options.negative_distance,
             position + options.negative_distance);
  }
  return found;
}

ArticlePairs find_sentence_rests(const Article& article, const DocumentPairOptions& options) {
  ArticlePairs found;
  int64_t position = -1;
  for (const auto& sentences : article.sentences) {
    ++position;
    const std::string_view paragraph = join_fitting(sentences, 0, options);
    if (!paragraph.empty()) found.candidates.push_back({position, paragraph});
    for (size_t i = 0; i < sentences.size(); ++i) {
      if (!has_fitting_length(sentences[i], options)) continue;
      const Passage rest = surround(sentences, i, options);
      if (rest.first.empty()) continue;
      add_pair(found, sentences[i].text, rest, position - options.negative_distance,
               position + options.negative_distance);
    }
  }
  return found;
}

ArticlePairs find_article_leads(const Article& article, const DocumentPairOptions& options) {
  ArticlePairs found;
  const Sentence& lead = article.sentences.front().front();
  if (!has_fitting_length(lead, options)) return found;
  for (size_t p = 1; p < article.sentences.size(); ++p) {
    const std::string_view paragraph = join_fitting(article.sentences[p], 0, options);
    if (paragraph.empty()) continue;
    const auto position = static_cast<int64_t>(p);
    found.candidates.push_back({position, paragraph});
    add_pair(found, lead.text, {paragraph, {}}, -1, position + options.negative_distance);
  }
  return found;
}

// The title with paragraphs `begin` up to `end`, as far as they exist.
ArticlePairs pair_title(const Article& article, const DocumentPairOptions& options, size_t begin,
                        size_t end) {
  ArticlePairs found;
  for (size_t p = begin; p < std::min(end, article.sentences.size()); ++p) {
    const std::string_view paragraph = join_fitting(article.sentences[p], 0, options);
    if (!paragraph.empty()) add_pair(found, article.title, {paragraph, {}}, 0, 0);
  }
  return found;
}

struct Kind {
  const char* name;
  PairFinder find;
  bool has_title;
};

constexpr Kind kKinds[] = {
    {"neighbouring_sentences", find_neighbouring_sentences, false},
    {"paragraph_lead", find_paragraph_leads, false},
    {"sentence_rest", find_sentence_rests, false},
    {"article_lead", find_article_leads, false},
    {"title_lead",
     [](const Article& article, const DocumentPairOptions& options) {
       return pair_title(article, options, 0, 1);
     },
     true},
    {"title_paragraph",
     [](const Article& article, const DocumentPairOptions& options) {
       return pair_title(article, options, 1, article.sentences.size());
     },
     true},
};

std::vector<PairFinder> choose_pair_finders(const DocumentPairOptions& options) {
  const auto& names = options.pairs;
  const std::string known = fmt::format("{}", fmt::join(document_pair_kinds(), ", "));
  std::vector<PairFinder> finders;
  for (const std::string& name : names) {
    const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& each) { return name == each.name; });
    SIMILE_CHECK(kind != std::end(kKinds), ErrorKind::kRecipe,
                 "documents.pairs: expected some of {}, found '{}'", known, name);
    SIMILE_CHECK(std::count(names.begin(), names.end(), name) == 1, ErrorKind::kRecipe,
                 "documents.pairs: '{}' is given twice", name);
    SIMILE_CHECK(options.titles || !kind->has_title, ErrorKind::kRecipe,
                 "documents.pairs: '{}' needs articles with titles; set documents.titles where the "
                 "first line of each article is its title",
                 name);
    SIMILE_CHECK(!options.hard_negatives || !kind->has_title, ErrorKind::kRecipe,
                 "documents.hard_negatives: '{}' has none, as every text of an article fits its "
                 "title; set it to false, or take the other kinds in an objective of their own",
                 name);
    finders.push_back(kind->find);
  }
  SIMILE_CHECK(!finders.empty(), ErrorKind::kRecipe,
               "documents.pairs: expected some of {}, found none", known);
  SIMILE_CHECK(options.minimum_words <= options.maximum_words, ErrorKind::kRecipe,
               "documents: minimum_words {} is more than maximum_words {}", options.minimum_words,
               options.maximum_words);
  return finders;
}

// Uniform among the candidates far enough away that repeat no text of the pair; or empty.
std::string_view choose_negative(const std::vector<Candidate>& candidates, const NearPair& pair,
                                 RandomStream stream) {
  const auto far =
      std::partition_point(candidates.begin(), candidates.end(),
                           [&](const Candidate& c) { return c.position < pair.after; });
  const auto near = std::partition_point(
      candidates.begin(), far, [&](const Candidate& c) { return c.position <= pair.before; });
  const auto before = static_cast<size_t>(near - candidates.begin());
  const size_t count = before + static_cast<size_t>(candidates.end() - far);
  if (count == 0) return {};
  const size_t chosen = stream.below(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t place = (chosen + i) % count;
    const std::string_view text =
        (place < before ? candidates[place] : far[static_cast<std::ptrdiff_t>(place - before)])
            .text;
    if (text != pair.left && !pair.right.is(text)) return text;
  }
  return {};
}

struct Triple {
  std::string left, right, negative;
};

// Collects the pairs of one article after the other.
class PairCollector {
 public:
  PairCollector(const DocumentPairOptions& options, int64_t limit)
      : options_(options),
        finders_(choose_pair_finders(options)),
        sample_(limit, RandomStream(seed(), "document_pairs")) {}

  void add(const Article& article) {
    ++articles_;
    for (const auto& sentences : article.sentences) {
      sentences_ += static_cast<int64_t>(sentences.size());
    }
    for (const PairFinder find : finders_) {
      const ArticlePairs found = find(article, options_);
      for (const NearPair& pair : found.pairs) {
        std::string_view negative;
        if (options_.hard_negatives) {
          negative = choose_negative(found.candidates, pair,
                                     RandomStream(seed(), "document_negatives", pairs_++));
          without_negative_ += negative.empty();
          if (negative.empty()) continue;
        }
        sample_.offer([&] {
          return Triple{std::string(pair.left), pair.right.str(), std::string(negative)};
        });
      }
    }
  }

  PairDataset finish(const ReadReport& report, int64_t lone_titles) {
    std::string read = fmt::format("{}: {} articles, {} paragraphs, {} sentences", report.file,
                                   articles_, report.rows, sentences_);
    if (lone_titles > 0) read += fmt::format(", {} titles without a paragraph", lone_titles);
    SIMILE_CHECK(sample_.offered() > 0, ErrorKind::kInput,
                 "{}: no pair of the kinds {} was found{}; expected one paragraph a line and a "
                 "blank line between articles",
                 read, fmt::join(options_.pairs, ", "), describe_left_out());
    PairDataset data;
    if (options_.hard_negatives) data.negatives.resize(1);
    sample_.take([&](Triple triple) {
      data.left.push_back(std::move(triple.left));
      data.right.push_back(std::move(triple.right));
      data.score.push_back(1);
      if (options_.hard_negatives) data.negatives[0].push_back(std::move(triple.negative));
    });
    data.report = report;
    data.notes.push_back(fmt::format("{}; {} of {} pairs kept{}", read, data.size(),
                                     sample_.offered(), describe_left_out()));
    return data;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  std::string describe_left_out() const {
    if (without_negative_ == 0) return "";
    return fmt::format(
        " ({} left out: their articles hold no negative at a distance of {}; lower "
        "negative_distance or set hard_negatives: false to use them)",
        without_negative_, options_.negative_distance);
  }

  const DocumentPairOptions& options_;
  std::vector<PairFinder> finders_;
  Reservoir<Triple> sample_;
  int64_t articles_ = 0, sentences_ = 0, without_negative_ = 0;
  uint64_t pairs_ = 0;  // each draws its negative from a stream of its own
};

}  // namespace

const std::vector<std::string>& document_pair_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Kind& kind : kKinds) list.emplace_back(kind.name);
    return list;
  }();
  return names;
}

PairDataset read_document_pairs(const std::vector<std::string>& paths,
                                const DocumentPairOptions& options, int64_t limit) {
  PairCollector collector(options, limit);
  ReadReport report;
  report.file = name_paths(paths);
  int64_t lone_titles = 0;
  for (const std::string& path : paths) {
    ArticleReader reader(path, options.language, options.titles);
    for (Article article; reader.next(article);) collector.add(article);
    report.rows += reader.report().rows;
    report.blank_lines += reader.report().blank_lines;
    if (report.replaced_bytes == 0) report.first_replaced = reader.report().first_replaced;
    report.replaced_bytes += reader.report().replaced_bytes;
    lone_titles += reader.lone_titles();
  }
  return collector.finish(report, lone_titles);
}

}  // namespace simile
