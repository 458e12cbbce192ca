// SPDX-License-Identifier: Apache-2.0
#include "simile/data/document_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "simile/core/error.h"
#include "simile/data/detail/article_pairs.h"
#include "simile/data/detail/reservoir.h"
#include "simile/data/path_list.h"

namespace simile {
namespace {

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
      for (const NearPair& pair : found.pairs) offer(pair, found.candidates);
    }
  }

  PairDataset finish(const ReadReport& report, int64_t lone_titles) {
    std::string read = fmt::format("{}: {} articles, {} paragraphs, {} sentences", report.file,
                                   articles_, report.rows, sentences_);
    if (lone_titles > 0) read += fmt::format(", {} titles without a paragraph", lone_titles);
    SIMILE_CHECK(sample_.offered() > 0, ErrorKind::kInput,
                 fmt::format("{}: no pair of the kinds {} was found{}; expected one paragraph a "
                             "line and a blank line between articles",
                             read, fmt::join(options_.pairs, ", "), describe_left_out()));
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
      return Triple{std::string(pair.left), pair.right.str(), std::string(negative)};
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
  std::vector<PairFinder> finders_;
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
  int64_t lone_titles = 0;
  for (const std::string& path : paths) {
    ArticleReader reader(path, options.language, options.titles);
    for (Article article; reader.next(article);) collector.add(article);
    report.rows += reader.report().rows;
    report.blank_lines += reader.report().blank_lines;
    report.replaced_bytes += reader.report().replaced_bytes;
    lone_titles += reader.lone_titles();
  }
  return collector.finish(report, lone_titles);
}

PairDataset read_document_pairs(const std::string& path, const DocumentPairOptions& options,
                                int64_t limit) {
  return read_document_pairs(std::vector<std::string>{path}, options, limit);
}

}  // namespace simile
