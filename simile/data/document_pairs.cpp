// SPDX-License-Identifier: Apache-2.0
#include "simile/data/document_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/error.h"
#include "simile/data/detail/article.h"
#include "simile/data/detail/reservoir.h"
#include "simile/data/path_list.h"

namespace simile {
namespace {

// A text that may be a negative, and where it stands: the number of its sentence or paragraph.
struct Candidate {
  int64_t position;
  std::string_view text;
};

// Negatives stand at `before` or earlier, or at `after` or later.
struct NearPair {
  std::string_view left, right;
  int64_t before, after;
};

struct ArticlePairs {
  std::vector<NearPair> pairs;
  std::vector<Candidate> candidates;  // by position
};

bool has_fitting_length(const Sentence& sentence, const DocumentPairOptions& options) {
  return sentence.words >= options.minimum_words && sentence.words <= options.maximum_words;
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
  const char* begin = sentences[first].text.data();
  const std::string_view last = sentences[end - 1].text;
  return {begin, static_cast<size_t>(last.data() + last.size() - begin)};
}

void add_pair(ArticlePairs& found, std::string_view left, std::string_view right, int64_t before,
              int64_t after) {
  if (left != right) found.pairs.push_back({left, right, before, after});
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
      add_pair(found, sentences[i].text, sentences[i + 1].text,
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
    add_pair(found, sentences.front().text, rest, position - options.negative_distance,
             position + options.negative_distance);
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
    add_pair(found, lead.text, paragraph, -1, position + options.negative_distance);
  }
  return found;
}

using Finder = ArticlePairs (*)(const Article&, const DocumentPairOptions&);

Finder find_finder(const std::string& kind) {
  if (kind == "neighbouring_sentences") return find_neighbouring_sentences;
  if (kind == "paragraph_lead") return find_paragraph_leads;
  if (kind == "article_lead") return find_article_leads;
  throw Error(ErrorKind::kRecipe, fmt::format("documents.pairs: expected some of {}, found '{}'",
                                              fmt::join(document_pair_kinds(), ", "), kind));
}

std::vector<Finder> choose_finders(const DocumentPairOptions& options) {
  const auto& kinds = options.pairs;
  std::vector<Finder> finders;
  for (const std::string& kind : kinds) {
    finders.push_back(find_finder(kind));
    SIMILE_CHECK(std::count(kinds.begin(), kinds.end(), kind) == 1, ErrorKind::kRecipe,
                 fmt::format("documents.pairs: '{}' is given twice", kind));
  }
  SIMILE_CHECK(!finders.empty(), ErrorKind::kRecipe,
               fmt::format("documents.pairs: expected some of {}, found none",
                           fmt::join(document_pair_kinds(), ", ")));
  SIMILE_CHECK(options.minimum_words <= options.maximum_words, ErrorKind::kRecipe,
               fmt::format("documents: minimum_words {} is more than maximum_words {}",
                           options.minimum_words, options.maximum_words));
  return finders;
}

// Uniform among the candidates far enough away; empty when there is none. One that repeats a text
// of the pair gives way to the next.
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
    if (text != pair.left && text != pair.right) return text;
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
        finders_(choose_finders(options)),
        sample_(limit, RandomStream(seed(), "document_pairs")) {}

  void add(const Article& article) {
    ++articles_;
    for (const auto& sentences : article.sentences) {
      sentences_ += static_cast<int64_t>(sentences.size());
    }
    for (const Finder find : finders_) {
      const ArticlePairs found = find(article, options_);
      for (const NearPair& pair : found.pairs) offer(pair, found.candidates);
    }
  }

  PairDataset finish(const ReadReport& report) {
    const std::string read = fmt::format("{}: {} articles, {} paragraphs, {} sentences",
                                         report.file, articles_, report.rows, sentences_);
    SIMILE_CHECK(sample_.offered() > 0, ErrorKind::kInput,
                 fmt::format("{}: no pair of the kinds {} was found{}; expected one paragraph a "
                             "line and a blank line between articles",
                             read, fmt::join(options_.pairs, ", "), describe_left_out()));
    PairDataset data;
    if (options_.hard_negatives) data.negatives.resize(1);
    for (Triple& triple : sample_.take()) {
      data.left.push_back(std::move(triple.left));
      data.right.push_back(std::move(triple.right));
      data.score.push_back(1);
      if (options_.hard_negatives) data.negatives[0].push_back(std::move(triple.negative));
    }
    data.report = report;
    data.notes.push_back(fmt::format("{}; {} of {} pairs kept{}", read, data.size(),
                                     sample_.offered(), describe_left_out()));
    return data;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  void offer(const NearPair& pair, const std::vector<Candidate>& candidates) {
    std::string_view negative;
    if (options_.hard_negatives) {
      negative =
          choose_negative(candidates, pair, RandomStream(seed(), "document_negatives", pairs_++));
      if (negative.empty()) {
        ++without_negative_;
        return;
      }
    }
    sample_.offer([&] {
      return Triple{std::string(pair.left), std::string(pair.right), std::string(negative)};
    });
  }

  std::string describe_left_out() const {
    if (without_negative_ == 0) return "";
    return fmt::format(
        " ({} left out: their articles hold no negative at a distance of {}; lower "
        "negative_distance or set hard_negatives: false to use them)",
        without_negative_, options_.negative_distance);
  }

  const DocumentPairOptions& options_;
  std::vector<Finder> finders_;
  Reservoir<Triple> sample_;
  int64_t articles_ = 0, sentences_ = 0, without_negative_ = 0;
  uint64_t pairs_ = 0;  // of which each draws its negative from a stream of its own
};

}  // namespace

PairDataset read_document_pairs(const std::vector<std::string>& paths,
                                const DocumentPairOptions& options, int64_t limit) {
  PairCollector collector(options, limit);
  ReadReport report;
  report.file = name_paths(paths);
  for (const std::string& path : paths) {
    ArticleReader reader(path, options.language);
    for (Article article; reader.next(article);) collector.add(article);
    report.rows += reader.report().rows;
    report.blank_lines += reader.report().blank_lines;
    report.replaced_bytes += reader.report().replaced_bytes;
  }
  return collector.finish(report);
}

PairDataset read_document_pairs(const std::string& path, const DocumentPairOptions& options,
                                int64_t limit) {
  return read_document_pairs(std::vector<std::string>{path}, options, limit);
}

}  // namespace simile
