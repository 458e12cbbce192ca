// SPDX-License-Identifier: Apache-2.0
// Articles and a sample, from which document pairs (simile/data/document_pairs.h) are made.
//
// Articles are those of a text file with one paragraph a line and blank lines between articles, cut
// into sentences; where articles have titles, the first line of each is its title. In a .jsonl each
// object is an article: its `text`, a paragraph a line, and its `title`, where articles have titles
// (without one, the first line of the text). Errors: those of TextListReader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/random.h"
#include "simile/data/reader.h"
#include "simile/data/text_list.h"
#include "simile/text/passages.h"

namespace simile {

struct Sentence {
  std::string_view text;  // of the paragraph
  int64_t words;          // what white space separates
};

// Movable, but not to be copied: sentences are views of the paragraphs.
struct Article {
  std::string title;                             // empty where articles have none
  std::vector<std::string> paragraphs;           // none blank
  std::vector<std::vector<Sentence>> sentences;  // of each paragraph, at least one

  Article() = default;
  Article(const Article&) = delete;
  Article& operator=(const Article&) = delete;
};

class ArticleReader {
 public:
  ArticleReader(const std::string& path, const std::string& language, bool titles);

  // False at the end. `article` has a paragraph or more, and a title where articles have them.
  bool next(Article& article);

  ReadReport report() const;  // rows are paragraphs
  int64_t lone_titles() const { return lone_titles_; }

 private:
  bool read_paragraphs(Article& article);
  void add_lines(std::string_view text, Article& article);
  bool is_complete(Article& article);

  TextListReader reader_;
  SentenceSplitter splitter_;
  bool titles_, is_jsonl_;
  int64_t paragraphs_ = 0, lone_titles_ = 0;
};

// The first (last) `count` words of `text`, which white space separates, or all, trimmed.
std::string_view first_words(std::string_view text, int64_t count);
std::string_view last_words(std::string_view text, int64_t count);

// A uniform random sample of items that come one by one, in memory of the sample's size (algorithm
// R: Vitter, "Random Sampling with a Reservoir", TOMS 1985).
template <typename Item>
class Reservoir {
 public:
  // `size` 0 keeps all.
  Reservoir(int64_t size, RandomStream stream)
      : size_(static_cast<uint64_t>(size)), stream_(stream) {}

  // `make()` gives the item, and is called only when it is kept.
  template <typename Make>
  void offer(const Make& make) {
    const uint64_t number = offered_++;
    if (size_ == 0 || number < size_) {
      items_.emplace_back(number, make());
      return;
    }
    const uint64_t place = stream_.below(offered_);
    if (place < size_) items_[place] = {number, make()};
  }

  int64_t offered() const { return static_cast<int64_t>(offered_); }

  // Hands over the sample in the order in which it was offered: take(Item) for each.
  template <typename Take>
  void take(const Take& take) {
    std::sort(items_.begin(), items_.end(),
              [](const Numbered& a, const Numbered& b) { return a.first < b.first; });
    for (Numbered& item : items_) take(std::move(item.second));
    items_ = {};
  }

 private:
  using Numbered = std::pair<uint64_t, Item>;

  uint64_t size_, offered_ = 0;
  RandomStream stream_;
  std::vector<Numbered> items_;
};

}  // namespace simile
